"""Codes and values beside the app's sentences: each is found again, and belongs to a sentence that the app says."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

import shared
from shared.wire.reasons import reason_of

SHARED = Path(shared.__file__).parent
PARTS = msgspec.json.decode((SHARED / "wire" / "reasons.json").read_bytes(), type=dict[str, list[str]])
ALL = [(code, part) for code, parts in PARTS.items() for part in parts]
_SHORT = 12
"""Characters of a text that says too little to be a sentence."""
_VALUE = re.compile(r"\{(\w+)(:d)?\}")


@cache
def said() -> str:
    """All texts of the app's code, one a line, with a NUL for each value in them."""
    lines: list[str] = []
    for path in SHARED.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lines += ["".join(_pieces(node)) for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr)]
    failures = (SHARED / "outbound" / "failures.json").read_text(encoding="utf-8")
    return "\n".join((*lines, failures))


def _pieces(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.JoinedStr(values=values):
            for value in values:
                yield from _pieces(value)
        case ast.Constant(value=str(text)):
            yield text
        case _:
            yield "\0"


@pytest.mark.parametrize(("code", "part"), ALL, ids=[part for _, part in ALL])
def test_a_sentence_has_its_code_and_its_values(code: str, part: str) -> None:
    values = {name: 12_000 if number else "some words" for name, number in _VALUE.findall(part)}
    shown = {name: f"{value:,}" if isinstance(value, int) else value for name, value in values.items()}
    sentence = _VALUE.sub(lambda value: shown[value[1]], part)
    assert reason_of(f"messages[0].files[0] ('a.pdf') {sentence} And more.") == {"reason": code, "values": values}


@pytest.mark.parametrize("part", [part for _, part in ALL])
def test_the_app_says_each_sentence(part: str) -> None:
    """One that was written anew in the code would lose its code, and be English for all readers."""
    pattern = ".+".join(re.escape(piece) for piece in _VALUE.sub("\0", part).split("\0"))
    filled = (line.split("\0") for line in said().splitlines() if "\0" in line and len(line) > _SHORT)
    assert re.search(pattern, said()) or any(
        re.fullmatch(".+".join(map(re.escape, pieces)), part) for pieces in filled
    ), "Change the sentence in reasons.json as well"


@pytest.mark.parametrize("sentence", ["", "The model's service is busy.", "is empty", "You have x chats", "x" * 5_000])
def test_any_other_sentence_has_the_code_of_its_error_alone(sentence: str) -> None:
    assert reason_of(sentence) == {}


def test_a_value_is_bounded() -> None:
    assert reason_of(f"is in the format {'x' * 201}, which cannot be read; save it as .docx.") == {}
