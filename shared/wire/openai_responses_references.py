"""What a request of OpenAI's Responses refers to: a response that it goes on from, and items of earlier ones.

Source: OpenAI API reference, `previous_response_id` and `item_reference`.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import cast

from shared.chat_types import Json
from shared.errors import BadRequest, NotFound
from shared.wire import chat_body, framing, openai_responses_body
from shared.wire.protocol import EarlierAnswers
from shared.wire.request_body import BODY_LIMIT, Body

_PROTOCOL = "openai-responses"
_NO_PREVIOUS = "previous_response_id: Previous response with id"
"""As OpenAI words it, after the key."""
_ITEM = re.compile("^(msg|fc|mcp)_")
"""What the ids of items begin with."""
_MOST_RESPONSES = 50
"""Maximum number of responses that the items of a request may belong to."""


async def completed(body: Body, kept: EarlierAnswers | None) -> Body:
    """Put what a body refers to into its input.

    Raises:
        BadRequest, NotFound: it is not there, or not the caller's.
        Unavailable, TooSlow: it cannot be read.
    """
    if openai_responses_body.decisions_in(body.json):
        return body  # what goes on is kept: nothing that is sent with the answer counts
    previous = body.json.get("previous_response_id")
    run_of = {one: _ITEM.sub("", one.rpartition("_")[0]) for one in _references(body.json)}
    if kept is None and isinstance(previous, str) and previous:
        raise BadRequest("previous_response_id: should be left out: no answers are kept here (BATCH_BACKEND).")
    if kept is None or not (previous or run_of):
        return body
    earlier = await _conversation(kept, previous) if isinstance(previous, str) and previous else []
    ids = dict.fromkeys(run_of.values())
    if len(ids) > _MOST_RESPONSES:
        raise BadRequest(f"input: its items may be of at most {_MOST_RESPONSES} responses. Send the others themselves.")
    answers = dict(zip(ids, await asyncio.gather(*map(kept.answer, ids)), strict=True))
    found = {str(item["id"]): cast("Json", item) for answer in answers.values() for item in _output(answer)}
    # An answer that has waited for consent may have ended with other items than it had, or with none.
    if missing := next((one for one, run_id in run_of.items() if one not in found and answers[run_id] is None), None):
        raise NotFound(
            f"input: Item with id '{missing[:100]}' not found. Items are not persisted when `store` is set to false."
        )
    return Body(_with_items(body.json, earlier, found), body.files, body.size)


async def _conversation(kept: EarlierAnswers, response_id: str) -> list[Json]:
    """Return the items of a response: those of its request, and those of its answer, unless it failed."""
    run_id = response_id.removeprefix("resp_")
    if (request := await kept.request(run_id, _PROTOCOL)) is None:
        raise BadRequest(f"{_NO_PREVIOUS} '{response_id[:100]}' not found.")
    if (answer := await kept.answer(run_id)) is None:
        raise BadRequest(f"{_NO_PREVIOUS} '{response_id[:100]}' has no answer yet.")
    return [*_items_of(request), *_output(answer)]


def input_items(body: Mapping[str, Json], response_id: str) -> list[dict[str, Json]]:
    """Return the items of a request in their full form, with ids."""
    listed: list[dict[str, Json]] = []
    for number, item in enumerate(_items_of(body)):
        if not isinstance(item, dict):
            continue
        content = item.get("content")
        is_message = item.setdefault("type", "message") == "message" if "role" in item else False
        if is_message and isinstance(content, str):
            kind = "output_text" if item["role"] == "assistant" else "input_text"
            part: dict[str, Json] = {"type": kind, "text": content}
            item["content"] = [part | ({"annotations": []} if kind == "output_text" else {})]
        status: dict[str, Json] = {"status": "completed"} if is_message else {}
        listed.append({"id": f"msg_{response_id.removeprefix('resp_')}_in{number}", **status, **item})
    return listed


def _output(answer: Json) -> list[dict[str, Json]]:
    match answer:
        case {"output": list(output)}:
            return [item for item in output if isinstance(item, dict)]
        case _:
            return []


def _references(body: Mapping[str, Json]) -> list[str]:
    """Return the ids of items that a body refers to, but for questions for consent: those are no part of the chat."""
    items = body.get("input")
    found = [_reference(item) for item in items[: chat_body.LONGEST_CONVERSATION]] if isinstance(items, list) else []
    return [one for one in found if one and not one.startswith(openai_responses_body.APPROVAL)]


def _with_items(body: Mapping[str, Json], earlier: Sequence[Json], found: Mapping[str, Json]) -> dict[str, Json]:
    """Return a body with what it refers to: the conversation that it goes on from, and the items found by their ids.

    Of a long conversation the oldest items are left out. So are items that are not found, and one that is referred to
    again: what came before and after a question for consent is one message.
    """
    items = _items_of(body)
    if len(items) > chat_body.LONGEST_CONVERSATION:
        return dict(body)  # it is refused
    left = dict(found)
    said = [left.pop(reference, None) if (reference := _reference(item)) else item for item in items]
    whole = [*earlier, *(item for item in said if item is not None)][-chat_body.LONGEST_CONVERSATION :]
    sizes = [len(framing.encode_json(item)) for item in whole]
    while len(whole) > len(items) and sum(sizes) > BODY_LIMIT:
        del whole[0], sizes[0]
    return {**body, "input": whole}


def _items_of(body: Mapping[str, Json]) -> list[Json]:
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
