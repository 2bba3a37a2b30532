"""Check the Bicep files in `infra/`: syntax, names, and the parameters and outputs of modules.

This is not Bicep's compiler, which is not available as a Python package: types and Azure's own rules are not checked.
"""

import re
import sys
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

INFRA = Path(__file__).resolve().parent.parent / "infra"

FUNCTIONS = frozenset(
    {
        *("allowed", "batchSize", "concat", "contains", "description", "empty", "environment", "fail", "guid", "join"),
        *("loadJsonContent", "loadTextContent", "map", "replace", "utcNow"),
        *("maxLength", "maxValue", "minLength", "minValue", "resourceGroup", "split", "string", "subscription"),
        *("subscriptionResourceId", "tenant", "toLower", "trim", "union", "uniqueString"),
    }
)
"""Functions and decorators of Bicep that the files use. Add a function here when a file first uses it."""

KNOWN_AT_START = frozenset({"apiVersion", "id", "name", "type"})
"""Properties of a resource that are known before its deployment."""

_PARSER = Parser(Language(tree_sitter_bicep.language()))


@dataclass(frozen=True, slots=True)
class Declaration:
    """A parameter, variable, resource, module or output."""

    kind: str
    """The keyword: `param`, `var`, `resource`, `module` or `output`."""
    name: str
    """The name after the keyword."""
    node: Node
    """The syntax tree of the whole declaration."""
    decorators: tuple[str, ...]
    """Decorators above the declaration, without the `@`."""

    @property
    def value(self) -> Node | None:
        """The expression after the `=`; None if there is none."""
        after = False
        for child in self.node.children:
            if after and child.is_named and child.type != "comment":
                return child
            after = after or child.type == "="
        return None

    @property
    def head(self) -> str:
        """The type and API version of a resource, or the file of a module."""
        return text(self.node.named_children[1])[1:-1]

    @property
    def is_existing(self) -> bool:
        """Whether the resource is declared `existing`, so that it is only looked up."""
        return any(child.type == "existing" for child in self.node.children)

    @property
    def body(self) -> dict[str, Node]:
        """The properties of a resource or module, also inside a loop or a condition."""
        return properties(next(node for node in walk(self.node) if node.type == "object"))


class BicepFile:
    """One parsed Bicep file.

    Args:
        path: Path of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = path.read_bytes()
        self.root = _PARSER.parse(self.source).root_node

    @cached_property
    def declared(self) -> list[Declaration]:
        """All declarations of the file, in order."""
        found: list[Declaration] = []
        decorators: list[str] = []
        for node in self.root.named_children:
            if node.type == "decorators":
                decorators += [text(child)[1:] for child in node.named_children]
            elif node.type.endswith("_declaration"):
                kind, name = text(node.children[0]), text(node.named_children[0])
                found.append(Declaration(kind, name, node, tuple(decorators)))
                decorators = []
        return found

    @cached_property
    def declarations(self) -> dict[str, Declaration]:
        """The declarations by `kind name`, since an output may have the name of another declaration."""
        return {f"{one.kind} {one.name}": one for one in self.declared}

    @cached_property
    def scope(self) -> str:
        """Target scope of the deployment, such as `resourceGroup`."""
        found = re.search(r"^targetScope = '(\w+)'", text(self.root), re.MULTILINE)
        return found[1] if found else "resourceGroup"

    def of(self, kind: str) -> dict[str, Declaration]:
        """Return the declarations of one kind, by name."""
        return {one.name: one for one in self.declarations.values() if one.kind == kind}

    def module_file(self, module: Declaration) -> Path:
        """Return the path of a module's file."""
        return self.path.parent / module.head


