"""Splits a passage into statements: sentences, list items and table rows, without markup."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import batched, pairwise, zip_longest
from pathlib import Path

import apsw.unicode

from shared.words.terms import words

_LONGEST_STATEMENT = 900
"""Maximum length of a statement in characters; a longer one is cut at a word."""
_SHORTEST_CLAUSE = 200
"""Minimum length of a statement in a script without full stops, which ends at a space; the last can have half of it."""
_LONGEST_HEADING, _LONGEST_BOLD = 80, 160
"""Maximum length of a line without heading markup that is taken for a heading, in characters."""
_MOST_VALUES = 5
"""Maximum number of cells in a statement beside the first one. The row of a wide table becomes several statements."""

_KINDS = (
    ("heading", re.compile(r"\s{0,3}#{1,6}\s+(?=\S)")),
    ("rule", re.compile(r"\s*(([-*_]\s*){3,}|={3,}|`{3,}.*|~{3,}.*)$")),
    ("item", re.compile(r"\s*(?:[-*+•‣▪–]|\d{1,3}[.)])\s+(?=\S)")),
    ("table", re.compile(r"\s*(?=\|.*\|\s*$)")),
    ("blank", re.compile(r"\s*$")),
    ("text", re.compile("")),
)
"""What a line is, with the mark that it begins with. Rules and fences are nothing but a mark."""
_BLOCK_QUOTE = re.compile(r"^\s{0,3}>\s?")
_BOLD = re.compile(r"\s*\*\*[^*]+\*\*\s*")
_TABLE_LINE = re.compile(r"[\s|:-]+$")
QUESTION_MARKS = ("?", "？", "؟")
END_PUNCTUATION = tuple(".!?…。！？؟۔։।॥;:：")
"""What ends a statement."""

_LINES = Path(__file__).with_name("markup.txt").read_text(encoding="utf-8").split("\n")
_MARKUP = [
    (re.compile(pattern), instead)
    for pattern, between, instead in (line.partition(" → ") for line in _LINES)
    if between and not pattern.startswith("//")
]
"""Patterns of Markdown and HTML markup with their replacements."""
_ABBREVIATIONS = frozenset(words(Path(__file__).with_name("abbreviations.txt").read_text(encoding="utf-8")))
"""Abbreviations in lower case, without their full stop; none that often ends a sentence, as `etc.` does. Single letters
count too: `z. B.`, `e. g.`, initials."""

_UNPUNCTUATED = re.compile("[\u0e00-\u0eff]")
"""Thai and Lao."""
_LAST_WORD = re.compile(r"(?<![^\W_])([^\W_]{1,8})\.\s*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, list item or table row of a passage, with where it stands and how far it answers."""

    text: str
    """A sentence, a list item, or a table row as `label: header value`; no markup, one line."""
    topic: str | None = None
    """The heading above it."""
    lead: str = ""
    """The sentence with a colon that introduces its list or paragraph."""
    label: str | None = None
    """The first cell of a table row; None for other statements."""
    is_item: bool = False
    """Whether it is in a list."""
    source: int = 0
    """The number of its source, in the order in which these were found."""
    sourcepage: str = ""
    """Source and page to cite."""
    language: str = "en"
    """The language of its source."""
    terms: frozenset[str] = frozenset()
    """The terms of its own text."""
    heading: frozenset[str] = frozenset()
    """Those of its heading."""
    context: frozenset[str] = frozenset()
    """The terms of what it stands under: its list's lead, headings, the document's title."""
    passage: frozenset[str] = frozenset()
    """The terms of the whole passage that it is from."""
    own: float = 0.0
    """Share of the question's words that it has, by weight."""
    share: float = 0.0
    """The same of it with what it stands under."""
    closeness: float = 0.0
    """How close its meaning is to the question's, as `Passage.closeness`."""
    score: float = 0.0
    """How likely it is to hold the answer, as the logarithm of the odds between two statements."""

    @property
    def introduces(self) -> bool:
        """Whether what it asks or announces comes behind it."""
        return self.text.endswith((":", "：", *QUESTION_MARKS))


