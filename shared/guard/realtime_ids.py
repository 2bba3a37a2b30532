"""The message id of a realtime answer: `6res_017item_02` is item `item_02` of response `res_01`.

Lengths count characters. Ids that start with digits can make a message id that reads in two ways; such a pair has none.
Source: rai-aoai-alignment-mode, 'Real-Time API Multi-Turn Conversations'.
"""

import re
from collections.abc import Iterator

from shared.errors import BadRequest

_LONGEST_ID = 9_999
"""Characters; OpenAI's have fewer than a hundred."""
_LENGTH = re.compile(r"[1-9][0-9]{0,3}")


def build_message_id(response_id: str, item_id: str) -> str:
    """Make the message id of an item of a response.

    Raises:
        BadRequest: an id is empty or too long, or nobody could tell from the result where the ids begin.
    """
    if not 0 < len(response_id) <= _LONGEST_ID or not 0 < len(item_id) <= _LONGEST_ID:
        raise BadRequest(f"A realtime answer needs a response_id and an item_id of 1 to {_LONGEST_ID:,} characters.")
    message_id = f"{len(response_id)}{response_id}{len(item_id)}{item_id}"
    read_message_id(message_id)
    return message_id


def read_message_id(message_id: str) -> tuple[str, str]:
    """Take the response's and the item's id out of a message id.

    Raises:
        BadRequest: it is none, or reads in more than one way.
    """
    readings = [
        (response_id, item_id)
        for response_id, rest in _cut_id(message_id)
        for item_id, nothing in _cut_id(rest)
        if not nothing
    ]
    match readings:
        case [reading]:
            return reading
        case []:
            raise BadRequest("This is no message id of a realtime answer: it is made like 6res_017item_02.")
        case _:
            raise BadRequest("This message id of a realtime answer reads in more than one way.")


def _cut_id(text: str) -> Iterator[tuple[str, str]]:
    """Yield each id that `text` can begin with, its length before it, and what comes after it."""
    digits = _LENGTH.match(text)
    for end in range(1, digits.end() + 1 if digits else 1):
        stop = end + int(text[:end])
        if stop <= len(text):
            yield text[end:stop], text[stop:]
