"""From the bytes of a request body to a JSON object, with a sentence for each way that can fail."""

from dataclasses import dataclass
from typing import cast

from pydantic_core import from_json

from shared.chat_types import Json
from shared.core.attachments import Attachment
from shared.errors import BadRequest, TooLarge

BODY_LIMIT = 1024 * 1024
"""Bytes of a JSON body."""
EXAMPLE = '{"messages": [{"role": "user", "content": "…"}]}'
"""Of a question, for those who send what is none."""


@dataclass(frozen=True, slots=True)
class Body:
    """What a request said."""

    json: dict[str, Json]
    """The JSON object."""
    files: tuple[Attachment, ...] = ()
    """The files that came with it."""


class JsonReader:
    """Reads a JSON body piece by piece. Sans-I/O.

    Args:
        limit: Bytes that it may have.
        example: Of what to send, in JSON.
        list_key: The key of an object that a body which is a list counts as; None: it has to be an object.
    """

    def __init__(self, limit: int = BODY_LIMIT, example: str = EXAMPLE, list_key: str | None = None) -> None:
        self._limit = limit
        self._example = example
        self._list_key = list_key
        self._read = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Read on.

        Raises:
            TooLarge: it is over the limit.
        """
        self._read += chunk
        if len(self._read) > self._limit:
            raise TooLarge(f"The request is over {self._limit:,} bytes. Send fewer or shorter messages.")

    def finish(self) -> Body:
        """Take what was read.

        Raises:
            BadRequest: what is wrong and where.
        """
        return Body(read_json_object(bytes(self._read), self._example, self._list_key))


def read_json_object(body: bytes, example: str = EXAMPLE, list_key: str | None = None) -> dict[str, Json]:
    """Parse a body that has to be one JSON object in UTF-8 (with or without a byte order mark).

    Args:
        body: As it was sent.
        example: Of what to send, in JSON.
        list_key: The key of an object that a list counts as; None: it has to be an object.

    Raises:
        BadRequest: what is wrong and where; never quotes the body.
    """
    if not body.strip():
        raise BadRequest(f"The request has no body. Send JSON such as {example}.")
    try:
        body.decode()
    except UnicodeDecodeError as invalid:
        raise BadRequest(f"The body is not UTF-8 (at byte {invalid.start}). Send JSON in UTF-8.") from None
    try:
        value = cast("Json", from_json(body.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False))
    except ValueError as invalid:
        raise BadRequest(f"The body is not JSON that can be read: {invalid}.") from None
    if list_key and isinstance(value, list):
        return {list_key: value}
    if not isinstance(value, dict):
        raise BadRequest(f"The body is JSON, but no object. Send one such as {example}.")
    return value
