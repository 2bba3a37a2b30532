"""Reads a request's body: takes it in chunks, parses it as one JSON object, and validates it by a pydantic model.

Each error message says what to send instead, and never quotes the body.
"""

import re
from collections.abc import Mapping
from typing import Protocol, Self, cast

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from shared.chat_types import ChatRequest, Json
from shared.core.attachments import Attachment
from shared.errors import BadRequest, TooLarge

MAX_VALUES = 100_000
"""Lists, objects, and commas between values in a body: two bytes of a list item can take a hundred in memory."""
MAX_DIGITS = 400
"""Digits in a row in a number: writing a number takes quadratic time. The largest double has 309 digits."""
BODY_LIMIT = 1024 * 1024
"""Maximum size of a JSON body, in bytes; of one with files, without these."""
FILES_BODY_LIMIT = 8 * 1024 * 1024
"""Maximum size of a JSON body with files in base64, in bytes: they are a third larger than the files."""
EXAMPLE = '{"messages": [{"role": "user", "content": "…"}]}'
"""Example of a chat request, for error messages."""
_MOST_PROBLEMS = 5
"""Maximum number of problems in one error message; the caller sees further ones after correcting these."""
_SCAN_STEP = 64 * 1024
"""Bytes of a body that are scanned at a time: the pieces of its texts take up to 35 times the memory."""
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))


class Body(msgspec.Struct, frozen=True):
    """A request body after parsing."""

    json: dict[str, Json]
    """The JSON object."""
    files: tuple[Attachment, ...] = ()
    """The files that came beside it, in a form."""
    size: int = 0
    """Bytes of the JSON; 0 where another limit holds."""


class BodyReader(Protocol):
    """Reads one body in chunks. Sans-I/O."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; raises BadRequest or TooLarge at the first bytes that are not allowed."""
        ...

    def finish(self) -> Body:
        """Return the body after its last bytes; raises BadRequest if it is not complete or not valid."""
        ...


class _CostCheck:
    """Refuses JSON that is dear to parse or to write, before it is parsed. Sans-I/O; takes some 3 ns a byte.

    It looks only at what is outside the texts, so that a text may hold any number of brackets and digits.
    """

    def __init__(self) -> None:
        self._values = 0
        self._in_text = False
        self._cut_escape = b""
        self._last_bytes = b""

    def feed(self, chunk: bytes) -> None:
        """Check the next bytes.

        Raises:
            TooLarge: there are more than `MAX_VALUES` values.
            BadRequest: a number has more than `MAX_DIGITS` digits.
        """
        for start in range(0, len(chunk), _SCAN_STEP):
            self._check(self._outside_texts(chunk[start : start + _SCAN_STEP]))

    def _outside_texts(self, piece: bytes) -> bytes:
        piece = self._cut_escape + piece
        backslashes = len(piece) - len(piece.rstrip(b"\\"))
        self._cut_escape = b"\\" * (backslashes % 2)
        piece = piece.removesuffix(self._cut_escape)
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b'"'.join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        return outside

    def _check(self, outside: bytes) -> None:
        self._values += sum(map(outside.count, (b",", b"[", b"{")))
        if self._values > MAX_VALUES:
            raise TooLarge(f"The body holds more than {MAX_VALUES:,} values. Send fewer.")
        outside = self._last_bytes + outside
        if _LONG_NUMBER.search(outside):
            raise BadRequest(f"A number in the body has more than {MAX_DIGITS} digits. Send long ones as strings.")
        self._last_bytes = outside[-MAX_DIGITS:]


