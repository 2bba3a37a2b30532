"""Begins turns. A request becomes a running turn here, and nowhere else, whichever way it came in.

A trigger finds out who asks (`Asker`), counts the request in the budget, has its body checked (`accept`), begins the
turn, and cancels it when nobody waits for it any more. They count at different times: HTTP before the body is read, a
run once and not each time that it begins, and the queue waits until there is room. In everything else they differ only
by the arguments of `accept` and `begin_turn`.
"""

from asyncio import get_running_loop
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from copy import replace
from functools import partial
from typing import TYPE_CHECKING

from shared.agents import AgentParts
from shared.agents.definitions import AgentDefinition
from shared.agents.turns import agents_turn
from shared.audit import audited
from shared.chat_types import Access, ChatRequest, Passage, RequestContext, Role
from shared.core.attachments import attach
from shared.core.callers_tools import check_tools
from shared.core.citation_links import linked, without_links
from shared.core.kept_chats import resume
from shared.core.recorder import record
from shared.core.refusals import begin_without_refused, without_errors
from shared.core.running_turn import RunningTurn
from shared.core.source_images import SourceImages
from shared.core.turn import run_task, run_turn
from shared.errors import BadRequest, NotFound
from shared.events import ChatEvent, DataPoint
from shared.history import HistoryStore, Mode
from shared.retrieval import Retriever
from shared.retrieval.filtered import Screened
from shared.service import Service
from shared.telemetry import unwatched, unwatched_call
from shared.tools.calls import no_such_approval
from shared.tools.table import TOOLS
from shared.turns.accept import AcceptedRequest, Asker

if TYPE_CHECKING:
    from shared.guard.rules import Rules

type FindChat = Callable[[ChatRequest, RequestContext, HistoryStore, Mode], Awaitable[ChatRequest]]
"""Gives a request the chat that is kept for it; see `kept_chats.resume`."""

type MakeTurn = Callable[[AsyncGenerator[ChatEvent], RequestContext], RunningTurn]
"""Makes a running turn of its events."""


async def begin_turn(
    service: Service,
    accepted: AcceptedRequest,
    asker: Asker,
    until: float,
    *,
    is_whole: bool = False,
    status_within: float | None = None,
    run_id: str | None = None,
    find_chat: FindChat = resume,
    make: MakeTurn = RunningTurn,
) -> tuple[ChatRequest, RunningTurn]:
    """Begin the turn of a request.

    Args:
        service: The parts that answer. What can begin again, as a message of the queue or a run, brings a model that
            keeps finished calls (`runs/kept_calls.py`).
        accepted: The request. An MCP client's tool makes one without a protocol of the table: it keeps no chat, and its
            reply makes links by itself.
        asker: Who asks.
        until: When the answer must be complete, on the event loop's clock, in seconds.
        is_whole: Whether nobody sees a part of the answer before all of it is there.
        status_within: Seconds from the turn's beginning until the status of a stream is sent at the latest; None: the
            status waits for the whole answer. Set for streams over HTTP. A team is not told of it: an agent that has to
            wait keeps no other from answering.
        run_id: Names a turn that can begin again, so that it records no message twice; None: it cannot.
        find_chat: Finds the chat of the request. A run that is taken over finds the one that it began before.
        make: Runs the turn's events.

    Returns:
        The request for the encoder, and the turn. The request has its chat's state, but neither the files nor the
        earlier messages of the chat, which stay in memory only as long as the turn.

    Raises:
        BadRequest, NotFound, TooLarge: as `_checked` raises them, or a file cannot be read.
    """
    asked = accepted.request
    context = context_of(service, asker, until, accepted.access, accepted.protocol)
    agent, full = _checked(service, asked, team=accepted.team)
    if accepted.files:
        refusal, key = service.no_images, asker.budget_key
        full = await attach(full, accepted.files, service.sandbox, no_images=refusal, caller=key)
    due = None if status_within is None or accepted.team else get_running_loop().time() + status_within
    context = replace(context, status_due=due, is_whole=is_whole, run_id=run_id)
    if accepted.keeps_chat:
        full = await find_chat(full, context, service.history, Mode.MULTI_AGENT if accepted.team else Mode.STANDARD)
        asked = replace(asked, chat=full.chat)
    first = next((message.content for message in full.messages if message.role is Role.USER), "")
    context = replace(context, chat=full.chat.conversation_id or first)
    return asked, make(turn_events(service, full, context, agent, team=accepted.team, links=accepted.links), context)


