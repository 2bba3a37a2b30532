"""The routes of source documents, as data."""

from functools import partial
from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.description.routes import BODY_ERRORS, CALLER_ERRORS, Answer, Parameter, PlainRoute, with_head
from shared.description.schemas import one_of_these
from shared.errors import AlreadyThere, BadRequest, NotAllowed, NotFound, RateLimited, TooLarge, TooSlow, Unreadable
from shared.wire.table import NAMES

_PATH = Parameter("path", "path", "The document's path as answers cite it, with or without '#page=…'.")
_NAME = Parameter("path", "path", "The document's name: its path, as the list has it.")
_PROTOCOL = Parameter(
    "path", "protocol", "The name of a protocol; the answer does not depend on it.", one_of_these(NAMES)
)
_RANGE = Parameter("header", "Range", "The bytes to send, such as 'bytes=0-1023'.")
_LIST_ERRORS = (*CALLER_ERRORS, NotAllowed, RateLimited, TooSlow)
_ERRORS = (*_LIST_ERRORS, NotFound)
_route = partial(PlainRoute, tag="documents", errors=_ERRORS, visible=False)


def _content(template: str, operation: str, *parameters: Parameter) -> tuple[PlainRoute, ...]:
    """The routes of a document, below a protocol if there are parameters."""
    get = _route(
        "get",
        template,
        f"get_{operation}",
        "Get a source document",
        "Sends a document that an answer cites, as a whole or in part.",
        {
            200: Answer("The document.", bytes, "*/*"),
            206: Answer("The part that was asked for.", bytes, "*/*"),
            304: Answer("The caller has this version already, by If-None-Match or If-Modified-Since."),
            416: Answer("The document has no such part; Content-Range contains its size in bytes."),
        },
        (*parameters, _PATH, _RANGE),
        visible=not parameters,
    )
    return with_head(get)


class ListedDocument(TypedDict):
    """A document in the list."""

    name: Annotated[str, Field(description="Its path, as answers cite it.")]
    type: Annotated[str, Field(description="The media type.")]
    size: Annotated[int, Field(description="Bytes.")]
    last_modified: Annotated[str, Field(description="ISO 8601, in UTC.")]
    passages: Annotated[int, Field(description="Passages in the index that the caller may see; 0: it is not indexed.")]
    pages: Annotated[int | None, Field(description="Pages that they are on; null: not known.")]
    left_out: Annotated[str, Field(description="What was not read, such as 'hidden slides (3)'; empty: nothing known.")]


class Documents(TypedDict):
    """A page of the list of documents."""

    documents: list[ListedDocument]
    may_write: Annotated[bool, Field(description="Whether the caller may upload and delete documents.")]
    why_no_own: Annotated[str | None, Field(description="Why nobody has documents of their own here; null: they can.")]


class Room(TypedDict):
    """What a person's own documents take together, or may take."""

    documents: int
    bytes: int
    pages: Annotated[int, Field(description="Pages; of a document without pages its passages.")]


class OwnDocuments(TypedDict):
    """What somebody has added for themselves."""

    documents: list[ListedDocument]
    used: Room
    limits: Room
    kept_days: Annotated[int | None, Field(description="Days after which each is deleted; null: never.")]


class IndexedDocument(TypedDict):
    """A document that is indexed."""

    name: str
    state: Literal["indexed"]
    detail: Annotated[str, Field(description="How many passages, and what was not read.")]


class UploadStep(TypedDict):
    """A step of indexing a document."""

    state: Annotated[str, Field(description="reading, embedding, writing; the last one: indexed or failed.")]
    name: NotRequired[str]
    detail: NotRequired[Annotated[str, Field(description="With the last state: how many passages, or why it failed.")]]


class QueuedDocument(TypedDict):
    """A document that will be indexed later."""

    name: str
    state: Literal["queued"]
    detail: str


_DOCUMENT_ROUTES = (
    _route(
        "get",
        "documents",
        "list_documents",
        "List the documents",
        "The documents that the caller may see, by name. The Link header has the next page.",
        {200: Answer("The documents.", Documents)},
        (
            Parameter("query", "search", "A part of the names."),
            Parameter("query", "after", "Only names behind this one."),
            Parameter("query", "limit", "Documents a page, 1 to 100.", Annotated[int, Field(ge=1, le=100)]),
        ),
        errors=(*_LIST_ERRORS, BadRequest, TooLarge),
        visible=True,
    ),
    _route(
        "get",
        "documents/mine",
        "list_own_documents",
        "List the caller's own documents",
        "The documents that only the caller sees, which PUT and DELETE know by names that begin with mine/. "
        "404 says why nobody can have some.",
        {200: Answer("The documents, and how much room they have.", OwnDocuments)},
        visible=True,
    ),
    _route(
        "put",
        "documents/{*path}",
        "put_document",
        "Upload a document into the index",
        "The body is the document, of up to 20 MiB. Only the caller sees one whose name begins with mine/. Who accepts "
        "application/x-ndjson gets a line for each step, and one for the outcome; the status is then 200 as soon as "
        "the first step begins.",
        {
            200: Answer(
                "It is indexed, or the steps that lead there.",
                IndexedDocument,
                also=Answer("The steps.", UploadStep, "application/x-ndjson", streams=True),
            ),
            202: Answer("The document is in its container, whose trigger indexes it.", QueuedDocument),
        },
        (_NAME, Parameter("query", "overwrite", "Whether a document of this name is replaced.", bool)),
        errors=(*_ERRORS, *BODY_ERRORS, AlreadyThere, Unreadable),
    ),
    _route(
        "delete",
        "documents/{*path}",
        "delete_document",
        "Delete a document",
        "Deletes the document of exactly this name from the index and from the store; `mine`: all of the caller's own.",
        {204: Answer("It is deleted.")},
        (_NAME,),
        errors=(*_ERRORS, BadRequest, AlreadyThere),
    ),
)

CONTENT_ROUTES = (
    *_DOCUMENT_ROUTES,
    *_content("content/{*path}", "content"),
    *_content("{protocol}/content/{*path}", "pinned_content", _PROTOCOL),
)
"""The routes, in the documents' order."""