class JsonReader:
    """Reads a JSON body.

    Args:
        limit: Maximum size of the body, in bytes.
        example: A valid body, for error messages.
        list_key: If the body is a list, take it as the value of this key in an object; None: it has to be an object.
        any_value: Whether `list_key` takes a body of any other type too.
    """

    def __init__(
        self, limit: int = BODY_LIMIT, example: str = EXAMPLE, list_key: str | None = None, *, any_value: bool = False
    ) -> None:
        self._limit = limit
        self._example = example
        self._list_key = list_key
        self._wrapped = object if any_value else list
        self._read = bytearray()
        self._cost = _CostCheck()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            TooLarge: the body is over the limit, or holds too many values.
            BadRequest: a number in it is too long.
        """
        self._read += chunk
        if len(self._read) > self._limit:
            raise TooLarge(f"The request is over {self._limit:,} bytes. Send fewer or shorter messages or files.")
        self._cost.feed(chunk)

    def finish(self) -> Body:
        """Parse the whole body.

        Raises:
            BadRequest: says what is wrong and where.
        """
        return Body(_parse(self._read, self._example, self._list_key, self._wrapped), size=len(self._read))


def read_json_object(body: bytes) -> dict[str, Json]:
    """Parse bytes that have to be one JSON object in UTF-8 (with or without a byte order mark).

    Raises:
        BadRequest: says what is wrong and where.
        TooLarge: they hold too many values.
    """
    _CostCheck().feed(body)
    return _parse(body)


def _parse(
    body: bytes | bytearray, example: str = EXAMPLE, list_key: str | None = None, wrapped: type = list
) -> dict[str, Json]:
    if body.startswith(b"\xef\xbb\xbf"):
        body = body[3:]
    try:
        value = cast("Json", from_json(body, allow_inf_nan=False))
    except ValueError as invalid:
        raise _unreadable(body, str(invalid), example) from None
    if isinstance(value, dict):
        return value
    if list_key and isinstance(value, wrapped):
        return {list_key: value}
    raise BadRequest(f"The body is JSON, but no object. Send one such as {example}.")


def _unreadable(body: bytes | bytearray, problem: str, example: str) -> BadRequest:
    """Make the error for a body that is no JSON."""
    if not body.strip():
        return BadRequest(f"The request has no body. Send JSON such as {example}.")
    try:
        body.decode()
    except UnicodeDecodeError as invalid:
        return BadRequest(f"The body is not UTF-8 (at byte {invalid.start}). Send JSON in UTF-8.")
    return BadRequest(f"The body is not JSON that can be read: {problem}.")


class EncoderDetails(msgspec.Struct, frozen=True):
    """What the encoder of a protocol needs to know of a request, beyond what all protocols read."""

    @classmethod
    def of(cls, request: ChatRequest) -> Self:
        """Return what the parser put into a request."""
        return request.for_encoder if isinstance(request.for_encoder, cls) else cls()


class BodyModel(BaseModel):
    """A request body, or an object in one. Values are never converted to another type; unknown keys are ignored.

    The validator of a body is made when the first one comes.
    """

    model_config = ConfigDict(strict=True, extra="ignore", defer_build=True)

    @classmethod
    def read(cls, body: Mapping[str, Json]) -> Self:
        """Validate a body.

        Raises:
            BadRequest: names each key that is wrong and what it accepts.
        """
        try:
            return cls.model_validate(body)
        except ValidationError as invalid:
            problems = [
                _sentence(error["loc"], _MESSAGES.get(error["type"], error["msg"]))
                for error in invalid.errors(include_url=False, include_context=False, include_input=False)[
                    :_MOST_PROBLEMS
                ]
            ]
            raise BadRequest(" ".join(problems)) from None


_MESSAGES = {
    "missing": "is missing",
    "too_short": "is empty",
    "list_type": "should be a list",
    "model_type": "should be an object",
}
"""Error messages by pydantic's error type, for types whose own message is unclear to callers."""


def _sentence(location: tuple[int | str, ...], problem: str) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    for beginning in ("Input ", "Value error, ", "List "):
        problem = problem.removeprefix(beginning)
    problem = problem.partition(" after validation, not ")[0]  # the count where it stopped
    return f"{path or 'The body'}: {problem}."


def read_limit(query: Mapping[str, str], most: int) -> int:
    """Read how many items a page of a list is to have; without `limit`, as many as it may.

    Raises:
        BadRequest: it is no number, or too many.
    """
    limit = query.get("limit") or str(most)
    if not re.fullmatch("[0-9]{1,3}", limit) or not 1 <= int(limit) <= most:
        raise BadRequest(f"limit: should be a whole number from 1 to {most}.")
    return int(limit)
