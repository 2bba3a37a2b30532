"""Checks the arguments of a call against the tool's JSON schema, before anybody is asked and anything is sent.

It knows what schemas of tools use. Other keywords are left to the server, `pattern` among them: a hostile expression
could take for ever. References lead within the schema only.
"""

from collections.abc import Callable, Iterator, Mapping
from operator import ge, gt, le, lt
from urllib.parse import unquote

from shared.chat_types import Json

_DEEPEST = 32
"""Levels of values, and of schemas behind references."""
_MOST_STEPS = 10_000
"""Schemas that one check looks at."""
_CHOICES_A_STEP = 20
"""Values of an `enum` that take as long to compare as a schema takes."""
_LONGEST_SHOWN = 200

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}


def problem_in(arguments: Mapping[str, Json], schema: Mapping[str, Json]) -> str:
    """Say what is wrong with arguments, as a sentence for the model; empty if they fit."""
    check = _Check(schema)
    try:
        return next(check.problems(dict(arguments), dict(schema), "arguments", 0), "")
    except RecursionError:
        return "The arguments cannot be checked: they or their schema are nested too deeply."


def is_deeper(value: Json, levels: int) -> bool:
    """Whether a value has more levels of lists and objects."""
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(is_deeper(one, levels - 1) for one in inside)


def for_models(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return a schema as OpenAI takes it: objects have `properties` and lists `items`, and nothing is null.

    At its top there are no alternatives: what they name are arguments, and the whole schema is checked with each call.
    """
    whole = _for_models({key: value for key, value in schema.items() if key not in ("enum", "const", "not")})
    own = whole["properties"] = dict(_mapping(whole.get("properties")))
    for part in (part for key in _PARTS for part in _listed(whole, key)):
        for name, value in _mapping(_mapping(part).get("properties")).items():
            own.setdefault(name, value)
    return {key: value for key, value in whole.items() if key not in _PARTS}


def _for_models(schema: Json) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key, value in _mapping(schema).items():
        if key in _OF_NAMES:
            made[key] = {name: _part(one) for name, one in _mapping(value).items()}
        elif key in (*_PARTS, "prefixItems") and isinstance(value, list):
            made[key] = [_part(one) for one in value]
        elif key in _WITHIN:
            made |= {} if value is None else {key: _part(value)}
        elif value is not None or key in ("const", "default"):
            made[key] = value
    kinds = made.get("type")
    for kind, key in (("object", "properties"), ("array", "items")):
        if kind in (kinds if isinstance(kinds, list) else [kinds]):
            made.setdefault(key, {})
    return made


def _part(schema: Json) -> Json:
    return schema if isinstance(schema, bool | list) else _for_models(schema)


def _mapping(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


_PARTS = ("allOf", "anyOf", "oneOf")
_OF_NAMES = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_WITHIN = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"})
"""Keywords whose values are schemas: lists of them, mappings of names to them, and one."""


class _Check:
    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        self._steps = 0

    def problems(self, value: Json, schema: Json, place: str, depth: int) -> Iterator[str]:
        """Yield what is wrong with a value."""
        choices = schema.get("enum") if isinstance(schema, dict) else None
        self._steps += 1 + (len(choices) // _CHOICES_A_STEP if isinstance(choices, list) else 0)
        if depth > _DEEPEST or self._steps > _MOST_STEPS:
            raise RecursionError
        if schema is False:
            yield f"{place} should not be there."
        if not isinstance(schema, dict) or (value is None and schema.get("nullable") is True):
            return
        yield from _of_itself(value, schema, place)
        if isinstance(value, dict):
            yield from self._in_object(value, schema, place, depth)
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.problems(item, schema.get("items"), f"{place}[{index}]", depth + 1)
        yield from self._in_parts(value, schema, place, depth)

    def _in_parts(self, value: Json, schema: dict[str, Json], place: str, depth: int) -> Iterator[str]:
        """Yield what is wrong by the schemas that a schema is made of."""
        reference = schema.get("$ref")
        referred_to = [referred(self._root, reference)] if isinstance(reference, str) else []
        for part in (*referred_to, *_listed(schema, "allOf")):
            yield from self.problems(value, part, place, depth + 1)
        for key in ("anyOf", "oneOf"):
            found = [next(self.problems(value, one, place, depth + 1), "") for one in _listed(schema, key)]
            if found and all(found):
                yield f"{place} fits none of the choices. {found[0]}"

    def _in_object(self, value: dict[str, Json], schema: Mapping[str, Json], place: str, depth: int) -> Iterator[str]:
        known = schema.get("properties")
        properties = known if isinstance(known, dict) else {}
        for name in _listed(schema, "required"):
            if isinstance(name, str) and name not in value:
                yield f"{place}.{name} is missing."
        others = schema.get("additionalProperties")
        for name, item in value.items():
            if name in properties:
                yield from self.problems(item, properties[name], f"{place}.{name}", depth + 1)
            elif others is False and "patternProperties" not in schema:
                yield f"{place}.{name[:_LONGEST_SHOWN]} is not known; there are: {', '.join(properties)}."
            else:
                yield from self.problems(item, others, f"{place}.{name[:_LONGEST_SHOWN]}", depth + 1)


def referred(root: Mapping[str, Json], reference: str) -> Json:
    """Return what a reference within a document leads to; None if it leads elsewhere or nowhere."""
    found: Json = dict(root)
    head, *steps = reference.split("/")
    if head != "#":
        return None
    for step in steps:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _listed(schema: Mapping[str, Json], key: str) -> list[Json]:
    value = schema.get(key)
    return value if isinstance(value, list) else []


def _of_itself(value: Json, schema: Mapping[str, Json], place: str) -> Iterator[str]:
    """Yield what is wrong with a value whatever is in it."""
    kinds = schema.get("type")
    wanted = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(kind, str)]
    if wanted and not any(_is(value, kind) for kind in wanted):
        yield f"{place} should be of type {' or '.join(wanted)}."
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(choices, list) and not any(_same(value, choice) for choice in choices):
        yield f"{place} should be one of {', '.join(map(repr, choices))[:_LONGEST_SHOWN]}."
    for key, kind, is_wrong, words in _LIMITS:
        limit, size = schema.get(key), len(value) if isinstance(value, str | list) else value
        if isinstance(value, bool) or not isinstance(value, kind) or not isinstance(size, int | float):
            continue
        if isinstance(limit, int | float) and is_wrong(size, limit):
            yield f"{place} should {words} {limit}."


def _is(value: Json, kind: str) -> bool:
    if isinstance(value, bool) and kind in ("integer", "number"):
        return False
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _same(one: Json, other: Json) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


_LIMITS: tuple[tuple[str, tuple[type, ...], Callable[[float, float], bool], str], ...] = (
    ("minimum", _TYPES["number"], lt, "be at least"),
    ("maximum", _TYPES["number"], gt, "be at most"),
    ("exclusiveMinimum", _TYPES["number"], le, "be more than"),
    ("exclusiveMaximum", _TYPES["number"], ge, "be less than"),
    ("minLength", _TYPES["string"], lt, "have characters, at least"),
    ("maxLength", _TYPES["string"], gt, "have characters, at most"),
    ("minItems", _TYPES["array"], lt, "have items, at least"),
    ("maxItems", _TYPES["array"], gt, "have items, at most"),
)
"""Keywords with a limit: values that have it, when one is wrong (by its size, or as a number), and words for it."""
