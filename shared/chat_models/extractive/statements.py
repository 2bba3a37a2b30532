"""Splits a passage into statements: sentences, list items and table rows, without markup."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import batched, pairwise, zip_longest

import apsw.unicode

_LONGEST_STATEMENT = 600
"""Maximum length of a statement in characters; a longer one is cut at a word."""
_SHORTEST_CLAUSE = 140
"""Minimum length of a statement that ends at a space, in a script without full stops, in characters: spaces end clauses
there, and also surround names and numbers. The last one can be half as long."""
_LONGEST_HEADING = 80
"""Maximum length of a line without heading markup that is taken for a heading, in characters."""
_MOST_WORDS_OF_HEADING = 8
"""Maximum number of words in a line without heading markup that is taken for a heading."""
_MOST_VALUES = 5
"""Maximum number of cells in a statement beside the first one. The row of a wide table becomes several statements."""

_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(\S.*)$")
_UNDERLINE = re.compile(r"\s{0,3}(={3,}|-{3,})\s*$")
_RULE_OR_FENCE = re.compile(r"\s*(([-*_]\s*){3,}|={3,}|`{3,}.*|~{3,}.*)$")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•‣▪–]|\d{1,3}[.)])\s+(?=\S)")
_TABLE_ROW = re.compile(r"\s*\|.*\|\s*$")
_TABLE_LINE = re.compile(r"[\s|:-]+$")
_END_PUNCTUATION = (".", "!", "?", "…", "。", "！", "？", "؟", "۔", "։", "।", "॥", ":", ";", ",")

_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"!\[[^\[\]]*\]\([^)]{0,1000}\)"), ""),  # an image
    (re.compile(r"\[([^\[\]]+)\]\([^)]{0,1000}\)"), r"\1"),  # a link keeps its text
    (re.compile(r"</?[A-Za-z][^<>]{0,200}>"), " "),  # an HTML tag
    (re.compile(r"(\*\*|__)(?=\S)(.{1,500}?)(?<=\S)\1"), r"\2"),  # bold
    (re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])"), r"\1"),  # italic
    (re.compile(r"(?<!\w)_(?=\S)([^_]+?)(?<=\S)_(?!\w)"), r"\1"),
    (re.compile(r"`+([^`]*)`+"), r"\1"),  # code
    (re.compile(r"\\([\\`*_{}\[\]()#+.!|>~-])"), r"\1"),  # an escaped character
    (re.compile("<{2,}"), "«"),  # clients would take it for the marker of a follow-up question
    (re.compile(">{2,}"), "»"),
    (re.compile(r"\*{2,}|#{2,}"), ""),  # half of a pair of marks, left where the passage was cut
    (re.compile(r"\s+"), " "),
)
"""Patterns of Markdown and HTML markup with their replacements.

The text may come from a caller's file, and matching blocks the process. No pattern may take quadratic time: none
searches the rest of the text from each position where it could begin."""


_ABBREVIATION_LIST = """
abb abs abt anm approx apr art aug bzgl bzw ca cf dec dept dez dipl dr eg evtl exkl feb fig ff fr geb gem ggf hr incl
inkl ing insb jan jul jun kap lt mio mr mrd mrs ms nov nr okt oct pos pp prof sec sep sept sog st str tel vgl vol vs zb
zzgl
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())
"""Abbreviations in lower case, without their full stop; none that often ends a sentence, as `etc.` does. Single letters
count too: `z. B.`, `e. g.`, initials."""

