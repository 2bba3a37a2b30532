"""What a request of OpenAI's Responses refers to: a response that it goes on from, and items of earlier ones.

Source: OpenAI API reference, `previous_response_id` and `item_reference`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.chat_types import Json
from shared.wire.chat_body import LONGEST_CONVERSATION
from shared.wire.framing import encode_json
from shared.wire.openai_responses_body import APPROVAL
from shared.wire.request_body import BODY_LIMIT


@dataclass(frozen=True, slots=True)
class Referred:
    """What a body refers to."""

    response: str | None
    """Id of the response that it goes on from."""
    items: tuple[str, ...]
    """Ids of items in its input, without those of questions for consent: nothing of them is in the conversation."""


def referred(body: Mapping[str, Json]) -> Referred:
    """Return what a body refers to."""
    previous, items = body.get("previous_response_id"), body.get("input")
    references = [_reference(item) for item in items[:LONGEST_CONVERSATION]] if isinstance(items, list) else []
    found = tuple(one for one in references if one and not one.startswith(APPROVAL))
    return Referred(previous if isinstance(previous, str) and previous else None, found)


def completed(body: Mapping[str, Json], earlier: Sequence[Json], found: Mapping[str, Json]) -> dict[str, Json]:
    """Return a body with what it refers to. Of a long conversation the oldest items are left out.

    Args:
        body: The body.
        earlier: The items of the conversation that it goes on from.
        found: The items that its input refers to, by their ids. Others are left out, and so is one that is referred to
            again: what came before and after a question for consent is one message.
    """
    items = items_of(body)
    if len(items) > LONGEST_CONVERSATION:
        return dict(body)  # it is refused
    left = dict(found)
    said = [left.pop(reference, None) if (reference := _reference(item)) else item for item in items]
    whole = [*earlier, *(item for item in said if item is not None)][-LONGEST_CONVERSATION:]
    sizes = [len(encode_json(item)) for item in whole]
    while len(whole) > len(items) and sum(sizes) > BODY_LIMIT:
        del whole[0], sizes[0]
    return {**body, "input": whole}


def items_of(body: Mapping[str, Json]) -> list[Json]:
    """Return the items of an input; a text is a message of the user."""
    items = body.get("input")
    return items if isinstance(items, list) else [{"role": "user", "content": items}] if isinstance(items, str) else []


def _reference(item: Json) -> str | None:
    """The id that an item refers to; AI SDK leaves out its type."""
    match item:
        case {"type": "item_reference", "id": str(found)}:
            return found
        case {"id": str(found), **rest} if not rest:
            return found
        case _:
            return None
