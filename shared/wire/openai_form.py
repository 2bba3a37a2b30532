"""The form of an answer in the requests of OpenAI's two protocols: a text, or JSON for a program.

Source: OpenAI API reference, `response_format` and `text.format`; its guide 'Structured model outputs'.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from shared.chat_types import Json, JsonForm
from shared.errors import BadRequest, TooLarge
from shared.wire.framing import encode_json
from shared.wire.request_body import BodyModel
from shared.wire.tools_body import DEEPEST, is_deeper

_MOST_BYTES = 64 * 1024
"""JSON of a schema, in bytes: the model reads it with each answer."""

type _Type = Annotated[
    Literal["text", "json_object", "json_schema"],
    Field(description="A text, or JSON: any object, or what a schema says. The built-in model writes text only."),
]


class SchemaKeys(BodyModel):
    """A schema that the answer follows."""

    name: str | None = Field(default=None, pattern=r"^[a-zA-Z0-9_-]{1,64}$", description="A name, for the model.")
    description: str | None = Field(default=None, max_length=4_000, description="What the answer is for.")
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema", description="A JSON schema.")
    strict: bool | None = Field(default=None, description="Whether the model's service holds it to the schema.")


class ResponseFormat(BodyModel):
    """The form of the answer in `openai`."""

    type: _Type
    json_schema: SchemaKeys | None = None


class TextFormat(SchemaKeys):
    """The form of the answer in `openai-responses`."""

    type: _Type


def form_of(key: str, asked: ResponseFormat | TextFormat | None) -> JsonForm | None:
    """Return the form that a request asks for; None: a text.

    Args:
        key: The key of the request.
        asked: Its value.

    Raises:
        BadRequest: the schema is missing or too deep.
        TooLarge: it is too long.
    """
    if asked is None or asked.type == "text":
        return None
    if asked.type == "json_object":
        return JsonForm(key)
    keys = asked if isinstance(asked, TextFormat) else asked.json_schema or SchemaKeys()
    path = key if isinstance(asked, TextFormat) else f"{key}.json_schema"
    schema: dict[str, Json] | None = keys.json_schema
    if keys.name is None:
        raise BadRequest(f"{path}.name: is missing.")
    if schema is None:
        raise BadRequest(f"{path}.schema: is missing.")
    if is_deeper(schema, DEEPEST):
        raise BadRequest(f"{path}.schema: should have at most {DEEPEST} levels.")
    if len(encode_json(schema)) > _MOST_BYTES:
        raise TooLarge(f"{path}.schema: is over {_MOST_BYTES:,} bytes. Send a shorter one.")
    return JsonForm(key, keys.name, schema, keys.strict, keys.description)