_UNPUNCTUATED = re.compile("[\u0e00-\u0eff]")
"""Thai and Lao."""
_LAST_WORD = re.compile(r"(?<![^\W_])([^\W_]{1,8})\.\s*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, list item or table row of a passage."""

    text: str
    """A sentence, a list item, or a table row as `label: header value`; no markup, one line."""
    topic: str | None
    """The heading above it."""
    lead: str = ""
    """The sentence that introduces its list."""
    label: str | None = None
    """The first cell of a table row; None for other statements."""
    is_item: bool = False
    """Whether it is in a list."""
    begins: bool = True
    """Whether it begins a paragraph, a list item or a row."""


def statements_of(markdown: str) -> list[Statement]:
    """Split a passage in Markdown into statements, in reading order."""
    found: list[Statement] = []
    topic: str | None = None
    lead = ""
    for block, following in pairwise([*_blocks(markdown), None]):
        if isinstance(block, _Heading) and block.is_guess and not isinstance(following, _Table | _Prose):
            found.append(Statement(block.text, topic))  # no text follows: a short line, not a heading
        elif isinstance(block, _Heading):
            topic, lead = block.text, ""
        elif isinstance(block, _Table):
            found += _rows(block.lines, topic)
        elif block:
            lead = lead if block.is_item else ""
            said = [
                Statement(_shortened(one), topic, lead, is_item=block.is_item, begins=not place)
                for place, one in enumerate(_sentences(block.text))
            ]
            found += said
            if not block.is_item:
                lead = said[-1].text if said and said[-1].text.endswith((":", "：")) else ""
    return [statement for statement in found if any(map(str.isalnum, statement.text))]


def plain(markdown: str) -> str:
    """Convert Markdown to plain text on one line."""
    for pattern, instead in _MARKUP:
        markdown = pattern.sub(instead, markdown)
    return markdown.strip()


@dataclass(frozen=True, slots=True)
class _Heading:
    text: str
    is_guess: bool = False
    """Whether it is only a short line by itself, without heading markup."""


@dataclass(frozen=True, slots=True)
class _Table:
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Prose:
    text: str
    is_item: bool


def _blocks(markdown: str) -> Iterator[_Heading | _Table | _Prose]:
    """Yield headings, tables, paragraphs and list items."""
    lines: list[str] = []
    for line in [*re.split(r"\r\n|\r|\n", markdown), ""]:
        line = re.sub(r"^\s{0,3}>\s?", "", line)  # noqa: PLW2901 (a block quote counts as its content)
        heading = _HEADING.match(line)
        is_table = _TABLE_ROW.match(line) is not None
        starts_anew = bool(heading or not line.strip() or _LIST_ITEM.match(line) or _RULE_OR_FENCE.match(line)) or (
            bool(lines) and is_table != bool(_TABLE_ROW.match(lines[0]))
        )
        if starts_anew:
            underlined = len(lines) == 1 and _UNDERLINE.match(line) is not None
            yield from _block(lines, underlined=underlined)
            lines = []
        if heading:
            yield _Heading(plain(heading[1].rstrip().rstrip("#")))
        elif line.strip() and not _RULE_OR_FENCE.match(line):
            lines.append(line)


def _block(lines: Sequence[str], *, underlined: bool) -> Iterator[_Heading | _Table | _Prose]:
    if not lines:
        return
    if _TABLE_ROW.match(lines[0]):
        yield _Table(lines)
        return
    item = _LIST_ITEM.match(lines[0])
    text = plain(" ".join([lines[0][item.end() :] if item else lines[0], *lines[1:]]))
    is_short = len(lines) == 1 and len(text) <= _LONGEST_HEADING and len(text.split()) <= _MOST_WORDS_OF_HEADING
    is_title = is_short and text[:1].isupper() and not text.endswith(_END_PUNCTUATION)
    if underlined or (is_title and not item):
        yield _Heading(text, is_guess=not underlined)
    elif text:
        yield _Prose(text, is_item=item is not None)


def _rows(lines: Sequence[str], topic: str | None) -> Iterator[Statement]:
    """Yield table rows as `label: value`, or `label – header: value; header: value` with several values."""
    rows = [[plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    has_header = len(lines) > 1 and _TABLE_LINE.match(lines[1]) is not None
    header = rows[0][1:] if has_header and len(rows[0]) > 2 else []
    for line, (label, *values) in list(zip(lines, rows, strict=True))[2 if has_header else 0 :]:
        named = zip_longest(header, values, fillvalue="")
        said = [f"{name}: {value}" if name else value for name, value in named if value]
        between = " – " if len(values) > 1 else ": "
        for part in batched(said if label and not _TABLE_LINE.match(line) else [], _MOST_VALUES, strict=False):
            yield Statement(_shortened(f"{label}{between}{'; '.join(part)}"), topic, label=label)


def _shortened(sentence: str) -> str:
    if len(sentence) <= _LONGEST_STATEMENT:
        return sentence
    return sentence[:_LONGEST_STATEMENT].rsplit(" ", 1)[0] + " …"


def _sentences(text: str) -> Iterator[str]:
    """Split a paragraph into sentences by Unicode's rules (UAX #29), but not after abbreviations and ordinals."""
    begin = 0
    for _, end, piece in apsw.unicode.sentence_iter_with_offsets(text):
        if _sentence_continues(piece, text[end : end + 1]):
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


def _sentence_continues(piece: str, following: str) -> bool:
    """Whether the sentence continues after the full stop at the end of `piece`, given the next character."""
    last = _LAST_WORD.search(piece)
    if last is None or not following:
        return False
    word = last[1].lower()
    if word.isdigit():
        return len(word) <= 2  # an ordinal, as in '1. Januar'; a year ends a sentence
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())