def problems(path: Path) -> Iterator[str]:
    """Yield the problems in a file, each as `file:line: problem`."""
    file = BicepFile(path)
    for check in (_syntax, _names, _twice, _modules, _loaded, _scopes, _conditions, _at_start):
        for node, what in check(file):
            yield f"{path.name}:{node.start_point[0] + 1}: {what}"


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it."""
    yield node
    for child in node.children:
        yield from walk(child)


def text(node: Node) -> str:
    """Return the source text of a node."""
    return (node.text or b"").decode()


def properties(node: Node) -> dict[str, Node]:
    """Return the values of an object by their keys."""
    pairs = [child.named_children for child in node.named_children if child.type == "object_property"]
    return {text(pair[0]).strip("'"): pair[-1] for pair in pairs}


def _syntax(file: BicepFile) -> Iterator[tuple[Node, str]]:
    for node in walk(file.root):
        if node.type == "ERROR" or node.is_missing:
            yield node, f"is no Bicep: {text(node)[:40]!r}"


def _names(file: BicepFile) -> Iterator[tuple[Node, str]]:
    """Find names without a declaration, and declarations without a use."""
    known = {one.name for one in file.declarations.values() if one.kind != "output"}
    used: set[str] = set()
    for node in _uses(file.root):
        name = text(node)
        is_call = node.parent is not None and node.parent.type == "call_expression"
        if name in _local_names(node):
            continue
        used.add(name)
        if name not in (FUNCTIONS if is_call and name not in known else known):
            yield node, f"{name} is not declared"
    for one in file.declarations.values():
        if one.kind in {"param", "var"} and one.name not in used:
            yield one.node, f"{one.name} is not used"
        elif one.is_existing and one.name not in used:
            yield one.node, f"{one.name} is looked up and not used"


def _twice(file: BicepFile) -> Iterator[tuple[Node, str]]:
    """Find duplicate declarations, duplicate keys, and resources with the same name in the same scope."""
    for node, (_, name) in _repeated(((one.kind == "output", one.name), one.node) for one in file.declared):
        yield node, f"{name} is declared twice"
    for node in walk(file.root):
        pairs = [child for child in node.named_children if child.type == "object_property"]
        for pair, key in _repeated((text(pair.named_children[0]).strip("'"), pair) for pair in pairs):
            yield pair, f"{key} is set twice"
    for node, (_, _, name) in _repeated(_made(file)):
        yield node, f"{name} is made twice"


def _repeated[K: Hashable](items: Iterable[tuple[K, Node]]) -> Iterator[tuple[Node, K]]:
    seen: set[K] = set()
    for key, node in items:
        if key in seen:
            yield node, key
        seen.add(key)


def _made(file: BicepFile) -> Iterator[tuple[tuple[str, tuple[str, ...], str], Node]]:
    """Yield the type, scope and name of each resource and module; not those in loops, whose names differ."""
    for one in file.declared:
        is_loop = any(node.type == "for_statement" for node in walk(one.node))
        if one.kind in {"resource", "module"} and not one.is_existing and not is_loop and "name" in one.body:
            kind = one.head.partition("@")[0] if one.kind == "resource" else one.kind
            where = tuple(text(one.body[key]) for key in ("scope", "parent") if key in one.body)
            yield (kind, where, text(one.body["name"])), one.node


def _uses(root: Node) -> Iterator[Node]:
    """Yield each identifier that refers to a declaration."""
    for node in walk(root):
        parent = node.parent
        if node.type != "identifier" or parent is None:
            continue
        is_name = parent.type.endswith("_declaration") and parent.named_children[0] == node
        is_key = parent.type == "object_property" and parent.named_children[0] == node
        if not is_name and not is_key and parent.type != "type":
            yield node


def _local_names(node: Node) -> set[str]:
    """Return the variables of the loops and lambdas around a node."""
    names: set[str] = set()
    around = node.parent
    while around is not None:
        if around.type == "for_statement":
            head = around.named_children[0]
            names |= {text(one) for one in walk(head) if not one.children}
        elif around.type == "lambda_expression":
            names |= {text(one) for one in around.named_children[:-1]}
        around = around.parent
    return names


def _modules(file: BicepFile) -> Iterator[tuple[Node, str]]:
    """Find missing module files, unknown and missing parameters of modules, and uses of outputs that do not exist."""
    outputs: dict[str, set[str]] = {}
    for module in file.of("module").values():
        if not file.module_file(module).is_file():
            yield module.node, f"there is no {module.head}"
            continue
        inner = BicepFile(file.module_file(module))
        outputs[module.name] = set(inner.of("output"))
        given = properties(module.body["params"]).keys() if "params" in module.body else set[str]()
        wanted = {name for name, one in inner.of("param").items() if one.value is None}
        for name in sorted(given - inner.of("param").keys()):
            yield module.node, f"{module.head} has no parameter {name}"
        for name in sorted(wanted - given):
            yield module.node, f"{module.head} is not given {name}"
    for node in walk(file.root):
        match text(node).replace("!", "").split(".") if node.type == "member_expression" else ():
            case [name, "outputs", output] if name in outputs and output not in outputs[name]:
                yield node, f"{name} has no output {output}"
            case _:
                pass


def _loaded(file: BicepFile) -> Iterator[tuple[Node, str]]:
    """Find files that are to be loaded and do not exist."""
    for node in walk(file.root):
        if node.type == "call_expression" and text(node.named_children[0]) in {"loadJsonContent", "loadTextContent"}:
            name = text(node.named_children[1]).strip("()'")
            if not (file.path.parent / name).is_file():
                yield node, f"there is no {name}"


def _scopes(file: BicepFile) -> Iterator[tuple[Node, str]]:
    """Find modules without a `scope` whose target scope differs from the file's."""
    for module in file.of("module").values():
        path = file.module_file(module)
        if path.is_file() and BicepFile(path).scope != file.scope and "scope" not in module.body:
            yield module.node, f"{module.name} needs a scope: {module.head} is for a {BicepFile(path).scope}"


