"""The request body that Semantic Kernel's protocols share: that of the others, and what its SDKs echo."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from shared.chat_types import ChatRequest, Json
from shared.errors import BadRequest
from shared.wire.chat_body import parse_chat


def parse_kernel_chat(
    body: Mapping[str, Json], flat: Callable[[dict[str, Json]], Json], conversation_keys: Sequence[str]
) -> ChatRequest:
    """Validate a body and make the request of it.

    Args:
        body: The JSON object.
        flat: A message in the SDK's own shape to one as the other protocols have it.
        conversation_keys: What the SDK may call the conversation.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    if isinstance(messages := body.get("messages"), list):
        body = dict(body) | {
            "messages": [flat(message) if isinstance(message, dict) else message for message in messages]
        }
    request = parse_chat(body, state_key="session_state")
    for key in conversation_keys:
        if (named := body.get(key)) is not None:
            if not isinstance(named, str):
                raise BadRequest(f"{key}: should be a string.")
            return replace(request, conversation_id=named or request.conversation_id)
    return request
