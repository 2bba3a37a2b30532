"""The table of protocols. Routes, inference on bare routes, settings, documents and tests all derive from it.

Protocols that only a route selects are imported when one is looked up: most apps have one kind of client, and a cold
start should not pay for the others.
"""

from collections.abc import Collection, Iterator, Mapping
from importlib import import_module

import msgspec

from shared.chat_types import Json
from shared.errors import BadRequest, NotConfigured, NotFound
from shared.wire.ai_chat import AI_CHAT, AI_CHAT_2024_05_29, AI_CHAT_2026_04, AI_CHAT_PAGE
from shared.wire.ai_chat_2024_01_28 import AI_CHAT_2024_01_28
from shared.wire.framing import encode_json
from shared.wire.multipart import FormReader, is_form
from shared.wire.protocol import Protocol
from shared.wire.request_body import BODY_LIMIT, EXAMPLE, FILES_BODY_LIMIT, BodyReader, JsonReader
from shared.wire.semantic_kernel import SEMANTIC_KERNEL
from shared.wire.semantic_kernel_python import SEMANTIC_KERNEL_PYTHON

_INFERRED = (
    AI_CHAT,
    AI_CHAT_2026_04,
    AI_CHAT_2024_05_29,
    AI_CHAT_2024_01_28,
    SEMANTIC_KERNEL,
    SEMANTIC_KERNEL_PYTHON,
)
"""The protocols that a request on a bare route may speak. Inference asks them in this order."""

LATE = {
    "openai": "shared.wire.openai.OPENAI",
    "azure-openai": "shared.wire.azure_openai.AZURE_OPENAI",
    "openai-responses": "shared.wire.openai_responses.OPENAI_RESPONSES",
    "ag-ui": "shared.wire.ag_ui.AG_UI",
    "ai-sdk": "shared.wire.ai_sdk.AI_SDK",
}
"""By name, where a protocol is that only a route selects. It infers nothing, and has no alias."""
_UNLISTED = {"activity": "shared.wire.activity.ACTIVITY"}
"""The same of a protocol of no route that names one: of runs that a route of its own begins."""


class _Table(Mapping[str, Protocol]):
    """Protocols by name: `LATE` after these. To look one up imports it; to ask for the names does not."""

    def __init__(self, loaded: Mapping[str, Protocol], late: Mapping[str, str] = LATE) -> None:
        self._loaded = loaded
        self._late = late

    def __getitem__(self, name: str) -> Protocol:
        module, _, constant = self._late.get(name, "").rpartition(".")
        return getattr(import_module(module), constant) if module else self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in LATE or name in self._loaded

    def __iter__(self) -> Iterator[str]:
        yield from self._loaded
        yield from LATE

    def __len__(self) -> int:
        return len(self._loaded) + len(LATE)


PROTOCOLS = _Table({protocol.name: protocol for protocol in _INFERRED}, LATE | _UNLISTED)
"""All protocols by name."""

NAMES = _Table({name: protocol for protocol in _INFERRED for name in (protocol.name, *protocol.aliases)})
"""By name and by alias."""

TAKING_FILES = [protocol for protocol in _INFERRED if protocol.takes_files]
"""The protocols with a form of request that carries files; a form on a bare route is the first one's."""


class Resolved(msgspec.Struct, frozen=True):
    """The protocol of one request, as far as the route and the content type decide it."""

    protocol: Protocol
    """The protocol. Where the body decides: the default, which errors use until the body is read."""
    content_type: str
    """The request's header; empty if it has none."""
    by_body: bool = False
    """Whether the body can still select another protocol."""

    def of(self, body: Mapping[str, Json]) -> Protocol:
        """The protocol of the request, once its body is read."""
        if not self.by_body:
            return self.protocol
        return next((protocol for protocol in _INFERRED if protocol.infer(body)), self.protocol)

    def telling_errors(self, protocol: Protocol, messages: Collection[str]) -> Protocol:
        """Return a protocol of the request with errors where its client shows them.

        Args:
            protocol: The protocol.
            messages: The names of those whose errors are messages.
        """
        if protocol is AI_CHAT and not self.by_body:
            return AI_CHAT_PAGE
        return protocol.with_errors_in(messages)

    def reader(self) -> BodyReader:
        """Make the reader for the body: of a form with files, or of JSON.

        Raises:
            BadRequest: it is a form, and the protocol takes no files or the header names no boundary.
        """
        if not is_form(self.content_type):
            own = self.protocol.example
            example = EXAMPLE if "messages" in own else encode_json(own).decode()
            return JsonReader(FILES_BODY_LIMIT if self.protocol.sent_files else BODY_LIMIT, example)
        if not self.protocol.takes_files:
            raise BadRequest(
                f"The protocol '{self.protocol.name}' takes no files: send JSON, or a form to the routes of "
                f"{', '.join(protocol.name for protocol in TAKING_FILES)}."
            )
        return FormReader(self.content_type)


def resolve(name: str | None, content_type: str, default: str, user_agent: str = "") -> Resolved:
    """Resolve the protocol of a request before its body is read.

    Args:
        name: The protocol's name or alias, in any case of letters, if the route names one.
        content_type: The request's header; empty if it has none.
        default: The name of the protocol of a bare route whose body and client select none.
        user_agent: The client's name for itself; empty if it has none.

    Raises:
        NotFound: there is no protocol of that name; lists those there are.
    """
    if name:
        if protocol := NAMES.get(name.lower()):
            return Resolved(protocol, content_type)
        raise NotFound(f"There is no protocol of that name. There are: {', '.join(NAMES)}.")
    if is_form(content_type):
        return Resolved(TAKING_FILES[0], content_type)
    clients = (protocol for protocol in _INFERRED if protocol.user_agent and protocol.user_agent in user_agent)
    return Resolved(next(clients, NAMES[default]), content_type, by_body=True)


DEMO_NAMES = {name: each for each in _INFERRED if each.demo_page for name in (each.name, *each.aliases)}
"""By name and by alias, the protocols that the web page of azure-search-openai-demo speaks."""


def protocol_below(first: str) -> Protocol | None:
    """Return the protocol of paths by their first part: a protocol's name, or `v1` of OpenAI's clients."""
    return NAMES.get("openai" if first == "v1" else first)


def require_demo_protocol(name: str) -> Protocol:
    """Return the protocol that a route of azure-search-openai-demo's web page names.

    Raises:
        NotFound: that page does not speak a protocol of that name; lists those that it speaks.
    """
    if protocol := DEMO_NAMES.get(name.lower()):
        return protocol
    names = ", ".join(DEMO_NAMES)
    raise NotFound(f"azure-search-openai-demo's page speaks no protocol of that name. It speaks: {names}.")


def check_default_protocol(name: str) -> None:
    """Check the setting CHAT_DEFAULT_PROTOCOL. The settings themselves cannot: they are below the protocols.

    Raises:
        NotConfigured: there is no protocol of that name; lists those there are.
    """
    if name not in NAMES:
        *others, last = (f"'{known}'" for known in NAMES)
        raise NotConfigured(f"CHAT_DEFAULT_PROTOCOL: should be {', '.join(others)} or {last}.")
