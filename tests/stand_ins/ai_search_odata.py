"""Filters and sort orders of the stand-in for Azure AI Search: a parser of its OData, as far as apps like ours use it.

    filter = or, and, not, parentheses, comparisons of a field with a constant, field/any(x: …), field/any(),
             search.in(field, 'a,b', ','), true, false

Everything else is refused, as the service refuses what it does not know.

Source: 'OData $filter syntax in Azure AI Search' and the pages that it names.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shared.chat_types import Json
from tests.stand_ins.ai_search_definitions import IndexDefinition, IndexField
from tests.stand_ins.ai_search_documents import Document
from tests.stand_ins.ai_search_refusals import Refusal, invalid_parameter, no_such_field

type Scope = Mapping[str, Json]
"""What the names of a filter mean: a document's fields, and the variable of an `any`."""
type Test = Callable[[Scope], bool]

_CLAUSES = 300
"""Of a filter: the service is said to have trouble with hundreds."""
_DEPTH = 100
_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w.]*)|(?P<sign>[(),:/]))",
    re.ASCII,
)
_RANGES: dict[str, Callable[[Json, Json], bool]] = {
    "gt": lambda left, right: _ordered(left, right, operator.gt),
    "ge": lambda left, right: _ordered(left, right, operator.ge),
    "lt": lambda left, right: _ordered(left, right, operator.lt),
    "le": lambda left, right: _ordered(left, right, operator.le),
}
_COMPARISONS = {"eq", "ne", *_RANGES}


def compile_filter(text: str, definition: IndexDefinition) -> Test:
    """Make a test of a filter.

    Raises:
        Refusal: it is wrong, or asks a field that cannot be filtered.
    """
    return _Parser(_tokens(text), definition).parse()


def sort_keys(orderby: Sequence[str], definition: IndexDefinition) -> list[tuple[str, bool]]:
    """The fields to sort by, each with whether it is descending.

    Raises:
        Refusal: one is unknown or cannot be sorted by.
    """
    keys: list[tuple[str, bool]] = []
    for clause in orderby:
        name, _, direction = clause.strip().partition(" ")
        found = definition.field(name)
        if found is None:
            raise no_such_field(name, "$orderby")
        if not found.allows("sortable"):
            raise invalid_parameter(f"The field '{name}' is not sortable.", "$orderby")
        if direction not in {"", "asc", "desc"}:
            raise invalid_parameter(f"Invalid expression: Syntax error in '{clause}'.", "$orderby")
        keys.append((name, direction == "desc"))
    return keys


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        if found is None or found.lastgroup is None:
            raise _wrong(f"Syntax error at position {position}")
        tokens.append(_Token(found.lastgroup, found[found.lastgroup]))
        position = found.end()
    return tokens


def _wrong(what: str) -> Refusal:
    return invalid_parameter(f"Invalid expression: {what} in the filter.", "$filter")


def _ordered(left: Json, right: Json, compare: Callable[[str, str], bool]) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return compare(left, right)
    return False


