"""The request body of `ai-sdk`: what `DefaultChatTransport` sends, with texts and files in the parts of messages.

Source: `ai`, `ui/http-chat-transport.ts` and `ui/ui-messages.ts`. All of a chat comes back with each question, so that
what an answer has beside its text, such as sources, is skipped.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from shared.chat_types import ChatRequest, Json
from shared.core.attachments import Attachment
from shared.errors import BadRequest, TooLarge
from shared.wire.chat_body import LONGEST_CONVERSATION, parse_chat
from shared.wire.json_file import JsonFile
from shared.wire.multipart import MOST_FILES, shown_filename, shown_name
from shared.wire.request_body import BodyModel

MOST_PARTS = 1_000
"""Parts of a message."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the encoder needs to know of a request."""

    shows_thoughts: bool = False
    """Whether the request has our own `context`. Thoughts hold whole prompts, and other clients do not show them."""

    @classmethod
    def of(cls, request: ChatRequest) -> "Asked":
        """Return what the parser left in a request."""
        return request.for_encoder if isinstance(request.for_encoder, cls) else cls()


class AiSdkOptions(BodyModel):
    """What a page adds to each request, with the option `body` of `useChat`."""

    resumable: bool | None = None


def parse(body: Mapping[str, Json]) -> ChatRequest:
    """Validate a body and turn it into a request, without its files. `id` is the chat's, for the history.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    if isinstance(messages := body.get("messages"), list):
        body = dict(body) | {
            "messages": [_flat(place, message) for place, message in enumerate(messages[: LONGEST_CONVERSATION + 1])]
        }
    request = parse_chat(body, state_key="id", takes_tools=True)
    if resumable := AiSdkOptions.read(body).resumable:
        request = replace(request, overrides=replace(request.overrides, resumable=resumable))
    return replace(request, for_encoder=Asked(shows_thoughts="context" in body))


def attached(body: Mapping[str, Json]) -> tuple[Attachment, ...]:
    """Return the files in the user's messages of a body that `parse` has accepted.

    Raises:
        BadRequest: a file is not in a `data:` URL in base64.
        TooLarge: there are too many.
    """
    files: list[Attachment] = []
    for place, message in enumerate(cast("list[Json]", body["messages"])):
        for index, (path, part) in enumerate(_files(place, message)):
            if len(files) == MOST_FILES:
                raise TooLarge(f"messages: they have more than {MOST_FILES} files. Send fewer.")
            files.append(_attachment(path, part, place, index))
    return tuple(files)


def _flat(place: int, message: Json) -> Json:
    """A message as the other protocols have it: the texts of its parts in one string."""
    if not isinstance(message, dict) or ("parts" not in message and "content" in message):
        return message
    path = f"messages[{place}].parts"
    parts = message.get("parts")
    if not isinstance(parts, list):
        raise BadRequest(f'{path}: should be a list, such as [{{"type": "text", "text": "…"}}].')
    if len(parts) > MOST_PARTS:
        raise BadRequest(f"{path}: should have at most {MOST_PARTS:,} parts.")
    texts = [_text(f"{path}[{number}]", part) for number, part in enumerate(parts)]
    return {"role": message.get("role"), "content": "\n\n".join(text for text in texts if text)}


def _text(path: str, part: Json) -> str:
    """The text of a part; empty if it is a part of another type."""
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "text"}:
            raise BadRequest(f"{path}.text: should be a string.")
        case {"type": str()}:
            return ""
        case _:
            raise BadRequest(f"{path}: should be an object with a type, such as 'text'.")


def _files(place: int, message: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    """The name and the part of each file of a message, if it is the user's."""
    if isinstance(message, dict) and message.get("role") == "user" and isinstance(parts := message.get("parts"), list):
        for number, part in enumerate(parts):
            if isinstance(part, dict) and part.get("type") == "file":
                yield f"messages[{place}].parts[{number}]", part


def _attachment(path: str, part: Mapping[str, Json], place: int, index: int) -> Attachment:
    url, filename, declared = part.get("url"), part.get("filename") or "", part.get("mediaType") or ""
    if not (isinstance(url, str) and isinstance(filename, str) and isinstance(declared, str)):
        raise BadRequest(f"{path}: should have strings as its url, filename and mediaType.")
    found = JsonFile.from_url(url, f"{path}.url", "the file")
    return Attachment(
        part=path,
        message=place,
        index=index,
        filename=shown_filename(filename),
        media_type=shown_name(declared.partition(";")[0].strip().lower() or found.media_type),
        charset=found.charset,
        data=found.content,
    )
