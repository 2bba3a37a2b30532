"""Makes `docs/limits.md`: every time limit and other limit that is a constant in `shared/`, read from the code.

A constant is one if its name says so (`_LIMIT` below). The docstring under it becomes its description.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_LIMIT = re.compile(
    r"(^|_)(SECONDS|MILLISECONDS|TIMEOUT|MOST|LONGEST|LARGEST|LIMIT|MAX|TRIES|RETRIES|AT_ONCE|BATCH|CONCURRENT)(_|$)"
)
_HEAD = """\
# Limits

<!-- Made of the constants in shared/ by `make docs`: change them there. -->

Timeouts and limits that are constants of the code. Those that can be set are in [settings.md](settings.md). Where a
name says no unit, its description does.

| file | name | value | what it limits |
|---|---|---|---|
"""


def limits_page() -> str:
    """Return the text of the page."""
    return _HEAD + "".join(_rows())


def _rows() -> Iterator[str]:
    for file in sorted((ROOT / "shared").rglob("*.py")):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        for node, following in pairwise(body):
            name, described = _name(node), _docstring(following)
            if name and _LIMIT.search(name) and (value := _number(node)) is not None:
                shown = f"{value:,}" if value >= 10_000 else str(value)
                yield f"| `{file.relative_to(ROOT)}` | `{name}` | {shown} | {described} |\n"


def _name(node: ast.stmt) -> str | None:
    target = (
        node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
    )
    return target.id if isinstance(target, ast.Name) else None


def _docstring(node: ast.stmt) -> str:
    value = node.value if isinstance(node, ast.Expr) else None
    text = value.value if isinstance(value, ast.Constant) else None
    return " ".join(text.split()).replace("|", "\\|") if isinstance(text, str) else ""


def _number(node: ast.stmt) -> float | int | None:
    """Return the value of an assignment if it is a number or a product of numbers, else None."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    return _product(value) if value else None


def _product(value: ast.expr) -> float | int | None:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        left, right = _product(value.left), _product(value.right)
        return left * right if left is not None and right is not None else None
    number = value.value if isinstance(value, ast.Constant) else None
    return number if isinstance(number, int | float) and not isinstance(number, bool) else None
