"""Bytes to clean text: find the encoding, then remove characters that carry no text."""

import codecs
import re
import unicodedata
from functools import partial
from itertools import chain, groupby, islice

from shared.reading import Page, UnreadableError
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.tables import markdown_table

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: this mark begins with the one of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ALIASES = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252"}
"""Names that documents use for Windows-1252. Source: WHATWG Encoding, 'Names and labels'."""
_DOMAIN_NAME_ENCODINGS = {"punycode", "idna"}
"""Refused: decoding takes quadratic time, and no document is written in them."""
_ESCAPE = b"\x1b"
"""Seven-bit encodings such as ISO-2022-JP switch alphabets with it; UTF-8 text does not contain it."""

_DETECTED_BYTES = 200_000
"""Bytes at the start of a file by which its encoding is found."""
_WEIGHTS = {"cp1252": 1.2, "cp866": 0.6}
"""How much more, or less, common an encoding is than others."""
_SIGN = "[¡-©¬-¶¸-º¼-¾×÷─-◿\x80-\x9f\ufffd]"
_ODD = re.compile(
    rf"[A-Za-z](?=[Ͱ-\u1fff])|[Ͱ-\u1fff](?=[A-Za-z])|[^\W\d_](?={_SIGN})|{_SIGN}(?=[^\W\d_])|[a-zß-ÿа-я](?=[À-ÞŁА-Я])"
)
"""Two alphabets in a word, a sign beside a letter, and a capital letter behind a small one."""
_ONLY_IN = dict.fromkeys("ąĄ", ("pl", "lt")) | dict.fromkeys("ľĽ", ("sk",)) | dict.fromkeys("ðÐþÞ", ("is",))
"""Letters that few languages have, and that others get in a wrong encoding."""

_RAISED = re.compile(r"(?!(?:st|nd|rd|th|[eè]|er|r?e|[eè]me|[oa]s?|tm|sm)$)[\w+−-]", re.IGNORECASE)
"""How raised text begins that is no ending, as `th` in `4th` is."""

_RTF_START = b"{\\rtf"
_RTF_CODE_PAGE = re.compile(rb"\\ansicpg(\d{1,5})")
RTF_PICTURE = re.compile(rb"(?:[0-9a-fA-F]{2}[\r\n ]*+){500,}+")
"""The data of a picture, in hexadecimal digits."""
_RTF_NO_DATA = re.compile(r"\\bin(?!\d)")
"""The library expects a number behind this control word."""
_RTF_NOTE = re.compile(r"(?:\\\*)?\\(?:footnote|annotation)(?![a-z])")
_RTF_ITEM = re.compile(r"(?=\{\\\*\\htmltag\d* ?<li\b)")
_RTF_RAISED = re.compile(r"(?<=\w)\{(?:\\[a-z]+\d*)*\\super(?:\\[a-z]+\d*)* ?(?=\d)")
"""Notes, which the library leaves out; items of lists in HTML that is kept as RTF; and how raised digits begin."""
_RTF_LEFT_OUT = {"text boxes": b"\\shptxt", "headers and footers": b"\\header", "embedded objects": b"\\objdata"}
_RTF_ROW = re.compile(r"(?:^[^\n]*\|[ \t]*(?:\n|\Z))++", re.MULTILINE)
"""Rows of a table, in what the library makes of them: each cell ends in a bar."""

_REPLACEMENTS = {
    **dict.fromkeys("\r\v\x85\u2028", "\n"),
    **dict.fromkeys("\f\u2029", "\n\n"),
    **dict.fromkeys("\u00a0\u202f", " "),
    **{ligature: unicodedata.normalize("NFKC", ligature) for ligature in "ﬀﬁﬂﬃﬄﬅﬆ"},
}
_REPLACED = re.compile(f"[{''.join(_REPLACEMENTS)}]")
_REMOVED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff\ufffe\uffff\ud800-\udfff]")
"""Control characters, soft hyphens, characters without width, and code points that are no characters."""
_TRAILING_SPACE = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)
"""Looks at each run of spaces once. Matching blocks the process, and an uploaded file may consist of spaces only."""
_EMPTY_LINES = re.compile(r"\n{3,}")
_NON_ASCII_RUN = re.compile(r"[^\x00-\x7f]{100,}")
"""May have so many combining marks in a row that sorting them, as NFC does, takes quadratic time."""
_MAX_COMBINING_MARKS = 30
"""Combining marks in a row. Source: UAX #15, Stream-Safe Text Format: no language needs more."""


