"""What routes say of themselves whose handlers do not: those of one wire, and second paths of a handler."""

from collections.abc import Mapping
from copy import replace
from functools import partial
from typing import Any

from shared.errors import (
    BadRequest,
    BegunAnew,
    InternalError,
    NotAllowed,
    NotConfigured,
    NotFound,
    NotSignedIn,
    RateLimited,
    TooSlow,
    Unavailable,
)
from shared.triggers.content import get_content
from shared.triggers.runs import delete_run, get_run
from shared.wire.framing import SSE
from shared.wire.table import NAMES
from tools.description.described import BODY_ERRORS, CHAT_ERRORS, Answer, Description, Parameter, Question
from tools.description.handlers import description_of
from tools.description.protocols import described_by

WHOLE = object()
"""In place of a type: a whole answer of the route's protocol."""
RECORD = object()
"""In place of a type: a record of a stream in the route's protocol."""
_OPENAIS = described_by("[OpenAI's reference](https://platform.openai.com/docs/api-reference)")
_RESPONSE_ID = Parameter("path", "id", "The response's id.")
_response = partial(Description, errors=(NotFound, TooSlow), visible=False)
_resume = partial(
    Description,
    {
        200: Answer("The answer.", RECORD, SSE.content_type, streams=True),
        204: Answer("No answer is being made."),
    },
    (Parameter("path", "id", "The chat's id, which the client made."),),
    visible=False,
    text="""Resume the answer of a chat.

    The answer that the chat's last question gets, from its beginning, if its request was 'resumable'.
    """,
)
_stop = partial(
    Description,
    {204: Answer("No answer is being made any more.")},
    (Parameter("path", "id", "The chat's id, which the client made."),),
    visible=False,
    text="""Stop the answer of a chat.

    The one that goes on after its page has left, if its request was 'resumable'.
    """,
)
_WHOLE_OR_STREAM = Question(team=False, streams=False, bare="")

_models = partial(
    Description,
    {200: Answer("The models.", _OPENAIS)},
    text="""List the models.

    What a request may name as its `model`.
    """,
)
_content = description_of(get_content)
_CONVERSATION_ID = Parameter("path", "id", "The conversation's id.")
_ANY = dict[str, Any]
_bot = partial(Description, tag="chat", visible=False)
_BOT_ERRORS = (*BODY_ERRORS, NotFound, Unavailable)
_PROTOCOL = Parameter(
    "path", "protocol", "The name of a protocol; the answer does not depend on it.", values=tuple(NAMES)
)
_MCP_ERRORS = {
    400: "The message cannot be read, or does not keep the protocol.",
    401: "The caller is not signed in.",
    403: "The caller, or the origin of the web page, may not do this.",
    404: "There is no such method (revision 2026-07-28).",
    408: "The body arrives too slowly.",
    413: "The body is too large.",
    429: "The caller has reached a limit.",
    500: "An internal error.",
    503: "A setting is missing or wrong, or the app has no memory for the body now.",
}

