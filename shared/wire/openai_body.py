"""The request body of `openai`: OpenAI's keys, content in parts, and images in `data:` URLs.

Source: OpenAI API reference, 'Create chat completion'. Keys that the app cannot honour are ignored, as other unknown
ones are, but for those whose answer would have another form: they are refused.
"""

import time
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal, NotRequired, TypedDict, cast
from uuid import uuid4

from pydantic import Field

from shared.chat_types import ChatRequest, Json
from shared.core.attachments import Attachment
from shared.errors import BadRequest, NotFound, TooLarge
from shared.wire.chat_body import LONGEST_CONVERSATION, parse_chat
from shared.wire.multipart import MOST_FILES
from shared.wire.request_body import BodyModel

MODELS = {"switchboard": False, "switchboard-team": True}
"""The models that a request may name, and whether the team of agents is meant."""
MOST_PARTS = 1_000
"""Parts in the content of a message."""
_TASKS = ("### Task:", "Provide a concise, 5-word-or-less title for the conversation")
"""How prompts begin that a front end sends for itself, for titles, tags and follow-up questions.

Sources: Open WebUI, `config.py`, the default templates; LibreChat's agents, `title.ts`.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the encoder needs to know of a request."""

    id: str = "chatcmpl-0"
    """The answer's id: it is in all chunks, so that it has to be known before the model has one."""
    created: int = 0
    """Unix seconds."""
    model: str = "switchboard"
    """The model that was asked for."""
    include_usage: bool = False
    """Whether a stream ends with the tokens."""
    shows_thoughts: bool = False
    """Whether the request has our own `context`. Thoughts hold whole prompts, and other clients do not show them."""

    @classmethod
    def of(cls, request: ChatRequest) -> "Asked":
        """Return what the parser left in a request."""
        return request.for_encoder if isinstance(request.for_encoder, cls) else cls()


class StreamOptions(BodyModel):
    """What a stream has besides the answer."""

    include_usage: bool | None = Field(default=None, description="Whether the last chunk has the tokens.")


class ResponseFormat(BodyModel):
    """The form of the text."""

    type: Literal["text", "json_object"] = Field(description="`json_object` is ignored.")


class OpenaiKeys(BodyModel):
    """Keys of a request beyond those of all protocols."""

    model: str | None = Field(default=None, description="`switchboard`, or `switchboard-team` for the team of agents.")
    stream: bool | None = Field(default=None, description="Whether to stream the answer.")
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=None, ge=1, le=1, description="There is one answer.")
    temperature: float | None = Field(default=None, ge=0, le=2)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    response_format: ResponseFormat | None = None


class OpenaiText(TypedDict):
    """A text in a message."""

    type: Literal["text"]
    text: str


class OpenaiImageUrl(TypedDict):
    """Where an image is."""

    url: Annotated[str, Field(pattern="^data:image/", description="The image, as a `data:` URL in base64.")]


class OpenaiImage(TypedDict):
    """An image in a message."""

    type: Literal["image_url"]
    image_url: OpenaiImageUrl


class OpenaiMessage(TypedDict):
    """A message in OpenAI's shape. `_flat` checks it; this is for the OpenAPI document."""

    role: Literal["user", "assistant", "system", "developer", "tool"]
    content: NotRequired[str | Annotated[list[OpenaiText | OpenaiImage], Field(max_length=MOST_PARTS)] | None]


