"""All texts of the page stand in its tables, in every language, and all of them are used."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

from shared import errors

STATIC = Path(__file__).parents[2] / "shared" / "playground" / "static"
TEXTS = STATIC / "texts"
TABLES = sorted(path.relative_to(TEXTS).with_suffix("").as_posix() for path in TEXTS.rglob("*.js"))
"""Languages, and `workbench/` with those in which the workbench speaks."""
_ENTRY = re.compile(r'^  "([\w.]+)": (.+),$', re.MULTILINE)
_FORM = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*")')
_NAME = re.compile(r"\{(\w+)\}")

_TOKEN = re.compile(
    r"/\*.*?\*/|//[^\n]*"
    # A regular expression, by what stands before it.
    r"|(?:(?<=[(,=:\[!&|?;])|(?<=return)|(?<==>))\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|(?:html)?`|[{}]",
    re.DOTALL,
)
_IN_TEMPLATE = re.compile(r"\\.|`|\$\{", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_SPOKEN = re.compile(r'\b(?:aria-label|title|placeholder|alt|label)="([^"]*)"')
_WORD = re.compile(r"[^\W\d_]{2}")
_PROSE = re.compile(r"[A-Z][a-z]+|[A-Z“].*\s.*|.*[a-z]{2,}\s[a-z]{2,}.*[.:?!]|\s[A-Z][a-z]+\s.*")
_NAMES = re.compile(
    # What is called so everywhere: products, keys, headers, code, and what the app names its steps.
    r"Switchboard|Swagger( 2\.0)?|OpenAPI|Bearer .*|Enter|Shift \+ Enter|Alt( \+ [NR])?|Escape|Home|End|Files"
    r"|Authorization|Arrow\w+|Key[NR]"
    r"|### Task:.*|Original user query|Attached files"
    r"|Generated search query|Unverified citations|Results|Prompt|Reasoning|Safety|\w+Exception|\w+Error|ms"
    r"|Markdown|JSON|English|Deutsch|Français|Español|العربية|日本語|TABLE"
)


_SHARED = STATIC.parents[1]
REASONS: dict[str, list[str]] = json.loads((_SHARED / "wire" / "reasons.json").read_bytes())
CODES = {str(found) for kind in vars(errors).values() if (found := getattr(kind, "code", None))}
NOT_SHOWN = {"stopped", "begun_anew", "key_reused", "request_timeout", "overloaded", "not_configured"}
"""Codes that the page takes for others, or that end nothing for its reader."""


@cache
def table_of(name: str) -> dict[str, dict[str, str]]:
    """The texts of a table by the forms of their plurals; one that counts nothing has only `other`."""
    entries = _ENTRY.findall((TEXTS / f"{name}.js").read_text(encoding="utf-8"))
    return {
        key: {form: json.loads(text) for form, text in _FORM.findall(value if value[0] == "{" else f"other: {value}")}
        for key, value in entries
    }


@cache
def _literals() -> tuple[tuple[str, str, str], ...]:
    """The strings and templates of the page's code: module, kind and text, with a NUL for each value in it."""
    paths = [path for path in sorted(STATIC.rglob("*.js")) if {"vendor", "texts"}.isdisjoint(path.parts)]
    found: list[tuple[str, str, str]] = []
    for path in paths:
        literals: list[tuple[str, str]] = []
        _read_code(path.read_text(encoding="utf-8"), 0, literals)
        found += [(path.relative_to(STATIC).as_posix(), kind, text) for kind, text in literals]
    return tuple(found)


def _read_code(source: str, at: int, literals: list[tuple[str, str]]) -> int:
    """Collect the literals from a place on; return where the brace closes that was open there."""
    depth = 0
    while token := _TOKEN.search(source, at):
        at = token.end()
        match token[0]:
            case "{":
                depth += 1
            case "}" if not depth:
                return at
            case "}":
                depth -= 1
            case "`" | "html`":
                at = _read_template(source, at, token[0][:-1], literals)
            case text if text[0] in "\"'":
                literals.append(("", text[1:-1]))
            case _:
                pass
    return at


def _read_template(source: str, at: int, kind: str, literals: list[tuple[str, str]]) -> int:
    text = ""
    while token := _IN_TEMPLATE.search(source, at):
        text += source[at : token.start()]
        at = token.end()
        if token[0] == "`":
            literals.append((kind or "template", text))
            return at
        if token[0] == "${":
            text += "\0"
            at = _read_code(source, at, literals)
    raise AssertionError("A template has no end.")


def _texts(kind: str, literal: str) -> Iterator[str]:
    """What a reader would see or hear of a literal."""
    if kind == "html" or (kind == "template" and "</" in literal):
        without_code = re.sub(r"<(code|kbd)>[^<]*</\1>", "", literal)
        yield from (found for found in _SPOKEN.findall(without_code) if _WORD.search(found))
        yield from (text for text in re.split(r"\0", _TAG.sub("\0", without_code)) if _WORD.search(text))
    elif _PROSE.fullmatch(literal.replace("\0", " x ") if kind == "template" else literal):
        yield literal


def test_no_text_stands_outside_the_tables() -> None:
    """A text in the code would be English for all readers."""
    outside = [
        f"{module}: {text.strip()!r}"
        for module, kind, literal in _literals()
        for text in _texts(kind, literal)
        if not _NAMES.fullmatch(text.strip())
    ]
    assert not outside, "Put these into texts/en.js and the other languages:\n" + "\n".join(outside)


def test_every_text_is_used() -> None:
    """A text that nothing shows is still translated into every language."""
    literals = {text for _, kind, text in _literals() if not kind} | {f"error.{code}" for code in (*CODES, *REASONS)}
    assert not [key for key in table_of("en") | table_of("workbench/en") if key not in literals]


@pytest.mark.parametrize("code", sorted({*REASONS, *CODES} - NOT_SHOWN))
def test_the_page_has_a_text_for_all_that_the_app_may_say_of_an_error(code: str) -> None:
    """Without one it would be English for all readers, or say less than the app knows."""
    text = table_of("en")[f"error.{code}"]["other"]
    known = {name for part in REASONS.get(code, ()) for name in re.findall(r"{(\w+)", part)} | {"until"}
    assert set(_NAME.findall(text)) <= known


@pytest.mark.parametrize("table", TABLES)
def test_a_language_has_every_text_with_its_values_and_plurals(table: str) -> None:
    """A missing text, value or plural form would be seen only by readers of that language."""
    english, texts = table_of(PurePosixPath(table).with_name("en").as_posix()), table_of(table)
    assert set(texts) == set(english)
    for key, forms in texts.items():
        wanted = set(_NAME.findall(english[key]["other"]))
        for form, text in forms.items():
            left_out = wanted - set(_NAME.findall(text))
            assert not left_out or (form in {"zero", "one", "two"} and left_out == {"n"}), (table, key, form)
            assert set(_NAME.findall(text)) <= wanted, (table, key, form)
            assert text == text.strip() != "", (table, key, form)
            assert text.count("`") == english[key]["other"].count("`"), (table, key, form)
        if len(english[key]) > 1:
            assert {"one", "other"} <= set(forms), (table, key)


def test_the_page_offers_each_language_that_has_texts() -> None:
    """A table that no reader can choose is of no use, and a language without one is English."""
    offered = re.search(r"LANGUAGES = \{(.*)\}", (STATIC / "texts.js").read_text(encoding="utf-8"))
    assert offered
    languages = sorted(re.findall(r"(\w+): ", offered[1]))
    assert [*languages, *(f"workbench/{language}" for language in languages)] == TABLES
