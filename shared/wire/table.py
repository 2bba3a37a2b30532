"""The table of protocols: it drives the pinned routes, the inference on bare ones, the documents and the tests."""

from collections.abc import Mapping

from shared.chat_types import Json
from shared.errors import BadRequest, NotFound
from shared.wire.ai_chat import AI_CHAT
from shared.wire.ai_chat_2024_01_28 import AI_CHAT_2024_01_28
from shared.wire.ai_chat_2024_05_29 import AI_CHAT_2024_05_29
from shared.wire.protocol import Protocol
from shared.wire.semantic_kernel import SEMANTIC_KERNEL
from shared.wire.semantic_kernel_python import SEMANTIC_KERNEL_PYTHON

PROTOCOLS = {
    protocol.name: protocol
    for protocol in (AI_CHAT, AI_CHAT_2024_05_29, AI_CHAT_2024_01_28, SEMANTIC_KERNEL, SEMANTIC_KERNEL_PYTHON)
}
"""By name."""

NAMES = {name: protocol for protocol in PROTOCOLS.values() for name in (protocol.name, *protocol.aliases)}
"""By name and by alias."""


def pinned(name: str) -> Protocol:
    """The protocol that a route names.

    Raises:
        NotFound: lists the names there are.
    """
    if protocol := NAMES.get(name.lower()):
        return protocol
    raise NotFound(f"There is no protocol of that name. There are: {', '.join(NAMES)}.")


def inferred(body: Mapping[str, Json], default: str) -> Protocol:
    """The protocol that a body on a bare route speaks: the one that it can only be, else the default."""
    return next((protocol for protocol in PROTOCOLS.values() if protocol.infer(body)), NAMES[default])


def taking_files(named: Protocol | None = None) -> Protocol:
    """The protocol of a request with files: the one that the route names, or on a bare route the one that has them.

    Raises:
        BadRequest: the one named does not; says which does.
    """
    takers = [protocol for protocol in PROTOCOLS.values() if protocol.takes_files]
    if named is None:
        return takers[0]
    if named.takes_files:
        return named
    raise BadRequest(
        f"The protocol '{named.name}' takes no files: send JSON, or a form to the routes of "
        f"{', '.join(protocol.name for protocol in takers)}."
    )
