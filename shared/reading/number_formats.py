"""Numbers as a spreadsheet shows them, by the number formats of Excel.

Source: ECMA-376 Part 1, 18.8.30 'numFmt' and 18.8.31 'numFmts'. Dates, fractions and powers of ten are not covered:
dates are recognized by the library that reads the cells.
"""

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from pathlib import Path

import msgspec

_BUILT_IN = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=dict[int, str])
"""Formats by their id that files do not write out."""
_TOKEN = re.compile(
    r"""
    "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | _. | \*. | \[\$(?P<currency>[^\]-]*)[^\]]*\] | \[[^\]]*\]
    | (?P<number>[0\#?][0\#?,]*(?:\.[0\#?]*)? | \.[0\#?]+) | (?P<literal>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_COVERED = re.compile(r"[eE][+-]|[ymdhsgbYMDHSGB]|/|@")
"""Marks of formats that are not handled here: powers of ten, dates, words such as General, fractions and texts."""
LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_LONGEST_CODE = 255
"""Characters of a format; Excel takes no longer ones."""
_EXACT = 10**15
"""Smaller whole numbers are exact."""
_MOST_DECIMALS = 30
"""Source: Excel's limit for decimal places."""
_ROUNDED = Context(prec=400, rounding=ROUND_HALF_UP)
"""How Excel rounds; the largest number has 309 digits."""


type _Section = Callable[[float], str]
"""One section of a format: shows numbers of one sign."""


def shown_number(value: float, code: str) -> str:
    """A number as its format shows it, with `.` and `,` as in the format.

    Args:
        value: The number.
        code: The format, such as `#,##0.00 "€"`; one that is not covered gives the plain number.
    """
    sections = _sections(code)
    if sections is None:
        return plain_number(value)
    section = sections[0]
    if value < 0 and len(sections) > 1:
        section, value = sections[1], -value
    elif value == 0 and len(sections) > 2:
        section = sections[2]
    if section is None:
        return plain_number(value)
    return section(value)


def plain_number(value: float) -> str:
    """A number with the 15 digits that Excel keeps: 0.1 + 0.2 is 0.3."""
    return str(int(value)) if abs(value) < _EXACT and value == int(value) else f"{value:.15g}"


def format_code(number: int, written: dict[int, str]) -> str | None:
    """The format of an id, if it is one that changes how a number is shown.

    Args:
        number: The id.
        written: Formats that the file writes out, by id.
    """
    code = written.get(number) or _BUILT_IN.get(number)
    return code if code and _sections(code) else None


@cache
def _sections(code: str) -> tuple[_Section | None, ...] | None:
    """The sections of a format; None if the first one is not covered."""
    if len(code) > _LONGEST_CODE:
        return None
    parts = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', code)
    sections = tuple(_section(part) for part in parts[:3])
    return sections if sections[0] else None


def _section(code: str) -> _Section | None:
    if _NOT_COVERED.search(LITERAL.sub("", code)):
        return None
    texts = ["", ""]
    number = ""
    for token in _TOKEN.finditer(code):
        if token["number"] and not number:
            number = token["number"]
        else:
            found = (token[name] for name in ("quoted", "escaped", "currency", "literal"))
            texts[bool(number)] += next((text for text in found if text), "")
    if not number:
        return None
    whole, _, decimals = number.partition(".")
    scale = len(whole) - len(whole.rstrip(",")) if not decimals else 0
    before, after = texts
    most, fixed = min(len(decimals), _MOST_DECIMALS), decimals.count("0")
    grouped, least = "," if "," in whole.rstrip(",") else "", whole.count("0")
    power, unit = 2 * ("%" in before + after) - 3 * scale, Decimal(1).scaleb(-most)

    def show(value: float) -> str:
        number = Decimal(f"{abs(value):.15g}").scaleb(power)  # with the digits that Excel keeps: 2.675 is no 2.67499…
        shown = f"{number.quantize(unit, context=_ROUNDED):{grouped}.{most}f}"
        digits, _, rest = shown.partition(".")
        rest = rest[:fixed] + rest[fixed:].rstrip("0")
        digits = digits.rjust(least, "0") if least else digits.lstrip("0")
        sign = "-" if value < 0 and any(digit in "123456789" for digit in shown) else ""
        return f"{sign}{before}{digits}{'.' if rest else ''}{rest}{after}".strip()

    return show