def parse(body: Mapping[str, Json]) -> ChatRequest:
    """Validate a body and turn it into a request, without its images.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
        NotFound: there is no model of that name.
    """
    keys = OpenaiKeys.read(_explained(body))
    model = keys.model or next(iter(MODELS))
    check_model(model)
    if isinstance(messages := body.get("messages"), list):
        body = dict(body) | {
            "messages": [_flat(place, message) for place, message in enumerate(messages[: LONGEST_CONVERSATION + 1])]
        }
    request = parse_chat(body, state_key="session_state")
    overrides = request.overrides
    is_task = request.question.startswith(_TASKS)
    return replace(
        request,
        overrides=replace(
            overrides,
            temperature=keys.temperature if overrides.temperature is None else overrides.temperature,
            seed=keys.seed if overrides.seed is None else overrides.seed,
        ),
        stream=bool(keys.stream),
        team=MODELS[model] and not is_task,
        is_task=is_task,
        for_encoder=Asked(
            id=f"chatcmpl-{uuid4().hex}",
            created=int(time.time()),
            model=model,
            include_usage=bool(keys.stream_options and keys.stream_options.include_usage),
            shows_thoughts="context" in body,
        ),
    )


def check_model(name: str) -> None:
    """Raise NotFound if no model has this name."""
    if name not in MODELS:
        raise NotFound(f"model: there is none of that name here. There are: {', '.join(MODELS)}.")


def attached(body: Mapping[str, Json]) -> tuple[Attachment, ...]:
    """Return the images in the messages of a body that `parse` has accepted.

    Raises:
        BadRequest: an image is not in a `data:` URL in base64.
        TooLarge: there are too many.
    """
    files: list[Attachment] = []
    for place, message in enumerate(cast("list[Json]", body["messages"])):
        for part, url in _images(place, message):
            if len(files) == MOST_FILES:
                raise TooLarge(f"messages: they have more than {MOST_FILES} images. Send fewer.")
            index = sum(file.message == place for file in files)
            files.append(_image(url, part, place, index))
    return tuple(files)


def _explained(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Refuse what would be an answer of another form, in words that say what to do."""
    if isinstance(n := body.get("n"), int) and n > 1:
        raise BadRequest("n: should be 1: there is one answer. Send the request again for another one.")
    match body.get("response_format"):
        case {"type": "json_schema"}:
            raise BadRequest("response_format: should be of the type 'text': answers cannot follow a JSON schema here.")
        case _:
            return body


def _flat(place: int, message: Json) -> Json:
    """A message as the other protocols have it: the texts of its parts in one string."""
    if not isinstance(message, dict):
        return message
    if message.get("role") == "developer":
        message = message | {"role": "system"}
    if isinstance(parts := message.get("content"), list):
        if len(parts) > MOST_PARTS:
            raise BadRequest(f"messages[{place}].content: should have at most {MOST_PARTS} parts.")
        texts = [_text(f"messages[{place}].content[{number}]", part) for number, part in enumerate(parts)]
        message = message | {"content": "\n\n".join(text for text in texts if text is not None)}
    return message


def _text(path: str, part: Json) -> str | None:
    """The text of a part; None for an image."""
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image_url", "image_url": {"url": str(url)}} if url.startswith("data:image/"):
            return None
        case {"type": "image_url"}:
            raise BadRequest(
                f"{path}.image_url.url: should be a data: URL of an image; nothing is fetched from elsewhere."
            )
        case _:
            raise BadRequest(f"{path}: should be a text or an image: its type is neither 'text' nor 'image_url'.")


def _images(place: int, message: Json) -> Iterator[tuple[str, str]]:
    """The name and the URL of each image of a message."""
    if isinstance(message, dict) and isinstance(parts := message.get("content"), list):
        for number, part in enumerate(parts):
            match part:
                case {"type": "image_url", "image_url": {"url": str(url)}}:
                    yield f"messages[{place}].content[{number}]", url
                case _:
                    pass


def _image(url: str, part: str, place: int, index: int) -> Attachment:
    kind, _, data = url.removeprefix("data:").partition(",")
    media_type, *parameters = kind.lower().split(";")
    try:
        image = a2b_base64(data.encode("ascii"), strict_mode=True) if "base64" in parameters else b""
    except (Base64Error, UnicodeEncodeError):
        image = b""
    if not image:
        raise BadRequest(f"{part}.image_url.url: should be a data: URL with the image in base64.")
    return Attachment(part, place, index, "", media_type, None, image)