def _checked(service: Service, request: ChatRequest, *, team: bool) -> tuple[AgentDefinition | None, ChatRequest]:
    """Check a request against what is to answer it, before its files are read.

    Returns:
        The agent that answers, if one does alone, and the request with the caller's tools that can be called.

    Raises:
        NotFound: the request names an agent that there is not, or answers a question for consent that only a run can
            have. For a team an agent that there is changes nothing: all answer.
        BadRequest: what answers cannot call the caller's tools, or the team is to answer with JSON.
    """
    if team and request.form:
        raise BadRequest(
            f"{request.form.key}: a team of agents answers with a text of each. Leave it out, or ask another model."
        )
    if request.decisions:
        raise no_such_approval()
    agent = _agent_for(service, request)
    own = agent.tools if agent else ()
    return agent, check_tools(request, team=team, takes_tools=service.model.takes_tools, own=own)


def context_of(service: Service, asker: Asker, until: float, access: Access | None, protocol: str) -> RequestContext:
    """Make the context of what an asker gets. The tokens of its model calls count in the asker's budget."""
    return RequestContext(
        invocation_id=asker.invocation_id,
        deadline=until,
        caller=asker.caller,
        access=access,
        accept_language=asker.accept_language,
        trace_parent=asker.trace_parent,
        protocol=protocol,
        meter=service.ledger.meter(asker.budget_key) if service.ledger else None,
        link_hosts=service.settings.link_hosts_named,
    )


def turn_events(
    service: Service,
    request: ChatRequest,
    context: RequestContext,
    agent: AgentDefinition | None = None,
    *,
    team: bool = False,
    links: str | None = None,
) -> AsyncGenerator[ChatEvent]:
    """Return the events of a turn: of the team, of an agent, or of the model.

    An event passes the wrappers from top to bottom. Each is a generator that reads from the one above it:

        turn          run_turn or agents_turn makes the events
          │
        shields       hold all events until what the model reads is checked for attacks, and begin the turn again
          │           without what is one (only with SHIELDS)
        guard         sees all events; holds back what is not cleared, adds thoughts, or ends the turn with an
          │           error (only with RAI_MODE)
        refusals      begins turn and guard again without earlier questions that are refused (only if the
          │           conversation has some without an answer)
        recorder      sees what the guard let out, and nothing else gets into the history; writes the question
          │           first, and the rest when `Finished` comes, after a thought if that fails (only if the request
          │           names a conversation);
          │           keeps the answer so that it can be judged (only where chats are kept)
        audit         sees what the caller gets, and writes it to the audit record first (only with AUDIT)
        tracing       sees what the caller gets; its span is open before the turn starts and until it has ended, so
          │           the spans of the model, the search and the guard are its children (only with traces)
        links         makes links of citations (only where the protocol and the settings want them)
        RunningTurn   is not here: `begin_turn` runs the result in one task, and an exception from any wrapper
                      becomes one last `Failed` there

    Nothing runs before somebody asks the last wrapper for an event, and closing the last one closes all.

    Args:
        service: The parts that answer.
        request: The request, with its files and its chat.
        context: Caller and deadline of the request.
        agent: The agent that answers alone; None: the model or the team does.
        team: Whether the team of agents answers.
        links: URL of the documents, to which citations become links; None: they stay as they are.
    """
    rules = _rules(service)
    service = replace(service, shields=service.shields.for_turn()) if service.shields else service

    def unguarded(asked: ChatRequest, without: frozenset[DataPoint]) -> AsyncGenerator[ChatEvent]:
        return _of_turn(service, asked, context, agent, rules, without, team=team)

    def begin(asked: ChatRequest) -> AsyncGenerator[ChatEvent]:
        if service.shields:
            from shared.guard.shielded_turn import shielded

            events = shielded(unguarded, asked, context, service.shields)
        else:
            events = unguarded(asked, frozenset())
        if rules is None:
            return events
        from shared.guard.stream_guard import guard

        return guard(events, asked, context, rules, team=team)

    request = without_links(request, links) if links else request
    request = without_errors(request)
    events = begin_without_refused(begin, request)
    events = record(events, request, context, service.history, service.verdicts)
    if service.audit:
        events = audited(events, request, context, service.audit)
    if service.tracing:
        events = service.tracing.turn(events, request, context, "team" if team else "chat")
    return linked(events, links) if links else events


