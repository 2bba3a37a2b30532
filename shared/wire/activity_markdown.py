"""Markdown as Teams draws it in messages: no tables, no headings and no rules, which become lists and bold lines.

What is shown of a text that still grows only grows too: a stream of Teams takes nothing back.

Source: Microsoft Teams, 'Format your bot messages', text-only messages.
"""

import re

_RULE = re.compile(r"([-*_])(?:\s*\1){2,}")
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_DELIMITERS = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_CELL = re.compile(r"(?<!\\)\|")
_UNDECIDED = re.compile(r"[|#].*|[-*_\s]*")
"""A line that is not whole and may become a row, a heading or a rule."""


def as_teams_draws(text: str, *, is_whole: bool) -> str:
    """Return a Markdown text as Teams draws it; of one that is not whole, without an end that may change."""
    lines = text.split("\n")
    if not is_whole and _UNDECIDED.fullmatch(lines[-1].strip()):
        del lines[-1]
    drawn, heads, is_code = list[str](), list[str](), False
    for number, line in enumerate(lines):
        bare = line.strip()
        if bare.startswith("```"):
            is_code = not is_code
        is_row = not is_code and bare.startswith("|")
        if is_row and heads:
            if not _DELIMITERS.fullmatch(bare):
                drawn.append(_row(heads, line))
            continue
        heads = []
        is_last = number == len(lines) - 1
        if is_row and is_last and not is_whole:
            break
        if is_row and not is_last and _DELIMITERS.fullmatch(lines[number + 1].strip()):
            heads = _cells(line)
        elif is_code:
            drawn.append(line)
        elif heading := _HEADING.fullmatch(bare):
            drawn.append(f"**{heading[1].strip('*# ')}**")
        else:
            drawn.append("" if _RULE.fullmatch(bare) else line)
    whole = "\n".join(drawn)
    return whole if is_whole else whole.rstrip()


def _cells(line: str) -> list[str]:
    inside = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(inside)]


def _row(heads: list[str], line: str) -> str:
    """Make a row of a table one item of a list, in which each cell has the name of its column."""
    named = zip(heads, _cells(line), strict=False)
    return "- " + " · ".join(f"**{head.strip('*')}:** {cell}" if head else cell for head, cell in named if cell)
