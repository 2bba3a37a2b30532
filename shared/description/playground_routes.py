"""The routes of the playground's files and of the API's page, as data."""

from shared.description.routes import ABOUT_THE_APP, Answer, ErrorType, PlainRoute
from shared.description.schemas import STRING, Schema
from shared.errors import InternalError, NotConfigured, NotFound

_ERRORS: tuple[ErrorType, ...] = (NotFound, InternalError, NotConfigured)
_KNOWN = Answer("The caller has this version already, by If-None-Match.", None)


def _page(
    template: str, operation: str, summary: str, description: str, media_type: str, *parameters: Schema
) -> tuple[PlainRoute, ...]:
    """A page or a file, and a look at its headers."""
    return (
        PlainRoute(
            template,
            "get",
            f"get_{operation}",
            ABOUT_THE_APP,
            summary,
            description,
            _ERRORS,
            visible=False,
            answers={200: Answer("The text.", media_type, STRING), 304: _KNOWN},
            parameters=parameters,
        ),
        PlainRoute(
            template,
            "head",
            f"head_{operation}",
            ABOUT_THE_APP,
            f"{summary}: the headers alone",
            "Sends the headers of GET.",
            (),
            visible=False,
            answers={
                200: Answer("It is there.", None),
                304: _KNOWN,
                404: Answer("There is none, or the playground is off.", None),
                500: Answer("An internal error.", None),
                503: Answer("A setting is missing or wrong.", None),
            },
            parameters=parameters,
        ),
    )


def _in_path(name: str, description: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "description": description, "schema": STRING}


PLAYGROUND_ROUTES: tuple[PlainRoute, ...] = (
    *_page("docs", "api_page", "Show this description", "A page to read it, and to try what it says.", "text/html"),
    *_page(
        "playground/{digest}/{*path}",
        "playground_file",
        "Get a file of the playground",
        "Browsers may keep it for ever: it is at another address when any file has changed.",
        "*/*",
        _in_path("digest", "The digest of all files, as the page has it."),
        _in_path("path", "The file's path."),
    ),
)
"""The routes, in the documents' order."""