def shifted(text: str, before: str, *, is_raised: bool) -> str:
    """Raised or lowered text, kept apart from the number `before` it: 10⁶ is `10^6`, 4ᵗʰ `4th`, and CO₂ `CO2`."""
    if is_raised:
        return f"^{text}" if _RAISED.match(text) and before[-1:].isalnum() else text
    return f"_{text}" if text[:1].isalnum() and before[-1:].isdigit() else text


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode text by its byte order mark, as UTF-8, by the declared encoding, or by detection, in this order.

    UTF-8 comes before the declaration: text in another encoding is almost never valid UTF-8 by chance, and wrong
    declarations are common.

    Raises:
        UnreadableError: the bytes are not text.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_strictly(data, encoding)
    has_many_nulls = data.count(0) * 10 > len(data)  # UTF-16 without a mark, or not text at all
    if not has_many_nulls and _ESCAPE not in data and _can_decode(data, "utf-8"):
        return data.decode("utf-8")
    name = (declared or "").strip().lower()
    name = _ALIASES.get(name, name)
    if name and _can_decode(data, name):
        return data.decode(name)
    return _decode_strictly(data, _detect(data))


def read_rtf(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Convert a file in Rich Text Format to text, with its tables in Markdown and without its pictures."""
    from striprtf.striprtf import rtf_to_text

    if not data.lstrip().startswith(_RTF_START):
        raise UnreadableError("is damaged, or not of the format that its name says.")
    data = RTF_PICTURE.sub(b"", data)
    check_limit(len(data), limits.characters, "bytes of text")
    page = _RTF_CODE_PAGE.search(data)
    encoding = f"cp{page[1].decode()}" if page and _can_decode(data, f"cp{page[1].decode()}") else "cp1252"
    shown = _RTF_RAISED.sub("{^", _RTF_NOTE.sub(" ", _RTF_NO_DATA.sub("", data.decode(encoding, "replace"))))
    text = rtf_to_text(_RTF_ITEM.sub(r"\\par ", shown), errors="replace")
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # escapes are halves of rare characters
    left_out = tuple(what for what, mark in _RTF_LEFT_OUT.items() if mark in data)
    return [Page(_RTF_ROW.sub(_rtf_table, text), left_out=left_out)]


def clean(text: str) -> str:
    """Text in NFC, without control characters, ligatures and soft hyphens; at most one empty line in a row."""
    replaced = _REPLACED.sub(lambda one: _REPLACEMENTS[one[0]], text.replace("\r\n", "\n"))
    composed = unicodedata.normalize("NFC", _NON_ASCII_RUN.sub(_limit_combining_marks, _REMOVED.sub("", replaced)))
    return _EMPTY_LINES.sub("\n\n", _TRAILING_SPACE.sub("", composed)).strip("\n")


def _detect(data: bytes) -> str:
    """Find the encoding that is likely by the frequency of its letters, and in which they make plausible words."""
    import chardet

    start, best, encoding = data[:_DETECTED_BYTES], 0.0, None
    detect = partial(chardet.detect_all, start, ignore_threshold=True, compat_names=False)
    found = detect(encoding_era=chardet.EncodingEra.MODERN_WEB)
    if not start.isascii():
        found += detect(include_encodings=["iso8859-2", "iso8859-5", "cp866"])
    for one in found:
        if one["encoding"]:
            name = _ALIASES.get(one["encoding"], one["encoding"])
            likely = _WEIGHTS.get(name, 1.0) * one["confidence"] * _plausible(start, name, one["language"])
            best, encoding = max((best, encoding), (likely, name), key=lambda pair: pair[0])
    if encoding is None:
        raise UnreadableError("is not text in an encoding that is known here; save it as UTF-8.")
    return encoding


def _plausible(data: bytes, encoding: str, language: str | None) -> float:
    """The share of letters outside of ASCII that stand where letters do, and that the language has."""
    text = data.decode(encoding, "replace")
    wrong = len(_ODD.findall(text))
    wrong += sum(text.count(letter) for letter, languages in _ONLY_IN.items() if language not in languages)
    return max(0.01, 1 - 2 * wrong / max(1, sum(not character.isascii() for character in text)))


def _can_decode(data: bytes, encoding: str) -> bool:
    try:
        if codecs.lookup(encoding).name in _DOMAIN_NAME_ENCODINGS:
            return False
        data.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _decode_strictly(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeError as broken:
        raise UnreadableError(f"is broken {encoding.removesuffix('-sig').upper()} text; save it as UTF-8.") from broken


def _rtf_table(rows: re.Match[str]) -> str:
    cells = [line.strip().removesuffix("|").split("|") for line in rows[0].splitlines()]
    return f"\n\n{markdown_table(cells)}\n\n"


def _limit_combining_marks(run: re.Match[str]) -> str:
    pieces = groupby(run[0], lambda character: unicodedata.combining(character) > 0)
    kept = (islice(piece, _MAX_COMBINING_MARKS if is_of_marks else None) for is_of_marks, piece in pieces)
    return "".join(chain.from_iterable(kept))
