"""Finds the texts in payloads of four APIs, each with its place. Sans-I/O.

Used where we analyse payloads ourselves: in the reference RAI service and in the session of Azure AI Content Safety.

Texts are what people or models write: the contents of messages, prompts, choices and realtime items. Images, sound,
names and the arguments of tool calls are not read: no place is defined for them.
Source: rai-aoai-alignment-mode, '`messageId` and `contentIndex` in returned events'.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic_core import from_json

from shared.chat_types import Json
from shared.errors import BadRequest
from shared.guard import Api, Buffer, Place, Side

_LARGEST_INDEX = 2**31 - 1
"""What the service's events can carry."""
_LONGEST_ID = 9_999
"""Characters; OpenAI's have fewer than a hundred."""
_LENGTH = re.compile(r"[1-9][0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text of a payload."""

    place: Place
    """Address of the text."""
    text: str
    """The text; never empty."""
    whole: bool = True
    """True: the whole text of the place. False: the next piece of it."""


class PayloadReader:
    """Reads the payloads of one session, and returns what each adds to the texts before."""

    def __init__(self) -> None:
        self._texts: dict[Place, list[str]] = {}

    def read(self, buffer: Buffer) -> list[PlacedText]:
        """Return the new texts. If a text repeats an earlier one, as a realtime `….done` event does, the rest is new.

        Raises:
            BadRequest: the payload cannot be read, or its text for a place does not continue the earlier one.
        """
        return [new for found in read_texts(buffer) if (new := self._add(found))]

    def commit(self, side: Side) -> None:
        """Take all texts of a side as complete: later pieces begin new texts."""
        self._texts = {place: pieces for place, pieces in self._texts.items() if place.side is not side}

    def _add(self, found: PlacedText) -> PlacedText | None:
        pieces = self._texts.setdefault(found.place, [])
        new = _rest(found.text, pieces) if found.whole else found.text
        if not new:
            return None
        pieces.append(new)
        return PlacedText(found.place, new, whole=False)


def _rest(text: str, before: Sequence[str]) -> str:
    """Return what a text adds to its pieces before; empty if they have all of it. Looks at no more than the text."""
    at = 0
    for piece in before:
        if not text.startswith(piece[: len(text) - at], at):
            raise BadRequest("A payload has another text for a place that was sent before. Commit the source first.")
        at += len(piece)
        if at >= len(text):
            break
    return text[at:]


def read_texts(buffer: Buffer) -> list[PlacedText]:
    """Find the texts in one payload. Some have none, such as a chunk that only has usage.

    Raises:
        BadRequest: it is no payload of its API; names the key that is wrong, and quotes nothing.
    """
    payload = _parse(buffer.payload)
    found = _READERS[buffer.api, buffer.side](payload)
    return [
        PlacedText(Place(buffer.side, each.message_id, each.content_index), each.text, each.whole)
        for each in found
        if each.text
    ]


@dataclass(frozen=True, slots=True)
class _Text:
    message_id: str
    content_index: int
    text: str
    whole: bool = True


type _Object = dict[str, Json]


def _parse(payload: str) -> _Object:
    try:
        value = cast("Json", from_json(payload.encode(), allow_inf_nan=False))
    except ValueError:  # UnicodeEncodeError, too: half a surrogate pair
        raise BadRequest("The payload is not JSON that can be read.") from None
    return _object(value, "The payload")


def _chat_prompt(payload: _Object) -> Iterator[_Text]:
    for index, item in enumerate(_list(payload.get("messages"), "messages")):
        path = f"messages[{index}]"
        yield from _contents(str(index), _object(item, path).get("content"), f"{path}.content")


def _chat_completion(payload: _Object) -> Iterator[_Text]:
    for choice, index, path in _choices(payload):
        for key, whole in (("message", True), ("delta", False)):
            if choice.get(key) is not None:
                content = _object(choice[key], f"{path}.{key}").get("content")
                yield from _contents(str(index), content, f"{path}.{key}.content", whole=whole)


def _completion_completion(payload: _Object) -> Iterator[_Text]:
    # A chunk and a whole answer have the same shape here.
    for choice, index, path in _choices(payload):
        yield _Text(str(index), 0, _string(choice.get("text"), f"{path}.text"), whole=False)


def _completion_prompt(payload: _Object) -> Iterator[_Text]:
    prompt = payload.get("prompt")
    if isinstance(prompt, list):
        prompt = "".join(_string(item, f"prompt[{index}]") for index, item in enumerate(prompt))
    yield _Text("0", 0, _string(prompt, "prompt") + _string(payload.get("suffix") or "", "suffix"))


def _image_prompt(payload: _Object) -> Iterator[_Text]:
    yield _Text("0", 0, _string(payload.get("prompt"), "prompt"))


def _image_completion(payload: _Object) -> Iterator[_Text]:
    """Yield the rewritten prompts, which are the only texts that come with images."""
    for index, item in enumerate(_list(payload.get("data") or [], "data")):
        path = f"data[{index}]"
        yield _Text(str(index), 0, _string(_object(item, path).get("revised_prompt") or "", f"{path}.revised_prompt"))


def _realtime_prompt(event: _Object) -> Iterator[_Text]:
    match _string(event.get("type"), "type"):
        case (
            "conversation.item.create"
            | "conversation.item.created"
            | "conversation.item.added"
            | "conversation.item.done"
            | "conversation.item.retrieved"
        ):
            yield from _prompt_item(event.get("item"), "item")
        case "conversation.item.input_audio_transcription.delta":
            item_id, index = _id(event, "item_id", ""), _index(event.get("content_index", 0), "content_index")
            yield _Text(item_id, index, _string(event.get("delta") or "", "delta"), whole=False)
        case "conversation.item.input_audio_transcription.completed":
            item_id, index = _id(event, "item_id", ""), _index(event.get("content_index", 0), "content_index")
            yield _Text(item_id, index, _string(event.get("transcript"), "transcript"))
        case "response.create":
            response = _object(event.get("response") or {}, "response")
            for index, item in enumerate(_list(response.get("input") or [], "response.input")):
                yield from _prompt_item(item, f"response.input[{index}]")
        case _:
            return


def _prompt_item(value: Json, path: str) -> Iterator[_Text]:
    item = _object(value, path)
    contents = item.get("output") if item.get("type") == "function_call_output" else item.get("content")
    if contents:
        yield from _contents(_id(item, "id", f"{path}."), contents, f"{path}.content")


_REALTIME_TEXTS = {
    f"response.{output}{kind}.{end}": (key if end == "done" else "delta", end == "done")
    for output in ("output_", "")  # "" for the names that the API had before its general availability
    for kind, key in (("text", "text"), ("audio_transcript", "transcript"))
    for end in ("delta", "done")
}
"""By event type: the key of its text, and whether that is the whole text."""


def _realtime_completion(event: _Object) -> Iterator[_Text]:
    kind = _string(event.get("type"), "type")
    if kind in _REALTIME_TEXTS:
        key, whole = _REALTIME_TEXTS[kind]
        index = _index(event.get("content_index"), "content_index")
        yield _Text(_answer_id(event), index, _string(event.get(key), key), whole)
    elif kind in ("response.content_part.added", "response.content_part.done"):
        index = _index(event.get("content_index"), "content_index")
        yield _Text(_answer_id(event), index, _part(event.get("part"), "part"))
    elif kind in ("response.output_item.added", "response.output_item.done"):
        yield from _answer_item(_id(event, "response_id", ""), event.get("item"), "item")
    elif kind == "response.done":
        response = _object(event.get("response"), "response")
        for index, item in enumerate(_list(response.get("output") or [], "response.output")):
            yield from _answer_item(_id(response, "id", "response."), item, f"response.output[{index}]")


def _answer_id(event: _Object) -> str:
    return build_message_id(_id(event, "response_id", ""), _id(event, "item_id", ""))


def _answer_item(response_id: str, value: Json, path: str) -> Iterator[_Text]:
    item = _object(value, path)
    if item.get("content"):
        message_id = build_message_id(response_id, _id(item, "id", f"{path}."))
        yield from _contents(message_id, item["content"], f"{path}.content")


_READERS: dict[tuple[Api, Side], Callable[[_Object], Iterator[_Text]]] = {
    (Api.CHAT_COMPLETION, Side.PROMPT): _chat_prompt,
    (Api.CHAT_COMPLETION, Side.COMPLETION): _chat_completion,
    (Api.COMPLETION, Side.PROMPT): _completion_prompt,
    (Api.COMPLETION, Side.COMPLETION): _completion_completion,
    (Api.IMAGE_GENERATION, Side.PROMPT): _image_prompt,
    (Api.IMAGE_GENERATION, Side.COMPLETION): _image_completion,
    (Api.REALTIME, Side.PROMPT): _realtime_prompt,
    (Api.REALTIME, Side.COMPLETION): _realtime_completion,
}


def _choices(payload: _Object) -> Iterator[tuple[_Object, int, str]]:
    """Yield each choice with its index and its path."""
    for position, value in enumerate(_list(payload.get("choices"), "choices")):
        path = f"choices[{position}]"
        choice = _object(value, path)
        yield choice, _index(choice.get("index", position), f"{path}.index"), path


def _contents(message_id: str, content: Json, path: str, *, whole: bool = True) -> Iterator[_Text]:
    """Yield the texts of a content, which is a string or a list of parts."""
    if isinstance(content, list):
        for index, part in enumerate(content):
            yield _Text(message_id, index, _part(part, f"{path}[{index}]"), whole)
    elif content is not None:
        yield _Text(message_id, 0, _string(content, path), whole)


def _part(value: Json, path: str) -> str:
    part = _object(value, path)
    return "".join(_string(part.get(key) or "", f"{path}.{key}") for key in ("text", "transcript", "refusal"))


def _object(value: Json, path: str) -> _Object:
    if not isinstance(value, dict):
        raise BadRequest(f"{path} should be a JSON object.")
    return value


def _list(value: Json, path: str) -> list[Json]:
    if not isinstance(value, list):
        raise BadRequest(f"{path} should be a list.")
    return value


def _string(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"{path} should be a text.")
    return value


def _id(value: _Object, key: str, prefix: str) -> str:
    found = value.get(key)
    if not isinstance(found, str) or not found:
        raise BadRequest(f"{prefix}{key} is missing: without it nobody could tell which text the results are about.")
    return found


def _index(value: Json, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST_INDEX:
        raise BadRequest(f"{path} should be a whole number from 0.")
    return value


def build_message_id(response_id: str, item_id: str) -> str:
    """Make the message id of a realtime answer: `6res_017item_02` is item `item_02` of response `res_01`.

    Each id has its number of characters in front. Ids that begin with digits can give a message id that can be read in
    two ways, which is refused.
    Source: rai-aoai-alignment-mode, 'Real-Time API Multi-Turn Conversations'.

    Raises:
        BadRequest: an id is empty or too long, or the message id could be read in two ways.
    """
    if not 0 < len(response_id) <= _LONGEST_ID or not 0 < len(item_id) <= _LONGEST_ID:
        raise BadRequest(f"A realtime answer needs a response_id and an item_id of 1 to {_LONGEST_ID:,} characters.")
    message_id = f"{len(response_id)}{response_id}{len(item_id)}{item_id}"
    readings = [nothing for _, rest in _cut_id(message_id) for _, nothing in _cut_id(rest) if not nothing]
    if len(readings) > 1:
        raise BadRequest("The message id of this realtime answer would read in more than one way.")
    return message_id


def _cut_id(text: str) -> Iterator[tuple[str, str]]:
    """Yield each id that `text` can begin with (its length stands before it), and the rest of the text."""
    digits = _LENGTH.match(text)
    for end in range(1, digits.end() + 1 if digits else 1):
        stop = end + int(text[:end])
        if stop <= len(text):
            yield text[end:stop], text[stop:]