class _Parser:
    """Recursive descent over the tokens of one filter."""

    def __init__(self, tokens: list[_Token], definition: IndexDefinition) -> None:
        self._tokens = tokens
        self._at = 0
        self._definition = definition
        self._variable: str | None = None
        self._clauses = 0
        self._depth = 0

    def parse(self) -> Test:
        if not self._tokens:
            raise _wrong("Expression expected")
        test = self._or()
        if self._at < len(self._tokens):
            raise _wrong(f"Syntax error at '{self._tokens[self._at].text}'")
        return test

    def _or(self) -> Test:
        parts = [self._and()]
        while self._take("name", "or"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else lambda scope: any(part(scope) for part in parts)

    def _and(self) -> Test:
        parts = [self._not()]
        while self._take("name", "and"):
            if self._variable:
                raise _wrong("'and' in a lambda expression")
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else lambda scope: all(part(scope) for part in parts)

    def _not(self) -> Test:
        if not self._take("name", "not"):
            return self._primary()
        if self._variable:
            raise _wrong("'not' in a lambda expression of 'any'")
        part = self._primary(negated=True)
        return lambda scope: not part(scope)

    def _primary(self, *, negated: bool = False) -> Test:
        self._clauses += 1
        if self._clauses > _CLAUSES:
            raise _wrong("Too many clauses")
        if self._take("sign", "("):
            self._depth += 1
            if self._depth > _DEPTH:
                raise _wrong("Recursion depth exceeded allowed limit")
            inner = self._or()
            self._expect("sign", ")")
            self._depth -= 1
            return inner
        name = self._expect("name")
        if name in {"true", "false"}:
            return lambda _: name == "true"
        if name == "search.in":
            return self._search_in()
        if self._take("sign", "/"):
            return self._any(name)
        if negated:
            raise _wrong("A unary operator with an incompatible type was detected. Found operand for operator 'Not'")
        return self._comparison(name)

    def _comparison(self, name: str) -> Test:
        self._check_single(name)
        sign = self._expect("name")
        if sign not in _COMPARISONS:
            raise _wrong(f"Syntax error at '{sign}'")
        constant = self._constant()
        if self._variable and sign != "eq":
            raise _wrong("Invalid lambda expression: for 'any', use 'x eq y' or 'search.in(...)'")
        field = None if name == self._variable else self._definition.field(name)
        if constant is not None and not _compatible(field, constant):
            raise _wrong("A binary operator with incompatible types was detected")
        if sign == "eq":
            return lambda scope: scope.get(name) == constant
        if sign == "ne":
            return lambda scope: scope.get(name) != constant
        if constant is None:
            raise _wrong(f"A comparison with null by '{sign}'")
        return lambda scope: _RANGES[sign](scope.get(name), constant)

    def _any(self, name: str) -> Test:
        function = self._expect("name")
        if function != "any" or self._variable:
            raise _wrong(f"Syntax error at '{function}'")
        field = self._filterable(name)
        if field.type != "Collection(Edm.String)":
            raise _wrong(f"'any' on '{name}', which is no collection")
        self._expect("sign", "(")
        if self._take("sign", ")"):
            return lambda scope: bool(scope.get(name))
        variable = self._variable = self._expect("name")
        self._expect("sign", ":")
        inner = self._or()
        self._expect("sign", ")")
        self._variable = None
        return lambda scope: any(inner({variable: value}) for value in _strings(scope.get(name)))

    def _search_in(self) -> Test:
        self._expect("sign", "(")
        name = self._expect("name")
        self._check_single(name)
        self._expect("sign", ",")
        values = _unquoted(self._expect("string"))
        delimiters = " ,"
        if self._take("sign", ","):
            delimiters = _unquoted(self._expect("string"))
        self._expect("sign", ")")
        wanted = set(re.split(f"[{re.escape(delimiters)}]", values) if delimiters else [values]) - {""}
        return lambda scope: scope.get(name) in wanted

    def _check_single(self, name: str) -> None:
        """That a name stands for one value: the variable of the `any`, or a field that can be filtered by."""
        if name == self._variable:
            return
        if self._variable:
            raise _wrong("Only bound field references are supported inside lambda expressions")
        if self._filterable(name).type.startswith("Collection"):
            raise _wrong(f"'{name}' is a collection; use 'any'")

    def _filterable(self, name: str) -> IndexField:
        field = self._definition.field(name)
        if field is None:
            raise no_such_field(name, "$filter")
        if not field.allows("filterable"):
            raise invalid_parameter(f"Invalid expression: '{name}' is not a filterable field.", "$filter")
        return field

    def _constant(self) -> Json:
        token = self._next()
        if token.kind == "string":
            return _unquoted(token.text)
        if token.kind == "number":
            return float(token.text) if "." in token.text else int(token.text)
        constants: dict[str, Json] = {"null": None, "true": True, "false": False}
        if token.text not in constants:
            raise _wrong(f"Syntax error at '{token.text}'")
        return constants[token.text]

    def _next(self) -> _Token:
        if self._at >= len(self._tokens):
            raise _wrong("Expression expected")
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, kind: str, text: str) -> bool:
        here = self._tokens[self._at] if self._at < len(self._tokens) else None
        if here != _Token(kind, text):
            return False
        self._at += 1
        return True

    def _expect(self, kind: str, text: str | None = None) -> str:
        token = self._next()
        if token.kind != kind or (text is not None and token.text != text):
            raise _wrong(f"Syntax error at '{token.text}'")
        return token.text


def _compatible(field: IndexField | None, constant: Json) -> bool:
    if field is None or field.type == "Edm.String":
        return isinstance(constant, str)
    if field.type == "Edm.Boolean":
        return isinstance(constant, bool)
    return isinstance(constant, int | float) and not isinstance(constant, bool)


def _strings(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'")


def passing(documents: Mapping[str, Document], test: Test | None) -> list[str]:
    """The keys of the documents that pass."""
    return [key for key, document in documents.items() if test is None or test(document)]
