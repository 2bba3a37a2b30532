"""Check `infra/` as far as the text of Bicep files tells: syntax, names, and what modules are given and give.

There is no compiler for this machine's Python; what it would say of types and of Azure's own rules stays unsaid.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

INFRA = Path(__file__).resolve().parent.parent / "infra"

FUNCTIONS = frozenset(
    {
        *("allowed", "batchSize", "concat", "description", "empty", "environment", "guid", "map", "maxLength"),
        *("maxValue", "minLength", "minValue", "resourceGroup", "split", "string", "subscription"),
        *("subscriptionResourceId", "tenant", "toLower", "union", "uniqueString"),
    }
)
"""Functions and decorators that Bicep has and that are in use; another one is added here."""

_PARSER = Parser(Language(tree_sitter_bicep.language()))


@dataclass(frozen=True, slots=True)
class Declaration:
    """A parameter, variable, resource, module or output."""

    kind: str
    """The keyword: `param`, `var`, `resource`, `module` or `output`."""
    name: str
    """What it is called."""
    node: Node
    """The whole of it."""
    decorators: tuple[str, ...]
    """What stands above it, without the `@`."""

    @property
    def value(self) -> Node | None:
        """What comes after the `=`, if anything does."""
        after = False
        for child in self.node.children:
            if after and child.is_named and child.type != "comment":
                return child
            after = after or child.type == "="
        return None

    @property
    def head(self) -> str:
        """What a resource or module is of: its type with its API version, or its file."""
        return text(self.node.named_children[1])[1:-1]

    @property
    def is_existing(self) -> bool:
        """Whether it is a resource that is only looked up."""
        return any(child.type == "existing" for child in self.node.children)

    @property
    def body(self) -> dict[str, Node]:
        """The properties of a resource or module, in a loop or under a condition or not."""
        return properties(next(node for node in walk(self.node) if node.type == "object"))


class BicepFile:
    """One file, parsed.

    Args:
        path: Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = _PARSER.parse(path.read_bytes()).root_node

    @cached_property
    def declarations(self) -> dict[str, Declaration]:
        """Everything that the file declares, by `kind name`: an output may be called as something else is."""
        found: dict[str, Declaration] = {}
        decorators: list[str] = []
        for node in self.root.named_children:
            if node.type == "decorators":
                decorators += [text(child)[1:] for child in node.named_children]
            elif node.type.endswith("_declaration"):
                kind, name = text(node.children[0]), text(node.named_children[0])
                found[f"{kind} {name}"] = Declaration(kind, name, node, tuple(decorators))
                decorators = []
        return found

    def of(self, kind: str) -> dict[str, Declaration]:
        """The declarations of one kind, by name."""
        return {one.name: one for one in self.declarations.values() if one.kind == kind}

    def module_file(self, module: Declaration) -> Path:
        """The file that a module names."""
        return self.path.parent / module.head


def problems(path: Path) -> Iterator[str]:
    """What is wrong in a file, each as `file:line: what`."""
    file = BicepFile(path)
    for node, what in [*_syntax(file.root), *_names(file), *_modules(file)]:
        yield f"{path.name}:{node.start_point[0] + 1}: {what}"


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    yield node
    for child in node.children:
        yield from walk(child)


def text(node: Node) -> str:
    """A node as it is written."""
    return (node.text or b"").decode()


def properties(node: Node) -> dict[str, Node]:
    """The values of an object by their keys."""
    pairs = [child.named_children for child in node.named_children if child.type == "object_property"]
    return {text(pair[0]).strip("'"): pair[-1] for pair in pairs}


def _syntax(root: Node) -> Iterator[tuple[Node, str]]:
    for node in walk(root):
        if node.type == "ERROR" or node.is_missing:
            yield node, f"is no Bicep: {text(node)[:40]!r}"


def _names(file: BicepFile) -> Iterator[tuple[Node, str]]:
    """Names that nothing declares, and declarations that nothing uses."""
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


def _uses(root: Node) -> Iterator[Node]:
    """Each identifier that stands for something declared."""
    for node in walk(root):
        parent = node.parent
        if node.type != "identifier" or parent is None:
            continue
        is_name = parent.type.endswith("_declaration") and parent.named_children[0] == node
        is_key = parent.type == "object_property" and parent.named_children[0] == node
        if not is_name and not is_key and parent.type != "type":
            yield node


def _local_names(node: Node) -> set[str]:
    """What loops and lambdas around a node call their items."""
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
    """Modules that are not there, parameters that they do not have or are not given, outputs that they do not give."""
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


def main() -> None:
    """Check every file below `infra/`."""
    found = [problem for path in sorted(INFRA.rglob("*.bicep")) for problem in problems(path)]
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