def acts(service: Service, accepted: AcceptedRequest) -> bool:
    """Whether who answers a request has tools of servers: the turn is then a run, which can wait for a person.

    Raises:
        NotFound: the request names an agent that there is not.
    """
    if service.tool_servers is None or accepted.request.is_task:
        return False
    one = None if accepted.team else _agent_for(service, accepted.request)
    agents = service.agents.agents if accepted.team else [one] if one else []
    return any(name not in TOOLS for agent in agents for name in agent.tools)


def _agent_for(service: Service, request: ChatRequest) -> AgentDefinition | None:
    if request.agent is None:
        return service.chat_agent
    for agent in service.agents.agents:
        if agent.name == request.agent:
            return agent
    names = ", ".join(agent.name for agent in service.agents.agents)
    raise NotFound(f"model: there is no agent of that name here. There are: {names}.")


def _of_turn(
    service: Service,
    request: ChatRequest,
    context: RequestContext,
    agent: AgentDefinition | None,
    rules: "Rules | None",
    without: frozenset[DataPoint],
    *,
    team: bool,
) -> AsyncGenerator[ChatEvent]:
    if request.is_task and not team:
        return run_task(request, context, service.model)
    shields = service.shields if service.shields and service.shields.enforced else None
    if agent is None and not team:
        images = SourceImages(service.pages, service.documents, service.no_images)
        retriever = Screened(service.retriever, partial(_others, without)) if without else service.retriever
        return run_turn(request, context, service.model, retriever, images)
    parts = AgentParts(
        service.agents,
        service.model,
        safe_retriever(service),
        service.tracing.agent if service.tracing else unwatched,
        service.tracing.call if service.tracing else unwatched_call,
        tool_servers=service.tool_servers,
        book=service.book,
        clear=_clearing(rules, request, context) if service.tool_servers and rules else None,
        screen=partial(shields.instead_of, context=context) if shields else None,
    )
    return agents_turn(request, context, None if team else agent, parts)


def safe_retriever(service: Service) -> Retriever:
    """The retriever for what a model reads at once: it leaves out what Prompt Shields take for an attack."""
    shields = service.shields
    return Screened(service.retriever, shields.safe_passages) if shields and shields.enforced else service.retriever


async def _others(
    without: frozenset[DataPoint], passages: Sequence[Passage], _context: RequestContext
) -> tuple[Passage, ...]:
    """The passages of none of these sources, each of which may be made of several."""
    return tuple(
        passage
        for passage in passages
        if not any(one.sourcepage == passage.sourcepage and passage.content in one.text for one in without)
    )


def _clearing(rules: "Rules", request: ChatRequest, context: RequestContext) -> Callable[[str], Awaitable[None]] | None:
    """What checks a call before it runs; None: nothing is held back."""
    if not rules.enforced:
        return None
    from shared.guard.rules import clear_call

    return partial(clear_call, rules, request, context)


def _rules(service: Service) -> "Rules | None":
    """The rules of the guard; None: it is off."""
    settings = service.settings
    if settings.rai_mode == "off" or service.safety is None:
        return None
    from shared.guard.rules import Rules

    return Rules(
        service=service.safety,
        kind=settings.rai_backend,
        model=settings.model_name,
        mode=settings.rai_mode,
        on_error=settings.rai_on_error or "block",
        timeout=settings.rai_timeout_seconds,
        without_model=settings.rai_without_model,
    )