def statements_of(markdown: str) -> list[Statement]:
    """Split a passage in Markdown into statements, in reading order."""
    found: list[Statement] = []
    topic: str | None = None
    lead = ""
    for (kind, lines), (following, _) in pairwise([*_blocks(markdown), ("", [])]):
        text = plain(" ".join(lines))
        if kind == "heading" or (kind == "title" and following in ("table", "item", "text")):
            topic, lead = text.rstrip(" #"), ""
        elif kind == "table":
            found += _rows(lines, topic)
        else:
            lead = lead if kind == "item" or (found and found[-1].text == lead) else ""
            found += [Statement(_shortened(one), topic, lead, is_item=kind == "item") for one in _sentences(text)]
            if kind != "item":
                lead = found[-1].text if found and found[-1].introduces else ""
    return [statement for statement in found if any(map(str.isalnum, statement.text))]


def plain(markdown: str) -> str:
    """Convert Markdown to plain text on one line."""
    for pattern, instead in _MARKUP:
        markdown = pattern.sub(instead, markdown)
    return markdown.strip()


def _blocks(markdown: str) -> Iterator[tuple[str, list[str]]]:
    """Yield headings, titles, tables, list items and paragraphs (`text`), each with its lines without marks."""
    kind, lines = "", list[str]()
    for line in [*markdown.splitlines(), ""]:
        line = _BLOCK_QUOTE.sub("", line)  # noqa: PLW2901 (a block quote counts as its content)
        begun, end = next((one, found.end()) for one, mark in _KINDS if (found := mark.match(line)))
        if (begun == "text" and kind in ("item", "text")) or begun == kind == "table":
            lines.append(line)
            continue
        if lines:
            yield "title" if kind == "text" and _is_title(lines) else kind, lines
        kind, lines = begun, [line[end:]] if line[end:] else []


def _is_title(lines: Sequence[str]) -> bool:
    """Whether a paragraph is a short line without a full stop: if a text follows it, it is a heading without a mark."""
    text = plain(" ".join(lines))
    longest = _LONGEST_BOLD if _BOLD.fullmatch(lines[0]) else _LONGEST_HEADING
    is_sentence = text.endswith((*END_PUNCTUATION, ",")) and not text.endswith(QUESTION_MARKS)
    return len(lines) == 1 and len(text) <= longest and text[:1].isupper() and not is_sentence


def _rows(lines: Sequence[str], topic: str | None) -> Iterator[Statement]:
    """Yield table rows as `label: value`, or `label – header: value; header: value` with several values."""
    rows = [[plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    has_header = len(lines) > 1 and bool(_TABLE_LINE.match(lines[1]))
    lead = " ".join(rows[0]) if has_header else ""
    header = rows[0][1:] if has_header and len({*rows[0]}) > 1 else []  # a title over all columns names none of them
    for line, (label, *values) in list(zip(lines, rows, strict=True))[2 if has_header else 0 :]:
        is_plain = len(values) == 1 and any(map(str.isalpha, values[0]))
        named = [("" if is_plain else name, value) for name, value in zip_longest(header, values, fillvalue="")]
        said = dict.fromkeys(f"{name}: {value}" if name else value for name, value in named if value not in ("", label))
        between = " – " if len(values) > 1 or (header and not is_plain) else ": "
        for part in batched(said if label and not _TABLE_LINE.match(line) else (), _MOST_VALUES, strict=False):
            yield Statement(_shortened(f"{label}{between}{'; '.join(part)}"), topic, lead, label)


def _shortened(sentence: str) -> str:
    if len(sentence) <= _LONGEST_STATEMENT:
        return sentence
    return sentence[:_LONGEST_STATEMENT].rsplit(" ", 1)[0] + " …"


def _sentences(text: str) -> Iterator[str]:
    """Split a paragraph into sentences by Unicode's rules (UAX #29), but not after abbreviations and ordinals."""
    begin = 0
    for _, end, piece in apsw.unicode.sentence_iter_with_offsets(text):
        last = _LAST_WORD.search(piece) if end < len(text) else None
        word = last[1].lower() if last else ""
        if word in _ABBREVIATIONS or len(word) == 1 or (word.isdigit() and len(word) == 2):  # a year ends a sentence
            continue
        if sentence := text[begin:end].strip():
            yield from _clauses(sentence) if _UNPUNCTUATED.search(sentence) else (sentence,)
        begin = end


def _clauses(text: str) -> Iterator[str]:
    """Split a text in a script without full stops at spaces, each piece about as long as a sentence, or longer."""
    begin = 0
    for space in re.finditer(r"\s+", text):
        if space.start() - begin >= _SHORTEST_CLAUSE <= 2 * (len(text) - space.end()):
            yield text[begin : space.start()]
            begin = space.end()
    yield text[begin:]
