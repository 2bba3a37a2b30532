"""Text without what only looks or transport needed: every reader's text goes through here."""

import re
import unicodedata

_REPLACED = str.maketrans(
    {
        "\r": "\n",
        "\v": "\n",
        "\f": "\n\n",
        "\x85": "\n",
        "\u2028": "\n",
        "\u2029": "\n\n",
        "\u00a0": " ",
        "\u202f": " ",
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
    }
)
_DROPPED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff\ufffe\uffff\ud800-\udfff]")
"""Control characters, soft hyphens, what has no width, and what is no character."""
_TRAILING_SPACE = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)
"""Each run of spaces is looked at once: a match holds the whole process up, and a caller's file may be all spaces."""
_EMPTY_LINES = re.compile(r"\n{3,}")
_LONG_RUN = re.compile(r"[^\x00-\x7f]{100,}")
"""Where there may be so many combining marks in a row that to order them, as NFC does, would take for ever."""
_MOST_MARKS = 30
"""Combining marks in a row. Source: UAX #15, Stream-Safe Text Format: no language needs more."""


def clean(text: str) -> str:
    """The text in NFC, without control characters, ligatures and soft hyphens; one empty line at a time."""
    replaced = _DROPPED.sub("", text.replace("\r\n", "\n").translate(_REPLACED))
    lines = _TRAILING_SPACE.sub("", unicodedata.normalize("NFC", _LONG_RUN.sub(_with_fewer_marks, replaced)))
    return _EMPTY_LINES.sub("\n\n", lines).strip("\n")


def _with_fewer_marks(run: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)