def _conditions(file: BicepFile) -> Iterator[tuple[Node, str]]:
    """Find uses of conditional resources and modules without `!` or `?`."""
    for node, one, guarded, member in _members(file):
        is_conditional = one.value is not None and one.value.type == "if_statement"
        if is_conditional and not guarded and member not in KNOWN_AT_START:
            yield node, f"{one.name} may not be there: {one.name}!.{member}"


def _at_start(file: BicepFile) -> Iterator[tuple[Node, str]]:
    """Find names, scopes, conditions and loops that use values known only after the deployment."""
    late = {node.id: f"{one.name}.{member}" for node, one, _, member in _members(file) if member not in KNOWN_AT_START}
    for declaration in (*file.of("resource").values(), *file.of("module").values()):
        for expression in _needed_at_start(declaration):
            for node in _with_variables(file, expression):
                if node.id in late:
                    yield expression, f"{declaration.name} has to be known at the start, and {late[node.id]} is not"


def _needed_at_start(declaration: Declaration) -> Iterator[Node]:
    yield from (declaration.body[key] for key in ("name", "scope") if key in declaration.body)
    value = declaration.value
    if value is not None and value.type == "if_statement":
        yield value.named_children[0]
    for node in walk(declaration.node):
        if node.type == "for_statement":
            yield from node.named_children[:-1]


def _with_variables(file: BicepFile, node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, also in the values of the variables that it uses."""
    variables = file.of("var")
    for one in walk(node):
        yield one
        if one.type == "identifier" and text(one) in variables and text(one) not in _local_names(one):
            value = variables[text(one)].value
            if value is not None:
                yield from _with_variables(file, value)


def _members(file: BicepFile) -> Iterator[tuple[Node, Declaration, bool, str]]:
    """Yield each access to a property of a resource or module, with whether it has a `!` or `?`.

    The property is read from the text, since the parser groups the branches of `? :` differently from Bicep.
    """
    declared = file.of("resource") | file.of("module")
    for node in _uses(file.root):
        member = re.match(rb"(!?)\.(\??)(\w+)", file.source[node.end_byte :])
        if member and text(node) in declared and text(node) not in _local_names(node):
            yield node, declared[text(node)], bool(member[1] or member[2]), member[3].decode()


def main() -> None:
    """Check every file below `infra/`."""
    found = [problem for path in sorted(INFRA.rglob("*.bicep")) for problem in problems(path)]
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
