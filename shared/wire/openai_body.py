"""The request body of `openai`: OpenAI's keys, content in parts, and files in base64.

Source: OpenAI API reference, 'Create chat completion'. Keys that the app cannot honour are ignored, as other unknown
ones are, but for those whose answer would have another form: they are refused.
"""

from collections.abc import Iterator, Mapping
from copy import replace
from typing import Annotated, Literal, cast

from pydantic import FailFast, Field, SkipValidation

from shared.chat_types import ChatRequest, Json
from shared.errors import BadRequest
from shared.wire import openai_request as openai
from shared.wire.chat_body import LONGEST_CONVERSATION
from shared.wire.message_parts import SentFile, files_in, text_in
from shared.wire.openai_request import ResponseFormat, form_of
from shared.wire.request_body import BodyModel
from shared.wire.tools_body import MOST_TOOLS, FunctionKeys, NamedTool, refuse_other_kinds


class StreamOptions(BodyModel):
    """What a stream has besides the answer."""

    include_usage: bool | None = Field(default=None, description="Whether the last chunk has the tokens.")


class OpenaiTool(BodyModel):
    """A tool that the caller answers."""

    type: Literal["function"]
    function: FunctionKeys


class OpenaiKeys(openai.ModelKeys):
    """Keys of a request beyond those of all protocols."""

    tools: Annotated[list[OpenaiTool], FailFast()] | None = Field(default=None, max_length=MOST_TOOLS)
    tool_choice: SkipValidation[Literal["auto", "none", "required"] | NamedTool | None] = Field(
        default=None, description="Whether the model may, must not or must call one of the tools, or which one."
    )
    max_completion_tokens: int | None = Field(default=None, ge=1, description="The most tokens of the answer.")
    max_tokens: int | None = Field(default=None, ge=1, description="An older name of `max_completion_tokens`.")

    stream_options: StreamOptions | None = None
    n: int | None = Field(default=None, ge=1, le=1, description="There is one answer.")
    seed: int | None = Field(default=None, ge=-(2**63), le=2**63 - 1)
    response_format: ResponseFormat | None = None
    reasoning_effort: openai.Effort | None = None
    store: bool | None = Field(default=None, description="False: no record of the answer is kept, to judge it by.")


def parse(body: Mapping[str, Json]) -> ChatRequest:
    """Validate a body and turn it into a request, without its files.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
        NotFound: there is no model of that name.
    """
    keys = OpenaiKeys.read(_explained(body))
    if isinstance(messages := body.get("messages"), list):
        said = [_flat(place, message) for place, message in enumerate(messages[: LONGEST_CONVERSATION + 1])]
        match said:
            case [*_, {"role": "user"}, {"role": "user", "content": str(last)}] if not last.strip():
                del said[-1]  # Agent Framework's workflows hand a question on with an empty message
            case _:
                pass
        body = dict(body) | {"messages": said}
    request = openai.request_of(body, keys, form_of("response_format", keys.response_format))
    overrides = request.overrides
    if overrides.seed is None:
        overrides = replace(overrides, seed=keys.seed)
    include_usage = bool(keys.stream_options and keys.stream_options.include_usage)
    functions = [tool.function for tool in keys.tools or ()]
    return replace(
        openai.with_tools(request, keys, functions, cast("Json", keys.tool_choice)),
        overrides=overrides,
        reasoning_effort=keys.reasoning_effort,
        may_be_kept=keys.store is not False,
        max_tokens=keys.max_completion_tokens or keys.max_tokens,
        for_encoder=replace(openai.OpenaiDetails.of(request), include_usage=include_usage),
    )


def sent_files(body: Mapping[str, Json]) -> Iterator[tuple[int, SentFile]]:
    """Yield the files in the messages of a body that `parse` has accepted, as `Protocol.sent_files` does."""
    for place, message in enumerate(cast("list[dict[str, Json]]", body["messages"])):
        path = f"messages[{place}].content"
        yield from ((place, file) for file in files_in(path, message.get("content"), _part))


def _explained(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Refuse what would be an answer of another form, in words that say what to do."""
    if "input" in body and "messages" not in body:
        raise BadRequest(
            "input: is a key of Responses. Send this body to /v1/responses, or the conversation in 'messages'."
        )
    if isinstance(n := body.get("n"), int) and n > 1:
        raise BadRequest("n: should be 1: there is one answer. Send the request again for another one.")
    if body.get("functions"):
        raise BadRequest("functions: are the older form of 'tools'. Send them there, each as a 'function'.")
    refuse_other_kinds(body.get("tools"))
    return body


def _flat(place: int, message: Json) -> Json:
    """A message as the other protocols have it: the texts of its parts in one string."""
    if not isinstance(message, dict):
        return message
    if message.get("role") == "developer":
        message = message | {"role": "system"}
    parts = message.get("content")
    if parts is None and message.get("role") == "assistant":
        message = message | {"content": None}  # the SDKs leave it out beside tool calls
    if isinstance(parts, list):
        message = message | {"content": text_in(f"messages[{place}].content", parts, _part)}
    return message


def _part(path: str, part: Json) -> str | SentFile:
    """The text of a part, or the image or other file that it is."""
    match part:
        case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return text
        case {"type": "image_url", **keys}:
            image = keys.get("image_url")
            return openai.image_in(f"{path}.image_url.url", image.get("url") if isinstance(image, dict) else None)
        case {"type": "file", "file": dict(keys)}:
            return openai.file_in(f"{path}.file", keys)
        case {"type": "file"}:
            raise BadRequest(f"{path}.file: should be an object with 'file_data' and 'filename'.")
        case _:
            raise BadRequest(
                f"{path}: should be a text, an image or a file, of the type 'text', 'image_url' or 'file'."
            )
