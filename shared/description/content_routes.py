"""The routes of source documents, as data."""

from shared.description.routes import Answer, ErrorType, PlainRoute
from shared.description.schemas import (
    BOOLEAN,
    INTEGER,
    STRING,
    Schema,
    constant,
    described,
    list_of,
    nullable,
    record,
)
from shared.errors import (
    AlreadyThere,
    BadRequest,
    InternalError,
    NotAllowed,
    NotConfigured,
    NotFound,
    NotSignedIn,
    Overloaded,
    RateLimited,
    TooLarge,
    TooSlow,
    TooSlowBody,
    Unavailable,
)
from shared.wire.table import NAMES

_PATH: Schema = {
    "name": "path",
    "in": "path",
    "required": True,
    "description": "The document's path as answers cite it, with or without '#page=…'.",
    "schema": STRING,
}
_PROTOCOL: Schema = {
    "name": "protocol",
    "in": "path",
    "required": True,
    "description": "The name of a protocol; the answer does not depend on it.",
    "schema": {"type": "string", "enum": [*NAMES]},
}
_RANGE: Schema = {
    "name": "Range",
    "in": "header",
    "required": False,
    "description": "The bytes to send, such as 'bytes=0-1023'.",
    "schema": STRING,
}
_CONTENT_ERRORS: tuple[ErrorType, ...] = (
    NotSignedIn,
    NotAllowed,
    NotFound,
    RateLimited,
    InternalError,
    Unavailable,
    NotConfigured,
    TooSlow,
)


def _content(template: str, operation: str, *parameters: Schema) -> tuple[PlainRoute, ...]:
    """The routes of a document, below a protocol if there are parameters."""
    return (
        PlainRoute(
            template,
            "get",
            f"get_{operation}",
            "documents",
            "Get a source document",
            "Sends a document that an answer cites, as a whole or in part.",
            _CONTENT_ERRORS,
            visible=not parameters,
            answers={
                200: Answer("The document.", "*/*", {"type": "string", "format": "binary"}),
                206: Answer("The part that was asked for.", "*/*", {"type": "string", "format": "binary"}),
                304: Answer("The caller has this version already, by If-None-Match or If-Modified-Since.", None),
                416: Answer("The document has no such part; Content-Range contains its size in bytes.", None),
            },
            parameters=(*parameters, _PATH, _RANGE),
        ),
        PlainRoute(
            template,
            "head",
            f"head_{operation}",
            "documents",
            "Look for a source document",
            "Sends the headers of GET without the document.",
            (),
            visible=False,
            answers={
                200: Answer("The document exists.", None),
                304: Answer("The caller has this version already.", None),
                401: Answer("The caller is not signed in.", None),
                403: Answer("The caller may see no document.", None),
                404: Answer("There is no such document.", None),
                429: Answer("A service refuses further requests for now.", None),
                500: Answer("An internal error.", None),
                503: Answer("A setting is missing or wrong, or a service cannot be used.", None),
                504: Answer("A service did not answer in time.", None),
            },
            parameters=(*parameters, _PATH),
        ),
    )


_LISTED = record(
    {
        "name": described(STRING, "Its path, as answers cite it."),
        "type": described(STRING, "The media type."),
        "size": described(INTEGER, "Bytes."),
        "last_modified": described(STRING, "ISO 8601, in UTC."),
        "passages": described(INTEGER, "Passages in the index that the caller may see; 0: it is not indexed."),
        "pages": described(nullable(INTEGER), "Pages that they are on; null: not known."),
    }
)
_STEP = record(
    {"state": described(STRING, "reading, embedding, writing; the last one: indexed or failed.")},
    {"name": STRING, "detail": described(STRING, "With the last state: how many passages, or why it failed.")},
)
_WRITE_ERRORS: tuple[ErrorType, ...] = (BadRequest, *_CONTENT_ERRORS)


def _query(name: str, description: str, schema: Schema = STRING) -> Schema:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


_DOCUMENT_ROUTES: tuple[PlainRoute, ...] = (
    PlainRoute(
        "documents",
        "get",
        "list_documents",
        "documents",
        "List the documents",
        "The documents that the caller may see, by name. The Link header has the next page.",
        (*(error for error in _WRITE_ERRORS if error is not NotFound), TooLarge),
        answers={
            200: Answer(
                "The documents.",
                "application/json",
                record(
                    {
                        "documents": list_of(_LISTED),
                        "may_write": described(BOOLEAN, "Whether the caller may upload and delete documents."),
                    }
                ),
            )
        },
        parameters=(
            _query("search", "A part of the names."),
            _query("after", "Only names behind this one."),
            _query("limit", "Documents a page, 1 to 100.", {"type": "integer", "minimum": 1, "maximum": 100}),
        ),
    ),
    PlainRoute(
        "documents/{*path}",
        "put",
        "put_document",
        "documents",
        "Upload a document into the index",
        "The body is the document, of up to 20 MiB. The answer has a line for each step, and one for the outcome.",
        (*(error for error in _WRITE_ERRORS if error is not NotFound), TooLarge, TooSlowBody, Overloaded, AlreadyThere),
        visible=False,
        answers={
            200: Answer("The steps, as JSON Lines.", "application/jsonl", _STEP, streams=True),
            202: Answer(
                "The document is in its container, whose trigger indexes it.",
                "application/json",
                record({"name": STRING, "state": constant("queued"), "detail": STRING}),
            ),
        },
        parameters=(_PATH, _query("overwrite", "Whether a document of this name is replaced.", BOOLEAN)),
    ),
    PlainRoute(
        "documents/{*path}",
        "delete",
        "delete_document",
        "documents",
        "Delete a document",
        "Deletes it from the store and from the index.",
        _CONTENT_ERRORS,
        visible=False,
        answers={204: Answer("It is deleted.", None)},
        parameters=(_PATH,),
    ),
)

CONTENT_ROUTES: tuple[PlainRoute, ...] = (
    *_DOCUMENT_ROUTES,
    *_content("content/{*path}", "content"),
    *_content("{protocol}/content/{*path}", "pinned_content", _PROTOCOL),
)
"""The routes, in the documents' order."""
