"""What the routes of a handler say of themselves, by the handler. Its docstring is their text."""

from collections.abc import Callable, Mapping
from copy import replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from shared.errors import (
    AlreadyThere,
    BadRequest,
    BegunAnew,
    ContentFiltered,
    Decided,
    InternalError,
    NotAllowed,
    NotConfigured,
    NotFound,
    RateLimited,
    Stopped,
    TooLarge,
    TooSlow,
    Unreadable,
)
from shared.history import MAX_LISTED
from shared.triggers import (
    about,
    approvals,
    chat,
    chat_history,
    companion,
    content,
    demo_page,
    documents,
    feedback,
    own_documents,
    playground,
    runs,
)
from shared.verdicts import MOST_LISTED
from shared.wire import demo_page as demo_bodies
from shared.wire import feedback_body, history_body, rai_body, run_body
from shared.wire.framing import SSE
from shared.wire.table import DEMO_NAMES
from tools.description.described import BODY_ERRORS, CHAT_ERRORS, Answer, Description, Kind, Parameter, Question

PENDING = Answer(
    "The answer is not there yet: ask again at the address in Location.",
    "Run",
    headers=(
        Parameter("header", "Location", "The answer's address, absolute."),
        Parameter("header", "Retry-After", "Seconds to wait.", Annotated[int, Field(ge=1)]),
    ),
)
"""The response while an answer is not there yet."""
_document = partial(Description, errors=(InternalError,), visible=False)
_CHAT_ID = Parameter("path", "id", "The chat's id.")
_CHATS_PAGE = (
    Parameter("query", "mode", "The kind of chat.", history_body.ChatMode),
    Parameter(
        "query",
        "limit",
        "The number of chats in a page, at most.",
        Annotated[int, Field(ge=1, le=MAX_LISTED, default=MAX_LISTED)],
    ),
    Parameter(
        "query",
        "search",
        "Only chats whose title and texts have these words. A page looks at so many chats, and may have none of them.",
        Annotated[str, Field(max_length=history_body.LONGEST_SEARCH)],
    ),
    Parameter("query", "pinned", "Only pinned chats.", Literal["true"]),
    Parameter(
        "query", "shared", "Only chats that are shared. A page looks at so many, and may have none.", Literal["true"]
    ),
    Parameter("query", "cursor", "Where the page begins, as the `Link` header of the page before says."),
)
_history = partial(Description, tag="history", errors=(BadRequest, NotFound))
_SHARE_ERRORS = (BadRequest, NotFound, NotAllowed, TooLarge)
_DEMO_PROTOCOL = Parameter("path", "protocol", "A protocol that the page speaks.", values=tuple(DEMO_NAMES))
_OPEN_ERRORS = (NotFound, InternalError, NotConfigured)


def _demo_setup(kind: Kind) -> Description:
    answers = {200: Answer("The answer.", kind)}
    return Description(answers, (_DEMO_PROTOCOL,), errors=_OPEN_ERRORS, visible=False)


_demo_chats = partial(Description, errors=(BadRequest, NotFound), tag="history", visible=False)
_DOCUMENT_NAME = Parameter("path", "path", "The document's name: its path, as the list has it.")
_documents = partial(Description, tag="documents", errors=(NotAllowed, TooSlow, NotFound), visible=False)
_demo_documents = partial(Description, parameters=(_DEMO_PROTOCOL,), tag="documents", visible=False)
_VERDICTS_PAGE = (
    Parameter(
        "query",
        "limit",
        "The number of verdicts in a page, at most.",
        Annotated[int, Field(ge=1, le=MOST_LISTED, default=MOST_LISTED)],
    ),
    Parameter("query", "after", "Where the page begins, as the `Link` header of the page before says."),
)
_safety = partial(
    Description,
    tag="safety",
    errors=(*BODY_ERRORS, TooSlow),
    body="SafetyBody",
)
_RUN_ID = Parameter("path", "id", "The answer's id.")
_LAST_EVENT = Parameter(
    "header",
    "Last-Event-ID",
    "The id of the last event that the page has seen: the stream goes on after it.",
)
_AFTER = Parameter(
    "query", "starting_after", "The number of the last record that was read, from 0: the stream goes on after it."
)
_run = partial(Description, tag="chat", errors=(NotFound, TooSlow))
_OPERATED = _run({204: Answer("It is done.")}, (_RUN_ID,), errors=(NotFound, TooSlow, NotAllowed, Decided))
_APPROVAL_ID = Parameter("path", "id", "The approval's id.")
_approval = partial(Description, tag="chat", errors=(NotFound, TooSlow))


