"""The routes of source documents, as data."""

from shared.description.routes import Answer, ErrorType, PlainRoute
from shared.description.schemas import STRING, Schema
from shared.errors import (
    InternalError,
    NotAllowed,
    NotConfigured,
    NotFound,
    NotSignedIn,
    RateLimited,
    TooSlow,
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


CONTENT_ROUTES: tuple[PlainRoute, ...] = (
    *_content("content/{*path}", "content"),
    *_content("{protocol}/content/{*path}", "pinned_content", _PROTOCOL),
)
"""The routes, in the documents' order."""
