"""Accepts requests: reads a body and checks it, whichever way it came in. Nothing is done for the request yet.

`begin.py` begins the turn of an accepted request. A batch is accepted before it is kept, so that the caller gets each
error at once, and again at each run, with the settings of that time.
"""

import re
import time
from copy import replace

import msgspec

from shared.chat_types import Access, Caller, ChatRequest, Decision, Role
from shared.core.attachments import Attachment
from shared.core.callers_tools import check_steps
from shared.core.context_window import tokens_in
from shared.documents.own import access_with_own
from shared.errors import BadRequest, NotAllowed, TooLarge
from shared.history import new_session_id
from shared.settings import Settings
from shared.verdicts import answer_id_of, new_turn_id
from shared.wire.protocol import Protocol
from shared.wire.request_body import Body

LONGEST_QUESTION = 8_000
"""Maximum length of a question in tokens of four bytes, without its files: some ten pages."""


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and by which invocation. A batch keeps it as JSON."""

    caller: Caller
    """The caller."""
    budget_key: str
    """The caller's key in the ledger."""
    invocation_id: str
    """The platform's id of the invocation; errors and log entries have it."""
    accept_language: str = ""
    """The header `Accept-Language` of the request, or empty."""
    trace_parent: str = ""
    """The `traceparent` that came with the request, or empty."""
    base_url: str = ""
    """The URL below which the app's routes are."""
    turn_id: str = msgspec.field(default_factory=new_turn_id)
    """The id of the turn, the same each time that a run of it begins."""
    created: int = msgspec.field(default_factory=lambda: int(time.time()))
    """When it was asked, in Unix seconds."""


class RouteOptions(msgspec.Struct, frozen=True):
    """What the route of a request says of its answer."""

    team: bool = False
    """Whether the team of agents answers. The body can ask for the team as well."""
    streams: bool = False
    """Whether the answer is a stream. The body can ask for a stream as well, and only HTTP can give one."""
    single_turn: bool = False
    """Whether to ignore the earlier messages (`/ask`)."""


class AcceptedRequest(msgspec.Struct, frozen=True):
    """A request that is read and checked. Nothing is done for it yet."""

    request: ChatRequest
    """The request without its files."""
    access: Access | None
    """The documents that the answer may use; None: all."""
    protocol: str
    """Name of the protocol, for logs and traces."""
    files: tuple[Attachment, ...] = ()
    """The files of the request."""
    team: bool = False
    """Whether the team of agents answers."""
    keeps_chat: bool = False
    """Whether the request gets the chat that the app keeps for it."""
    links: str | None = None
    """URL of the documents, to which citations become links; None: citations stay as they are."""


def accept(
    protocol: Protocol,
    body: Body,
    asker: Asker,
    settings: Settings,
    route: RouteOptions,
    *,
    begins_chat: bool = True,
) -> AcceptedRequest:
    """Read and check the body of a request.

    Args:
        protocol: The protocol of the body.
        body: The body. It holds the bytes of files once more, so the caller keeps it no longer than this.
        asker: Who asks.
        settings: The settings of the app.
        route: What the route says of the answer.
        begins_chat: Whether a request that names no chat gets a new one, where the protocol keeps chats. Not from the
            queue: nobody would go on with such a chat, and a message that comes again would begin another one.

    Raises:
        BadRequest, NotAllowed, NotFound, NotSignedIn, TooLarge: it cannot be answered.
    """
    request = protocol.parse(body.json)
    files = protocol.files_of(body)
    overrides = request.overrides
    access = access_with_own(asker.caller, settings, overrides)
    if overrides.show_progress and not protocol.shows_progress:
        overrides = replace(overrides, show_progress=False)
    stream = request.stream or route.streams or protocol.answer is None
    chat = request.chat
    if chat.wants_session:
        chat = replace(chat, session_state=new_session_id(asker.turn_id))
    request = replace(
        request,
        overrides=overrides,
        chat=chat,
        decisions=request.decisions or _phrase(request),
        stream=stream,
        single_turn=route.single_turn,
        team=route.team or request.team,
        base_url=asker.base_url,
        turn_id=asker.turn_id,
        answer_id=answer_id_of(asker.turn_id),
        created=asker.created,
        invocation_id=asker.invocation_id,
    )
    check_request(request, settings)
    links = settings.citation_links if protocol.links_citations and not request.form else None
    return AcceptedRequest(
        request,
        access,
        protocol.name,
        files,
        team=request.team,
        keeps_chat=protocol.keeps_chats and (begins_chat or bool(request.chat.conversation_id)),
        links=links,
    )


_AROUND = r"""[\s"'`´‘’“”„‚«»‹›*_.,!]*"""
_PHRASE = re.compile(rf"{_AROUND}(approve|decline)\s+([a-z0-9]{{4,6}})(?:{_AROUND}please)?{_AROUND}", re.IGNORECASE)
"""The decision that a person writes in a front end without buttons, with what phones and copies put around it."""


def _phrase(request: ChatRequest) -> tuple[Decision, ...]:
    found = _PHRASE.fullmatch(request.question)
    return (Decision(found[1].lower() == "approve", code=found[2].upper()),) if found else ()


def check_request(request: ChatRequest, settings: Settings) -> None:
    """Check a request before anything is done for it.

    Raises:
        TooLarge: its question is too long, or the results of tools since then.
        NotAllowed: it brings a system prompt, and callers may bring none here.
        BadRequest: it chooses a pattern for the team, and there is no playground.
    """
    if (count := tokens_in(request.question)) > LONGEST_QUESTION:
        raise TooLarge(
            f"The question takes some {count:,} tokens, and this app takes {LONGEST_QUESTION:,}: shorten it."
        )
    check_steps(request)
    brings_prompt = request.overrides.prompt_template is not None or any(
        message.role is Role.SYSTEM for message in (*request.messages, *request.steps)
    )
    if brings_prompt and not settings.callers_may_prompt:
        raise NotAllowed(
            "Callers may not change the system prompt here (CHAT_CALLER_PROMPTS): leave out prompt_template and "
            "messages with the role 'system'."
        )
    if request.overrides.team_pattern and settings.page != "on":
        raise BadRequest(
            "team_pattern: requests may choose the team's pattern only where PLAYGROUND is on. Leave it out, or change "
            "the pattern in AGENTS_FILE."
        )
