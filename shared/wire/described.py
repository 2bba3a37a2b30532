"""What a route says of itself, as data beside its handler. The OpenAPI document is made of it (`tools/description/`).

Title and description are the handler's docstring: its first sentence, and the paragraphs below.
"""

from collections.abc import Callable, Mapping
from copy import replace
from typing import Any, ClassVar, Literal

import msgspec

from shared.errors import (
    BadRequest,
    ContentFiltered,
    KeyReused,
    NotAllowed,
    Overloaded,
    SwitchboardError,
    TooLarge,
    TooSlow,
    TooSlowBody,
)

type Kind = Any
"""A type, with annotations or without; or as a text, with names of `tools/description/shapes/`."""
type ErrorType = type[SwitchboardError]

BODY_ERRORS: tuple[ErrorType, ...] = (BadRequest, TooSlowBody, TooLarge, Overloaded)
"""Errors of a route that takes a body."""
CHAT_ERRORS: tuple[ErrorType, ...] = (*BODY_ERRORS, ContentFiltered, NotAllowed, TooSlow, KeyReused)
"""Errors that a route can answer a question with."""


class Parameter(msgspec.Struct, frozen=True):
    """A part of the path, a parameter of the query, or a header."""

    place: Literal["path", "query", "header"]
    """Where it is."""
    name: str
    """Its name."""
    description: str
    """What it is."""
    kind: Kind = str
    """The type of its value."""
    values: tuple[str, ...] = ()
    """Its possible values; empty: all of the type."""


class Answer(msgspec.Struct, frozen=True):
    """The response of one status that is not one of our errors."""

    description: str
    """When it is sent, or what it is."""
    kind: Kind = None
    """The type of the body, or of each record of a stream; None: no body."""
    media_type: str = "application/json"
    """The type of the content."""
    streams: bool = False
    """Whether the body is a stream."""
    headers: tuple[Parameter, ...] = ()
    """Headers that it always has."""
    also: "Answer | None" = None
    """What those get instead who accept its media type."""


class Description(msgspec.Struct, frozen=True):
    """What a route says of itself."""

    answers: Mapping[int, Answer] = {}
    """Responses by status."""
    parameters: tuple[Parameter, ...] = ()
    """What it takes beside a body."""
    errors: tuple[ErrorType, ...] = ()
    """Errors that it can answer with, beside those that the door knows: of signing in, and of limits."""
    body: Kind = None
    """Type of the required JSON body; None: there is no body."""
    tag: str = ""
    """The group of routes; empty: the name of the route's protocol."""
    visible: bool = True
    """Whether workflow designers (Logic Apps, Power Automate) should offer it."""
    text: str = ""
    """Title and description, as in a docstring; empty: the handler's docstring."""
    operation: str = ""
    """The operation's id; empty: the handler's name."""
    question: "Question | None" = None
    """What else to know of a route that takes a question and answers in a protocol; None: it is no such route."""


class Question(msgspec.Struct, frozen=True):
    """A route that takes a question and answers in a protocol."""

    team: bool
    """Whether the team of agents answers."""
    streams: bool
    """Whether it always streams."""
    bare: str
    """The end of the title where the path names no protocol."""


class TableRoute[Handler: Callable[..., object]](msgspec.Struct, frozen=True):
    """A line of the table of routes."""

    name: str
    """Name of the function in Azure. The Functions host tries routes in the order of these names."""
    methods: str
    """The HTTP methods, separated by spaces; empty: all."""
    path: str
    """The path below the route prefix, with parameters as ASP.NET Core writes them."""
    handler: Handler
    """Answers, and is described."""
    protocol: str | None = None
    """The protocol of a path that names none; None: the request selects it, or the route speaks none."""
    counted: bool = True
    """Whether the request is counted in the caller's budget; False: it is not, or the handler does it."""
    spends: bool = True
    """Whether a caller who has used up all tokens is refused."""
    audited: bool = False
    """Whether each request is in the audit record: it changes what others see, or takes something away for good."""
    is_open: ClassVar[bool] = False
    """Whether nobody signs in."""


_described: dict[object, Description] = {}
"""By handler."""


def describes[Handler: Callable[..., object]](description: Description) -> Callable[[Handler], Handler]:
    """Decorate a handler with what its routes say of themselves."""

    def decorate(handler: Handler) -> Handler:
        _described[handler] = description
        return handler

    return decorate


def description_of(handler: Callable[..., object]) -> Description:
    """Return what the routes of a handler say of themselves."""
    return replace(_described[handler], text=handler.__doc__ or "")
