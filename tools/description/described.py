"""What a route says of itself: the OpenAPI document is made of it.

Title and description are the handler's docstring: its first sentence, and the paragraphs below.
"""

from collections.abc import Mapping
from typing import Any, Literal

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
