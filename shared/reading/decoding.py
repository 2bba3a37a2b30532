"""Bytes of a text file to text, in whatever encoding they were written."""

import codecs

from shared.reading.pages import UnreadableError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ALIASES = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252"}
"""What documents call by these names is Windows-1252. Source: WHATWG Encoding, 'Names and labels'."""
_OF_NAMES = {"punycode", "idna"}
"""Encodings of domain names, which take the square of a text's length: no document is written in them."""
_ESCAPE = b"\x1b"
"""Seven-bit encodings such as ISO-2022-JP switch with it; UTF-8 text does not hold it."""


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode by the byte order mark, as UTF-8, by the declared encoding, or by what the bytes look like, in this order.

    UTF-8 comes before the declaration because other encodings' text is hardly ever valid UTF-8 by chance, while a
    wrong declaration is common.

    Raises:
        UnreadableError: it is no text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strict(data, encoding)
    many_nulls = data.count(0) * 10 > len(data)  # UTF-16 without a mark, or no text at all
    if not many_nulls and _ESCAPE not in data and _decodes(data, "utf-8"):
        return data.decode("utf-8")
    name = (declared or "").strip().lower()
    name = _ALIASES.get(name, name)
    if name and _decodes(data, name):
        return data.decode(name)
    return _strict(data, _detect(data))


def _detect(data: bytes) -> str:
    import chardet

    found = chardet.detect(data, encoding_era=chardet.EncodingEra.MODERN_WEB, prefer_superset=True)["encoding"]
    if found is None:
        raise UnreadableError("is not text in an encoding that is known here; save it as UTF-8.")
    return found


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        if codecs.lookup(encoding).name in _OF_NAMES:
            return False
        data.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _strict(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeError as broken:
        raise UnreadableError(f"is broken {encoding.removesuffix('-sig').upper()} text; save it as UTF-8.") from broken