OWN_ROUTES: Mapping[tuple[str, str], Description] = {
    ("POST", "ag-ui"): Description(
        operation="ag_ui",
        text="""Stream an answer to a conversation to an AG-UI client.

        The same as `/ag-ui/chat`, at the URL that a client is given for its agent.
        """,
        visible=False,
        errors=CHAT_ERRORS,
        question=Question(team=False, streams=True, bare=""),
    ),
    ("GET", "ai-sdk/chat/{id}/stream"): _resume(operation="resume_ai_sdk"),
    ("GET", "ai-sdk/multi-agent-chat/stream/{id}/stream"): _resume(operation="resume_ai_sdk_team"),
    ("DELETE", "ai-sdk/chat/{id}/stream"): _stop(operation="stop_ai_sdk"),
    ("DELETE", "ai-sdk/multi-agent-chat/stream/{id}/stream"): _stop(operation="stop_ai_sdk_team"),
    ("POST", "v1/chat/completions"): Description(
        operation="chat_completions",
        text="""Answer a conversation at OpenAI's route.

        Answers the last message, whole or streamed as the body says; the model says who answers: `switchboard`, the
        team of agents or one of them.
        """,
        errors=CHAT_ERRORS,
        question=_WHOLE_OR_STREAM,
    ),
    ("POST", "openai/deployments/{deployment}/chat/completions"): Description(
        operation="azure_chat_completions",
        parameters=(Parameter("path", "deployment", "Any name: the answer is this app's."),),
        text="""Answer a conversation at Azure OpenAI's route.

        For clients of Azure OpenAI On Your Data: the sources come first, and the text names them as `[doc1]`.
        """,
        errors=CHAT_ERRORS,
        question=_WHOLE_OR_STREAM,
    ),
    ("POST", "openai/v1/chat/completions"): Description(
        operation="azure_v1_chat_completions",
        text="""Answer a conversation at Azure OpenAI's newer route.

        The same for clients that name the deployment in `model`.
        """,
        errors=CHAT_ERRORS,
        question=_WHOLE_OR_STREAM,
    ),
    ("GET", "openai/models"): _models(operation="azure_models"),
    ("GET", "openai/v1/models"): _models(operation="azure_v1_models"),
    ("GET", "v1/models"): _models(),
    ("GET", "v1/models/{id}"): Description(
        {200: Answer("The model.", _OPENAIS)},
        (Parameter("path", "id", "The model's name."),),
        errors=(NotFound,),
        text="""Get a model.

        Whether there is a model of this name.
        """,
    ),
    ("POST", "v1/responses"): Description(
        operation="create_response",
        text="""Answer a conversation at OpenAI's newer route.

        Answers the last message of the input, whole or streamed as the body says. The answer is kept for a day, unless
        `store` is false.
        """,
        errors=CHAT_ERRORS,
        question=_WHOLE_OR_STREAM,
    ),
    ("GET", "v1/responses/{id}"): _response(
        {200: Answer("The response.", WHOLE)},
        (
            _RESPONSE_ID,
            Parameter("query", "stream", "`true`: a stream of its events."),
            Parameter("query", "starting_after", "With `stream`: number of the last event that was read."),
        ),
        errors=(NotFound, TooSlow, BadRequest, BegunAnew),
        text="""Get a response.

        As it stands now, or as a stream.
        """,
    ),
    ("GET", "v1/responses/{id}/input_items"): _response(
        {200: Answer("The items.", _OPENAIS)},
        (_RESPONSE_ID, Parameter("query", "order", "Default: the newest first.", values=("asc", "desc"))),
        text="""List the input of a response.

        The messages that it answers, with those before.
        """,
    ),
    ("DELETE", "v1/responses/{id}"): _response(
        {200: Answer("It is gone.", _OPENAIS)},
        (_RESPONSE_ID,),
        text="""Delete a response.

        Stops it, if it is being made, and deletes all that is kept of it.
        """,
    ),
    ("POST", "v1/responses/{id}/cancel"): _response(
        {200: Answer("The response.", WHOLE)},
        (_RESPONSE_ID,),
        errors=(NotFound, TooSlow, BadRequest),
        text="""Stop a response.

        Only one that is made in the background.
        """,
    ),
    ("POST", "mcp"): Description(
        {
            200: Answer("The response.", "McpResult | McpError"),
            202: Answer("A notification was taken."),
            **{status: Answer(meaning, "McpError") for status, meaning in _MCP_ERRORS.items()},
        },
        tag="mcp",
        visible=False,
        body="McpMessage",
        text="""Send a message of the Model Context Protocol.

        Tools for agents: search the documents, read one, ask a question. A tool that fails is a result with isError.
        """,
    ),
    ("GET", "mcp/oauth-protected-resource"): Description(
        {200: Answer("The metadata.", "McpSignIn")},
        errors=(NotFound, InternalError, NotConfigured),
        visible=False,
        text="""Where users of MCP clients sign in.

        The metadata to which the answer to an MCP client without a token leads, where the app takes tokens of users.
        """,
    ),
    ("POST", "messages"): _bot(
        {
            200: Answer("What is said, where the activity wants it in the response, or the result of an invoke.", Any),
            202: Answer("It is taken. What is said is sent to the conversation."),
        },
        errors=(*BODY_ERRORS, NotFound, NotSignedIn, NotAllowed, RateLimited, InternalError, Unavailable),
        body="ActivityMessage",
        text="""Take an activity of Azure Bot Service.

        For Teams, Microsoft 365 Copilot and other channels, with the service's own token. A question is answered in its
        conversation.
        """,
    ),
    ("POST", "directline/tokens/generate"): _bot(
        {200: Answer("A token and a conversation.", _ANY)},
        text="""Get a token for Direct Line.

        It is the one that the caller has sent.
        """,
    ),
    ("POST", "directline/tokens/refresh"): _bot(
        {200: Answer("The same token.", _ANY)},
        operation="refresh_token",
        text="Get the token for Direct Line again: it is valid as long as the caller's own.",
    ),
    ("POST", "directline/conversations"): _bot(
        {201: Answer("The conversation.", _ANY)},
        errors=_BOT_ERRORS,
        text="""Begin a conversation of Direct Line.

        The app welcomes the user in it.
        """,
    ),
    ("GET", "directline/conversations/{id}"): _bot(
        {200: Answer("The conversation.", _ANY)},
        (_CONVERSATION_ID,),
        operation="find_conversation",
        text="Go on with a conversation of Direct Line.",
    ),
    ("GET", "directline/conversations/{id}/activities"): _bot(
        {200: Answer("The activities, and the `watermark` for the next request.", _ANY)},
        (
            _CONVERSATION_ID,
            Parameter("query", "watermark", "Where the activities begin: that of the response before."),
        ),
        errors=(BadRequest, NotFound, Unavailable),
        text="Get what was said in a conversation of Direct Line.",
    ),
    ("POST", "directline/conversations/{id}/activities"): _bot(
        {200: Answer("The id of the activity.", _ANY)},
        (_CONVERSATION_ID,),
        errors=_BOT_ERRORS,
        body="ActivityMessage",
        text="""Say something in a conversation of Direct Line.

        The answer comes with the activities of the conversation.
        """,
    ),
    ("GET", "multi-agent-chat/batches/{id}"): replace(
        description_of(get_run),
        operation="get_batch",
        text="""Get the answer of a batch.

        202 until it has ended; then what the request would have been answered with, or the answer's own error.
        """,
    ),
    ("DELETE", "multi-agent-chat/batches/{id}"): replace(
        description_of(delete_run),
        operation="delete_batch",
        text="""Stop a batch and delete it.

        The model's work for it stops within seconds.
        """,
    ),
    ("GET", "{protocol}/content/{*path}"): replace(
        _content,
        operation="get_pinned_content",
        parameters=(
            Parameter(
                "path", "protocol", "The name of a protocol; the answer does not depend on it.", values=tuple(NAMES)
            ),
            *_content.parameters,
        ),
        visible=False,
    ),
}
"""By method and path."""
