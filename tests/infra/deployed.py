"""What a deployment gives the app, worked out from the text of `main.bicep` for given parameters."""

from collections.abc import Mapping

from tools.bicep import INFRA, BicepFile, Node, properties, text, walk

MAIN = BicepFile(INFRA / "main.bicep")
APP = BicepFile(INFRA / "modules" / "function-app.bicep")

IDENTITY = "33333333-3333-3333-3333-333333333333"
"""The client id of the app's identity."""

type Value = str | bool

PROPERTIES: Mapping[str, str] = {
    "endpoint": "https://service.example.com/",
    "blob": "https://documents.blob.example.com/",
    "blobEndpoint": "https://st.blob.example.com/",
    "queueEndpoint": "https://st.queue.example.com/",
    "requestsQueue": "chat-requests",
    "answersQueue": "chat-answers",
    "tableEndpoint": "https://st.table.example.com/",
    "eventsQueue": "content-events",
    "tenantId": "22222222-2222-2222-2222-222222222222",
    "loginEndpoint": "https://login.example.com/",
    "ConnectionString": "InstrumentationKey=00000000-0000-0000-0000-000000000000",
    "name": "name",
    "url": "https://func.example.com",
    "id": "id",
    "storage": "core.windows.net",
}
"""What stands for a property that only Azure knows, by its name."""


class Refused(Exception):
    """The deployment says itself that it cannot be."""


def app_settings(**parameters: Value) -> dict[str, str]:
    """The app's settings in Azure, for parameters of `main.bicep`.

    Raises:
        Refused: it fails with these.
    """
    from_main = properties(MAIN.of("module")["app"].body["params"])["settings"]
    of_app = APP.of("resource")["appSettings"].body["properties"]
    found = {key: value_of(node, parameters) for key, node in first_object(from_main).items()}
    found |= {key: value_of(node, {"identityClientId": IDENTITY}) for key, node in first_object(of_app).items()}
    return {key: str(value) for key, value in found.items()}


def outputs(**parameters: Value) -> dict[str, str]:
    """What azd keeps of the deployment, as `azd env get-values` prints it."""
    found = {name: one.value for name, one in MAIN.of("output").items()}
    return {name: str(value_of(node, parameters)) for name, node in found.items() if node is not None}


def first_object(node: Node) -> dict[str, Node]:
    """The first object in a node: what is always set, before what operators add."""
    return properties(next(one for one in walk(node) if one.type == "object"))


def value_of(node: Node, parameters: Mapping[str, Value]) -> Value:
    """The value of an expression; of what only Azure knows, something in its place."""
    inner = [child for child in node.named_children if child.type != "comment"]
    match node.type:
        case "string":
            parts = (text(one) if one.type == "string_content" else _joined(one, parameters) for one in inner)
            return "".join(parts)
        case "identifier":
            return _named(text(node), parameters)
        case "boolean":
            return text(node) == "true"
        case "number":
            return text(node)
        case "ternary_expression":
            condition, yes, no = inner
            return value_of(yes if value_of(condition, parameters) else no, parameters)
        case "binary_expression":
            same = value_of(inner[0], parameters) == value_of(inner[1], parameters)
            return same if text(node.children[1]) == "==" else not same
        case "unary_expression":
            return not value_of(inner[0], parameters)
        case "call_expression":
            return _called(text(inner[0]), inner[1], parameters)
        case "member_expression":
            return _property(node, parameters)
        case other:
            raise NotImplementedError(f"{other}: {text(node)}")


def _joined(interpolation: Node, parameters: Mapping[str, Value]) -> str:
    return str(value_of(interpolation.named_children[0], parameters))


def _named(name: str, parameters: Mapping[str, Value]) -> Value:
    if name in parameters:
        return parameters[name]
    declared = MAIN.of("param").get(name) or MAIN.of("var")[name]
    if declared.value is None:
        return name
    return value_of(declared.value, parameters)


def _called(function: str, arguments: Node, parameters: Mapping[str, Value]) -> Value:
    match function:
        case "string":  # of a boolean, as Azure Resource Manager writes it
            return str(value_of(arguments.named_children[0], parameters))
        case "empty":
            return not value_of(arguments.named_children[0], parameters)
        case "contains":  # of two texts
            whole, part = (value_of(argument, parameters) for argument in arguments.named_children)
            return isinstance(whole, str) and isinstance(part, str) and part in whole
        case "fail":
            raise Refused(value_of(arguments.named_children[0], parameters))
        case "toLower" | "uniqueString":
            return "token"
        case other:
            raise NotImplementedError(other)


def _property(node: Node, parameters: Mapping[str, Value]) -> Value:
    """Of `a ? b : c.d` the parser makes `(a ? b : c).d`; Bicep does not."""
    inside = node
    while inside.type == "member_expression":
        inside = inside.named_children[0]
    if inside.type == "ternary_expression":
        condition, yes, _ = inside.named_children
        if value_of(condition, parameters):
            return value_of(yes, parameters)
    return PROPERTIES[text(node.named_children[-1])]
