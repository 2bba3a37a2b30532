"""The table of protocols. Routes, inference on bare routes, settings, documents and tests all derive from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.chat_types import Json
from shared.errors import BadRequest, NotConfigured, NotFound
from shared.wire.ai_chat import AI_CHAT
from shared.wire.ai_chat_2024_01_28 import AI_CHAT_2024_01_28
from shared.wire.ai_chat_2024_05_29 import AI_CHAT_2024_05_29
from shared.wire.ai_chat_2026_04 import AI_CHAT_2026_04
from shared.wire.multipart import FormReader, is_form
from shared.wire.openai import OPENAI
from shared.wire.protocol import Protocol
from shared.wire.request_body import BodyReader, JsonReader
from shared.wire.semantic_kernel import SEMANTIC_KERNEL
from shared.wire.semantic_kernel_python import SEMANTIC_KERNEL_PYTHON

PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        AI_CHAT,
        AI_CHAT_2026_04,
        AI_CHAT_2024_05_29,
        AI_CHAT_2024_01_28,
        SEMANTIC_KERNEL,
        SEMANTIC_KERNEL_PYTHON,
        OPENAI,
    )
}
"""By name. Inference on bare routes asks them in this order."""

NAMES = {name: protocol for protocol in PROTOCOLS.values() for name in (protocol.name, *protocol.aliases)}
"""By name and by alias."""

TAKING_FILES = [protocol for protocol in PROTOCOLS.values() if protocol.takes_files]
"""The protocols with a form of request that carries files; a form on a bare route is the first one's."""


@dataclass(frozen=True, slots=True)
class Resolved:
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
        return next((protocol for protocol in PROTOCOLS.values() if protocol.infer(body)), self.protocol)

    def reader(self) -> BodyReader:
        """Make the reader for the body: of a form with files, or of JSON.

        Raises:
            BadRequest: it is a form, and the protocol takes no files or the header names no boundary.
        """
        if not is_form(self.content_type):
            return JsonReader()
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
    clients = (protocol for protocol in PROTOCOLS.values() if protocol.user_agent and protocol.user_agent in user_agent)
    return Resolved(next(clients, NAMES[default]), content_type, by_body=True)


def require_demo_protocol(name: str) -> Protocol:
    """Return the protocol that a route of azure-search-openai-demo's web page names.

    Raises:
        NotFound: that page does not speak a protocol of that name; lists those that it speaks.
    """
    protocol = NAMES.get(name.lower())
    if protocol and protocol.demo_page:
        return protocol
    names = ", ".join(name for name, protocol in NAMES.items() if protocol.demo_page)
    raise NotFound(f"azure-search-openai-demo's page speaks no protocol of that name. It speaks: {names}.")


def check_default_protocol(name: str) -> None:
    """Check the setting CHAT_DEFAULT_PROTOCOL. The settings themselves cannot: they are below the protocols.

    Raises:
        NotConfigured: there is no protocol of that name; lists those there are.
    """
    if name not in NAMES:
        *others, last = (f"'{known}'" for known in NAMES)
        raise NotConfigured(f"CHAT_DEFAULT_PROTOCOL: should be {', '.join(others)} or {last}.")
