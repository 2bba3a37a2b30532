"""Reading JSON the way JavaScript does, where most of the clients live."""

import json
from collections.abc import Iterator

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None


class Breaks(Exception):
    """The client would throw here, instead of showing an answer; says why."""


def parse(text: str | bytes, what: str = "the body") -> Json:
    """`JSON.parse`."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise Breaks(f"{what} is not JSON: {error}") from error


def at(value: Json, *path: str | int) -> Json:
    """`value?.a?.[0]`: None where there is nothing."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def of(value: Json, *path: str | int) -> Json:
    """`value.a[0]`: breaks if there is nothing to take the last step from."""
    for length in range(len(path)):
        if at(value, *path[:length]) is None:
            missing = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[:length])
            raise Breaks(f"{missing.lstrip('.') or 'the document'} is missing")
    return at(value, *path)


def truthy(value: Json) -> bool:
    """What JavaScript's `if` takes for true: empty lists and objects are."""
    return isinstance(value, list | dict) or bool(value)


def is_text(value: Json) -> bool:
    """Whether there is something to show."""
    return isinstance(value, str) and bool(value.strip())


def are_texts(value: Json) -> bool:
    """Whether it is a list of strings."""
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def ndjson(body: bytes) -> Iterator[Json]:
    """The lines of a stream, as `ndjson-readablestream` has them: cut at LF, and joined until they parse."""
    pending = ""
    for piece in body.decode(errors="replace").split("\n"):
        pending += piece
        try:
            yield json.loads(pending)
        except ValueError:
            continue
        pending = ""
    if pending.strip():
        raise Breaks(f"a line of the stream is not JSON: {pending[:80]}")


def sse(body: bytes) -> Iterator[str]:
    """The data of server-sent events, as ChatUI reads them: ended by LF LF, the lines joined with nothing between."""
    blocks = body.decode(errors="replace").split("\n\n")
    for block in blocks[:-1]:
        data = "".join(line[5:].strip() for line in block.split("\n") if line.startswith("data:"))
        if data:
            yield data
    if "data:" in blocks[-1]:
        raise Breaks("an event does not end with an empty line (two LF)")
