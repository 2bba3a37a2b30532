"""Types of the routes of azure-search-openai-demo's page."""

from typing import Annotated, Any, TypedDict

from pydantic import Field, with_config


@with_config(extra="allow")
class DemoConfig(TypedDict):
    """The options that the page shows."""


class DemoScopes(TypedDict):
    """A request for a token."""

    scopes: list[str]


class DemoAuthSetup(TypedDict):
    """How users of the page sign in."""

    useLogin: Annotated[bool, Field(description="Whether the page signs users in.")]
    requireAccessControl: bool
    enableUnauthenticatedAccess: bool
    msalConfig: Annotated[dict[str, Any], Field(description="Configuration of MSAL.js.")]
    loginRequest: DemoScopes
    tokenRequest: DemoScopes


class DemoListedChat(TypedDict):
    """A chat in the list."""

    id: str
    entra_oid: str
    title: str
    timestamp: Annotated[int, Field(description="When it was last written, in Unix milliseconds.")]


class DemoChats(TypedDict):
    """The chats that the page has kept."""

    sessions: list[DemoListedChat]
    continuation_token: Annotated[str | None, Field(description="Where the next page of the list begins.")]


_Answer = Annotated[
    dict[str, Any], Field(description="The answer as it came, in the shape of every version of the page.")
]


class DemoChat(TypedDict):
    """A chat: each question with its answer."""

    id: str
    entra_oid: str
    answers: list[Annotated[list[str | _Answer], Field(min_length=2, max_length=2)]]


class DemoMessage(TypedDict):
    """What was done."""

    message: str


class DemoFileBody(TypedDict):
    """The document that is deleted."""

    filename: Annotated[str, Field(description="Its name, as the list has it.")]
