"""Types of what the app says of itself, and of activities."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field, with_config

from tools.description.shapes.parts import Address


@with_config(extra="allow")
class Part(TypedDict):
    """A part of the app, with further facts such as counts."""

    kind: Annotated[str, Field(description="'embedded' or the service's name.")]
    ok: bool
    detail: Annotated[str, Field(description="What it is, or what is wrong and what to do.")]


class Health(TypedDict):
    """Whether the app can answer."""

    status: Literal["ok", "degraded", "unavailable"]
    parts: dict[str, Part]
    protocols: NotRequired[list[str]]
    caller: NotRequired[Address]
    error: NotRequired[Annotated[str, Field(description="What is wrong with the settings.")]]


@with_config(extra="allow")
class OpenapiDocument(TypedDict):
    """A document in OpenAPI 3.1."""

    openapi: Literal["3.1.0"]


@with_config(extra="allow")
class SwaggerDocument(TypedDict):
    """A document in Swagger 2.0."""

    swagger: Literal["2.0"]


class ActivityMessage(TypedDict):
    """An activity, as the Bot Framework has it."""

    type: Annotated[str, Field(description="Such as 'message', 'invoke', 'conversationUpdate'.")]
    id: NotRequired[str]
    channelId: NotRequired[str]
    serviceUrl: NotRequired[str]
    conversation: dict[str, Any]
    text: NotRequired[str]


class PlaygroundBegin(TypedDict):
    """What there is to ask about."""

    topics: list[Annotated[str, Field(description="A heading, a title, or a question that a document answers.")]]
    documents: Annotated[
        int | None,
        Field(description="How many documents the index has; null: not known, or not for this caller."),
    ]
    model: Annotated[str | None, Field(description="The model that answers; null: the documents are quoted.")]
    team: Annotated[
        list[str], Field(description="The agents of the team in AGENTS_FILE; empty: there is no such file.")
    ]
