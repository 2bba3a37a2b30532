"""The table of protocols: it drives the pinned routes, the inference on bare ones, the documents and the tests."""

from collections.abc import Mapping

from shared.chat_types import Json
from shared.errors import NotFound
from shared.wire.ai_chat import AI_CHAT
from shared.wire.ai_chat_2024_05_29 import AI_CHAT_2024_05_29
from shared.wire.protocol import Protocol

PROTOCOLS = {protocol.name: protocol for protocol in (AI_CHAT, AI_CHAT_2024_05_29)}
"""By name."""


def pinned(name: str) -> Protocol:
    """The protocol that a route names.

    Raises:
        NotFound: lists the names there are.
    """
    if protocol := PROTOCOLS.get(name):
        return protocol
    raise NotFound(f"There is no protocol of that name. There are: {', '.join(PROTOCOLS)}.")


def inferred(body: Mapping[str, Json], default: str) -> Protocol:
    """The protocol that a body on a bare route speaks: the one that it can only be, else the default."""
    return next((protocol for protocol in PROTOCOLS.values() if protocol.infer(body)), PROTOCOLS[default])