def _file(media_type: str, *parameters: Parameter) -> Description:
    """Describe a page or a file."""
    known = Answer("The caller has this version already, by If-None-Match.")
    answers = {200: Answer("The text.", str, media_type), 304: known}
    return Description(answers, parameters, errors=(NotFound, InternalError, NotConfigured), visible=False)


_question = partial(Description, errors=CHAT_ERRORS, tag="chat")
_BARE, _OF_TEAM = "in the protocol that the body speaks", "in Semantic Kernel's shape"

_HANDLERS: Mapping[Callable[..., object], Description] = {
    about.get_health: Description(
        {
            200: Answer("Every part that answers need can be used.", "Health"),
            503: Answer("A part cannot be used, or a setting is missing or wrong.", "Health"),
        },
        errors=(InternalError,),
    ),
    about.get_openapi: _document({200: Answer("The description.", "OpenapiDocument")}),
    about.get_swagger: _document({200: Answer("The description.", "SwaggerDocument")}),
    chat_history.list_chats: _history({200: Answer("The chats.", "list[Chat]")}, _CHATS_PAGE),
    chat_history.start_chat: _history(
        {201: Answer("The chat.", "Chat")}, body=history_body.NewChatBody, errors=(NotFound, *BODY_ERRORS)
    ),
    chat_history.get_chat_messages: _history({200: Answer("The messages.", "list[ChatMessage]")}, (_CHAT_ID,)),
    chat_history.update_chat: _history(
        {200: Answer("The chat as it is now.", "Chat")},
        (_CHAT_ID,),
        errors=(NotFound, *BODY_ERRORS),
        body=history_body.MessagesBody,
    ),
    chat_history.delete_chat: _history({204: Answer("The chat is deleted.")}, (_CHAT_ID, _CHATS_PAGE[0])),
    chat_history.delete_chats: _history({204: Answer("No chat is left.")}),
    chat_history.share_chat: _history({201: Answer("The link.", "ChatLink")}, (_CHAT_ID,), errors=_SHARE_ERRORS),
    chat_history.get_share: _history(
        {200: Answer("The link.", "ChatLink"), 204: Answer("The chat is not shared.")}, (_CHAT_ID,)
    ),
    chat_history.stop_sharing_chat: _history(
        {204: Answer("The chat is not shared.")}, (_CHAT_ID,), errors=_SHARE_ERRORS
    ),
    chat_history.get_shared_chat: _history(
        {200: Answer("The copy.", "SharedChat")},
        (Parameter("path", "id", "The id of its link."),),
        errors=_SHARE_ERRORS,
    ),
    demo_page.get_demo_config: _demo_setup("DemoConfig"),
    demo_page.get_demo_auth_setup: _demo_setup("DemoAuthSetup"),
    demo_page.list_demo_chats: _demo_chats(
        {200: Answer("The chats.", "DemoChats")},
        (
            _DEMO_PROTOCOL,
            Parameter("query", "count", "How many chats.", Annotated[int, Field(ge=1, le=demo_bodies.MAX_DEMO_CHATS)]),
            Parameter("query", "continuationToken", "The token of the list before."),
        ),
    ),
    demo_page.get_demo_chat: _demo_chats({200: Answer("The chat.", "DemoChat")}, (_DEMO_PROTOCOL, _CHAT_ID)),
    demo_page.keep_demo_chat: _demo_chats(
        {201: Answer("The chat is kept.", dict[str, Any])},
        (_DEMO_PROTOCOL,),
        errors=(BadRequest, NotFound, TooLarge),
        body=demo_bodies.DemoChatBody,
    ),
    demo_page.delete_demo_chat: _demo_chats({204: Answer("The chat is deleted.")}, (_DEMO_PROTOCOL, _CHAT_ID)),
    demo_page.demo_speech: Description({}, (_DEMO_PROTOCOL,), errors=_OPEN_ERRORS, visible=False),
    documents.list_documents: _documents(
        {200: Answer("The documents.", "Documents")},
        (
            Parameter("query", "search", "A part of the names."),
            Parameter("query", "after", "Only names behind this one."),
            Parameter("query", "limit", "Documents a page, 1 to 100.", Annotated[int, Field(ge=1, le=100)]),
        ),
        errors=(NotAllowed, TooSlow, BadRequest, TooLarge),
        visible=True,
    ),
    documents.put_document: _documents(
        {
            200: Answer(
                "It is indexed, or the steps that lead there.",
                "IndexedDocument",
                also=Answer("The steps.", "UploadStep", "application/x-ndjson", streams=True),
            ),
            202: Answer("The document is in its container, whose trigger indexes it.", "QueuedDocument"),
        },
        (_DOCUMENT_NAME, Parameter("query", "overwrite", "Whether a document of this name is replaced.", bool)),
        errors=(NotAllowed, TooSlow, NotFound, *BODY_ERRORS, AlreadyThere, Unreadable),
    ),
    documents.delete_document: _documents(
        {204: Answer("It is deleted.")},
        (_DOCUMENT_NAME,),
        errors=(NotAllowed, TooSlow, NotFound, BadRequest, AlreadyThere),
    ),
    own_documents.list_own_documents: Description(
        {200: Answer("The documents, and how much room they have.", "OwnDocuments")},
        tag="documents",
        errors=(NotAllowed, TooSlow, NotFound),
    ),
    own_documents.demo_upload: _demo_documents(
        {200: Answer("It is indexed.", "DemoMessage")}, errors=(NotFound, *BODY_ERRORS, AlreadyThere, Unreadable)
    ),
    own_documents.demo_list_uploaded: _demo_documents({200: Answer("The names.", list[str])}, errors=(NotFound,)),
    own_documents.demo_delete_uploaded: _demo_documents(
        {200: Answer("It is deleted.", "DemoMessage")},
        errors=(NotFound, *BODY_ERRORS, AlreadyThere),
        body="DemoFileBody",
    ),
    feedback.give_feedback: Description(
        {200: Answer("It replaces what the caller said before.", "Feedback"), 201: Answer("It is kept.", "Feedback")},
        errors=(NotFound, *BODY_ERRORS),
        body=feedback_body.FeedbackBody,
        tag="feedback",
    ),
    feedback.list_feedback: Description(
        {200: Answer("What was said, with the answers.", "FeedbackPage")},
        _VERDICTS_PAGE,
        errors=(BadRequest, NotFound, NotAllowed),
        tag="feedback",
    ),
    companion.analyze_safety: _safety({200: Answer("The analysis.", "SafetyAnalysis")}),
    companion.analyze_safety_stream: _safety(
        {200: Answer("The events.", "SafetyRecord", rai_body.ANALYSIS_LINES.content_type, streams=True)},
        visible=False,
    ),
    content.get_content: Description(
        {
            200: Answer("The document.", bytes, "*/*"),
            206: Answer("The part that was asked for.", bytes, "*/*"),
            304: Answer("The caller has this version already, by If-None-Match or If-Modified-Since."),
            416: Answer("The document has no such part; Content-Range contains its size in bytes."),
        },
        (
            Parameter("path", "path", "The document's path as answers cite it, with or without '#page=…'."),
            Parameter("header", "Range", "The bytes to send, such as 'bytes=0-1023'."),
        ),
        errors=(NotAllowed, RateLimited, TooSlow, NotFound),
        tag="documents",
    ),
    runs.get_run: _run(
        {200: Answer("The answer, in the protocol of the request.", Any), 202: PENDING},
        (_RUN_ID,),
        # with those that an answer can have ended with
        errors=(NotFound, TooSlow, BadRequest, ContentFiltered, NotAllowed, Stopped, TooLarge),
    ),
    runs.delete_run: _run({204: Answer("It is deleted.")}, (_RUN_ID,)),
    runs.follow_run: _run(
        {200: Answer("The records.", Any, SSE.content_type, streams=True)},
        (_RUN_ID, _LAST_EVENT, _AFTER),
        errors=(NotFound, TooSlow, BadRequest, BegunAnew, NotAllowed, TooLarge),
        visible=False,
    ),
    runs.list_runs: _run(
        {200: Answer("The runs.", "ListedRuns")},
        (
            Parameter("query", "state", "Only those that stand so: queued, running, stuck, waiting or failed."),
            Parameter("query", "limit", "Runs in a page, 1 to 100.", Annotated[int, Field(ge=1, le=100)]),
            Parameter("query", "after", "Where the page begins: `next` of the page before."),
        ),
        errors=(NotFound, TooSlow, NotAllowed, BadRequest),
    ),
    runs.stop_run: _OPERATED,
    runs.retry_run: _OPERATED,
    runs.follow_batch: _run(
        {
            200: Answer("The events.", "list[Any] | RunEnd", SSE.content_type, streams=True),
            204: Answer("The page has seen the end."),
        },
        (_RUN_ID, _LAST_EVENT),
        visible=False,
    ),
    approvals.list_approvals: _approval(
        {200: Answer("The approvals.", "Approvals")},
        (
            Parameter("query", "state", "open, or decided: those that are decided or were not in time."),
            Parameter("query", "limit", "Approvals in a page, at most.", Annotated[int, Field(ge=1)]),
            Parameter("query", "after", "Where the page begins: `next` of the page before."),
        ),
        errors=(NotFound, TooSlow, BadRequest),
    ),
    approvals.get_approval: _approval(
        {
            200: Answer("The approval.", "Approval"),
            303: Answer(
                "The playground's page of it, for a browser (`Accept: text/html`), where the playground is on."
            ),
        },
        (_APPROVAL_ID,),
    ),
    approvals.decide_approval: _approval(
        {200: Answer("The approval as it is now.", "Approval")},
        (_APPROVAL_ID,),
        errors=(NotFound, TooSlow, BadRequest, Decided, TooLarge),
        body=run_body.ApprovalDecision,
    ),
    playground.get_api_page: _file("text/html"),
    playground.get_playground_file: _file(
        "*/*",
        Parameter("path", "digest", "The digest of all files, as the page has it."),
        Parameter("path", "path", "The file's path."),
    ),
    playground.get_playground_begin: Description(
        {200: Answer("The topics.", "PlaygroundBegin")},
        tag="chat",
        errors=(NotFound, NotAllowed, TooSlow),
        visible=False,
    ),
    chat.chat: _question(question=Question(team=False, streams=False, bare=_BARE)),
    chat.chat_stream: _question(question=Question(team=False, streams=True, bare=_BARE), visible=False),
    chat.ask: _question(question=Question(team=False, streams=False, bare="in the RAG chat protocol")),
    chat.multi_agent_chat: _question(question=Question(team=True, streams=False, bare=_OF_TEAM)),
    chat.multi_agent_chat_stream: _question(question=Question(team=True, streams=True, bare=_OF_TEAM), visible=False),
}


def description_of(handler: Callable[..., object]) -> Description:
    """Return what the routes of a handler say of themselves."""
    return replace(_HANDLERS[handler], text=handler.__doc__ or "")
