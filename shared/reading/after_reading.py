"""What follows when a file has been read: find the day and the label that it states, and count what its text lacks.

It uses no reader. Patterns take dates, labels and texts out of the markup. A label of Microsoft Purview has its id in
the names of properties: `MSIP_Label_{id}_Enabled`, `MSIP_Label_{id}_Name`. Each word of the texts, without those that
nobody misses, has to be somewhere in what was read; numbers of cells and charts are not looked for: they have other
formats.

Source: ECMA-376 Part 2, 8 'Core Properties'; OpenDocument 1.3, part 3, 4.3; EPUB 3.3, 5.5 'Metadata section';
Microsoft Information Protection SDK, 'Metadata'; MS-OFFCRYPTO 2.6.3.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from html import unescape
from importlib import import_module
from io import BytesIO
from itertools import chain
from pathlib import Path, PurePosixPath
from unicodedata import normalize

import msgspec

from shared.reading import Page, markdown, plain_text
from shared.reading.limits import ReadLimits
from shared.reading.packages import package, read_part
from shared.reading.sandbox_messages import MARKDOWN
from shared.retrieval import day_in

type Texts = Iterable[tuple[str, str]]
"""Texts of a file, each with what it is of."""

_LONGEST_HEAD = 64 * 1024
"""Bytes of a text in which its date is looked for."""
PAGE_NUMBER = re.compile(r"(?:\W*[^\W\d]{0,6}(?![^\W\d])\W*\d*){0,2}\W*")
"""What counts pages in headers and footers, such as `Page 3 of 7`, or nothing."""
_DATA = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, dict[str, list[str]]])
"""What nobody misses: deleted text, how words are pronounced, numbers of pages, navigation, each name as a pattern; the
parts of packages that are looked at; what users call parts that have another name; and the names that dates have, the
best first: in `meta` elements, and in the front matter of Jekyll, Hugo, Docusaurus and others."""
_KINDS = {name: kind for kind, names in _DATA["kinds"].items() for name in names}
_PARTS = {kind: re.compile("".join(names), re.IGNORECASE) for kind, names in _DATA["parts"].items()}
_STARTS = {
    kind: re.compile(
        rf"<(?:({'|'.join(names)})(?:\s[^<>]*)?(?<!/)>|(!--)"
        r"|(p:ph)\s[^<>]*?type=\"(?:dt|ftr|sldNum|hdr|sldImg)\")",  # in a shape that is the same on each slide
        re.IGNORECASE if kind == "html" else 0,
    )
    for kind, names in _DATA["elements"].items()
} | {"rtf": re.compile(rf"\{{\s*(\\)(?:{'|'.join(_DATA['groups']['rtf'])})(?![a-z])")}
_ENDS = {"!--": re.compile("(-->)"), "p:ph": re.compile("(</p:sp>)"), "\\": re.compile(r"(\})|(\{)|\\.", re.DOTALL)}
"""What ends something, and what begins another within it, where these are no tags of the same name."""
_TEXTS_OF = {
    # no numbers and errors, nor what an older Excel shows in place of a thread; and WordArt and buttons
    "office": re.compile(
        r">(?!\[Threaded comment|(?:[\d.E+-]+|#[^<]*)</(?:\w+:)?v>)([^<]+)</(?:(?:\w+:)?[tv]|font)>"
        r"|<v:textpath\s[^<>]*?string=\"([^\"]+)"
    ),
    **dict.fromkeys(("open", "html"), re.compile(r">([^<>]+)(?:())")),
}
_TAG_IN_TAG = re.compile(r'="[^"<>]*>[^"<]*"')
_MARKDOWN = re.compile(r"\{[{%:#/][^{}]*\}\}?|<[^<>]*>|^:::.*|^import[ \t].*|\\(?=[^\w\s])", re.MULTILINE)
_RTF_LETTER, _RTF_MARK = re.compile(r"\\(?:'..|u-?\d+)|[^\x00-\x7f]"), re.compile(r"(?s)\\[a-zA-Z]+-?\d* ?|\\.|[{}]")
_WORD = re.compile(r"[^\W_]+")
_LABELLED = re.compile("msip_label_(.{1,100})_enabled")
_LABEL_PARTS = re.compile(r"docMetadata/LabelInfo\.xml|docProps/custom.*\.xml", re.IGNORECASE)
_LONGEST_LABEL = 100
"""Characters of the name of a label."""
_LARGEST_PART = 16 * 1024 * 1024
"""Bytes of a part that is looked at."""
_MOST = 1_000
"""Words that are looked for one after the other in the whole text."""


def date_of(data: bytes, suffix: str, limits: ReadLimits) -> str:
    """Find the day that a file states as its own, as `YYYY-MM-DD`; empty if it states none that can be its own.

    The time of the file says nothing: a copy has another one.

    Args:
        data: The bytes of the file, which has been read.
        suffix: The suffix of its name, such as `.pdf`, in lower case.
        limits: What the file may hold.
    """
    with suppress(Exception):  # given odd bytes, a parser may raise anything; the text was read all the same
        for time in _STATED[suffix](data, limits) if suffix in _STATED else ():
            if day := day_in(time):
                return day
    return ""


def _pdf(data: bytes, _limits: ReadLimits) -> Iterable[str]:
    return import_module("shared.reading.pdf").times_of_pdf(data)  # which reads what is attached, of any format


def _part(data: bytes, limits: ReadLimits, name: str, elements: tuple[str, ...]) -> Iterator[str]:
    """The texts of elements, the best first, in the part of a package that has this name, which is a pattern."""
    with package(data, limits) as parts:
        found = next(part for part in parts.namelist() if re.fullmatch(name, part, re.IGNORECASE))
        text = read_part(parts, found, limits).decode("utf-8", "replace")
    for element in elements:
        yield from re.findall(rf"<(?:\w+:)?{element}[^<>]*>\s*([^<>]*)", text)


def _html_times(data: bytes, _limits: ReadLimits) -> Iterator[str]:
    head = data[:_LONGEST_HEAD].decode("latin-1")
    for name in _DATA["dates"]["meta"]:
        named = rf"""<meta\s(?=[^<>]*\b(?:property|name|http-equiv)\s*=\s*["']?{name}["'\s/>])"""
        yield from re.findall(rf"""{named}[^<>]*?\bcontent\s*=\s*["']?([^"'<>]*)""", head, re.IGNORECASE)


def _markdown_times(data: bytes, _limits: ReadLimits) -> Iterator[str]:
    front = markdown.FRONT_MATTER.match(data[:_LONGEST_HEAD].decode("utf-8", "replace"))
    for key in _DATA["dates"]["front matter"] if front else ():
        yield from re.findall(rf"""(?mi)^{key}[ \t]*[:=][ \t]*["']?([0-9][0-9-]{{9}})""", front[2] if front else "")


_OFFICE = (".docx", ".docm", ".pptx", ".pptm", ".xlsx", ".xlsm")
_office = partial(_part, name=r"docProps/core.*\.xml", elements=("modified", "created"))
_open_document = partial(_part, name=r"meta\.xml", elements=("date", "creation-date"))
_epub = partial(_part, name=r".*\.opf", elements=(r"meta\s(?=[^<>]*property=.dcterms:modified)", "date"))
_STATED: dict[str, Callable[[bytes, ReadLimits], Iterable[str]]] = {
    ".pdf": _pdf,
    ".epub": _epub,
    **dict.fromkeys(_OFFICE, _office),
    **dict.fromkeys((".odt", ".odp", ".ods"), _open_document),
    **dict.fromkeys((".html", ".htm"), _html_times),
    **dict.fromkeys(MARKDOWN, _markdown_times),
}
"""From the suffix of a file to what finds the times that it states, the best first."""


def label_of(data: bytes, suffix: str, limits: ReadLimits) -> str:
    """Find the sensitivity label of a file: arguments as of `date_of`, and what is returned as of `label_in`."""
    found: list[tuple[str, str]] = []
    with suppress(Exception):  # as above
        found.extend(_LABELS[suffix](data, limits) if suffix in _LABELS else ())
    return label_in(found)


def label_in(properties: Texts) -> str:
    """Find the name of the label that properties are of, or its id if it has no name; empty if there is none.

    Of equal properties the first one counts.
    """
    found: dict[str, str] = {}
    for name, value in properties:
        found.setdefault(name.lower(), unescape(value).strip())
    marks = ((_LABELLED.fullmatch(name), value.lower()) for name, value in found.items())
    ids = (mark[1] for mark, value in marks if mark and value in ("true", "1"))
    label = next((found.get(f"msip_label_{one}_name") or one for one in ids), "")
    return " ".join(label.split())[:_LONGEST_LABEL]


def _pdf_labels(data: bytes, _limits: ReadLimits) -> Texts:
    return import_module("shared.reading.pdf").labels_of_pdf(data)


def _office_labels(data: bytes, limits: ReadLimits) -> Texts:
    """Yield what the part for labels says, which has no names of them, and then custom properties."""
    with package(data, limits) as parts:
        for part in sorted(filter(_LABEL_PARTS.fullmatch, parts.namelist())):
            text = read_part(parts, part, limits).decode("utf-8", "replace")
            for label in re.findall(r"<(?:\w+:)?label\s([^<>]*)", text):
                has = dict(re.findall(r"""(\w+)=["']([^"']*)""", label))
                is_on = "" if has.get("removed") in ("1", "true") else has.get("enabled", "")
                yield f"MSIP_Label_{has.get('id', '').strip('{}')}_Enabled", is_on
            yield from re.findall(r"""\sname=["'](MSIP_[^"']+)["'][^<>]*>\s*<[^<>]*>([^<>]*)""", text)


_LABELS: dict[str, Callable[[bytes, ReadLimits], Texts]] = {
    ".pdf": _pdf_labels,
    **dict.fromkeys(_OFFICE, _office_labels),
}
"""From the suffix of a file to what finds the properties that may be of a label."""


def losses(data: bytes, suffix: str, pages: Collection[Page]) -> tuple[str, ...]:
    """What a file holds and its pages do not, as `lost_words` says it; with hidden sheets or slides it is unknown."""
    is_in_part_hidden = any(what.startswith("hidden") for page in pages if not page.text for what in page.left_out)
    if suffix not in _TEXTS or is_in_part_hidden:
        return ()
    try:
        return lost_words(_TEXTS[suffix](data), " ".join(page.text for page in pages))
    except Exception:  # noqa: BLE001 (parts that no reader needed can be damaged; what was read is kept)
        return ("what could not be checked",)


def lost_words(texts: Texts, told: str) -> tuple[str, ...]:
    """What is not in the text: such as `3 words of notes`."""
    tokens, found, squeezed = set(told.split()), Counter[str](), ""
    for kind, text in texts:
        odd = plain_text.clean(" ".join(set(unescape(text).split()) - tokens))
        words = set(_WORD.findall(normalize("NFKC", odd))) - tokens
        if len(words) > _MOST:
            words.difference_update(_WORD.findall(told))
        if words := {word for word in words if word not in told}:
            squeezed = squeezed or "".join(_WORD.findall(normalize("NFKC", told)))
            found[kind] += sum(word not in squeezed for word in words)
    return tuple(f"{number} word{'s' * (number > 1)} of {kind}" for kind, number in found.items() if number)


def markup_text(markup: str, kind: str = "html") -> str:
    """The texts of a page in HTML, or of a part of a document."""
    return " ".join(chain.from_iterable(_TEXTS_OF[kind].findall(f">{_shown(markup, kind)}")))


def _shown(markup: str, kind: str) -> str:
    """Markup without what nobody misses."""
    kept: list[str] = []
    unclosed: set[str] = set()
    at = 0
    while found := _STARTS[kind].search(markup, at):
        kept.append(markup[at : found.start()])
        at, name, depth = found.end(), found[found.lastindex or 0].lower(), 1
        ends = _ENDS.get(name) or re.compile(rf"(</(?i:{name})\b)|(<(?i:{name})(?:\s[^<>]*)?(?<!/)>)")
        for one in ends.finditer(markup, at) if name not in unclosed else ():
            depth += {1: -1, 2: 1}.get(one.lastindex or 0, 0)
            if not depth:
                at = one.end()
                break
        else:
            unclosed.add(name)
    return "".join((*kept, markup[at:]))


def _package(data: bytes, kind: str) -> Texts:
    with zipfile.ZipFile(BytesIO(data)) as parts:
        for part in parts.infolist():
            if part.file_size <= _LARGEST_PART and _PARTS[kind].fullmatch(part.filename):
                markup = str(parts.read(part), "utf-8", "replace")
                if kind == "open":
                    markup = _TAG_IN_TAG.sub("", markup[markup.find("<office:body") :])
                text = markup_text(markup, kind)
                name = PurePosixPath(part.filename).stem.rstrip("0123456789")
                if not (name in ("header", "footer") and PAGE_NUMBER.fullmatch(text)):
                    yield "the text" if kind == "html" else _KINDS.get(name, name), text


def _html(data: bytes) -> Texts:
    from shared.reading.markup import decoded_html

    yield "the text", markup_text(decoded_html(data))


def _markdown(data: bytes) -> Texts:
    text = plain_text.decode(data)
    front = markdown.FRONT_MATTER.match(text)
    yield "the text", _MARKDOWN.sub(" ", _shown(text[front.end() :] if front else text, "markdown"))


def _rtf(data: bytes) -> Texts:
    shown = _RTF_LETTER.sub("\0", _shown(plain_text.RTF_PICTURE.sub(b"", data).decode("latin-1"), "rtf"))
    yield "the text", " ".join(word for word in _RTF_MARK.sub(" ", shown).split() if "\0" not in word)


_TEXTS: dict[str, Callable[[bytes], Texts]] = {
    **dict.fromkeys(_OFFICE, partial(_package, kind="office")),
    **dict.fromkeys((".odt", ".odp", ".ods"), partial(_package, kind="open")),
    **dict.fromkeys((".html", ".htm"), _html),
    **dict.fromkeys(MARKDOWN, _markdown),
    ".epub": partial(_package, kind="html"),
    ".rtf": _rtf,
}
