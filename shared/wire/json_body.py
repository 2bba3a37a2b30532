"""From the bytes of a request body to a JSON object, with a sentence for each way that can fail."""

from typing import cast

from shared.chat_types import Json
from shared.errors import BadRequest

EXAMPLE = '{"messages": [{"role": "user", "content": "…"}]}'


def read_json_object(body: bytes) -> dict[str, Json]:
    """Parse a body that has to be one JSON object in UTF-8 (with or without a byte order mark).

    Raises:
        BadRequest: what is wrong and where; never quotes the body.
    """
    from pydantic_core import from_json

    if not body.strip():
        raise BadRequest(f"The request has no body. Send JSON such as {EXAMPLE}.")
    try:
        body.decode()
    except UnicodeDecodeError as invalid:
        raise BadRequest(f"The body is not UTF-8 (at byte {invalid.start}). Send JSON in UTF-8.") from None
    try:
        value = cast("Json", from_json(body.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False))
    except ValueError as invalid:
        raise BadRequest(f"The body is not JSON that can be read: {invalid}.") from None
    if not isinstance(value, dict):
        raise BadRequest(f"The body is JSON, but no object. Send one such as {EXAMPLE}.")
    return value
