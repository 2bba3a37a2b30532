"""`@ag-ui/client`: the reading, the checks and the messages of `HttpAgent`, from 0.0.52 to 1.0.

A client before 1.0 ends the run at a type that it does not know, and every version does at a null or an event out of
order: then nothing is shown. Read in `transform/sse.ts`, `verify.ts` and `apply/default.ts`; the app's tests run three
versions of the package as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.conformance.backend import Backend, Reply
from tests.conformance.reading import Breaks, Json, at, is_text, parse, sse
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import accepted

STRINGS = {
    "RUN_STARTED": ("threadId", "runId"),
    "RUN_FINISHED": ("threadId", "runId"),
    "RUN_ERROR": ("message",),
    "TEXT_MESSAGE_START": ("messageId",),
    "TEXT_MESSAGE_CONTENT": ("messageId", "delta"),
    "TEXT_MESSAGE_END": ("messageId",),
    "REASONING_START": ("messageId",),
    "REASONING_MESSAGE_START": ("messageId",),
    "REASONING_MESSAGE_CONTENT": ("messageId", "delta"),
    "REASONING_MESSAGE_END": ("messageId",),
    "REASONING_END": ("messageId",),
    "STEP_STARTED": ("stepName",),
    "STEP_FINISHED": ("stepName",),
    "CUSTOM": ("name",),
}
"""By type, the keys that have to be strings; of the types that every version knows, those of a chat without tools."""
SUBAGENTS = {
    "SUBAGENT_STARTED": ("subagentRunId", "name"),
    "SUBAGENT_FINISHED": ("subagentRunId",),
    "SUBAGENT_ERROR": ("subagentRunId", "message"),
}
"""The same of the types that came with 1.0."""
OPTIONAL = ("name", "role", "code", "subagentRunId")
"""Keys that are strings or absent."""
LAST = ("RUN_FINISHED", "RUN_ERROR")


@dataclass(slots=True)
class Run:
    """What the page of an agent has after a run."""

    version: str | None
    """The `protocolVersion` that was sent; None before 1.0."""
    asked: Json
    """The request's body."""
    messages: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    """The assistant's."""
    customs: list[Json] = field(default_factory=list[Json])
    """The custom events."""
    types: list[str] = field(default_factory=list[str])
    """The types of all events."""
    first: Json = None
    """The first event."""
    error: Json = None
    """`RUN_ERROR`, which the page hears of."""
    open: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """The messages, steps and subagents that have begun and not ended."""

    def custom(self, name: str) -> list[Json]:
        """The values of the custom events of this name."""
        return [at(event, "value") for event in self.customs if at(event, "name") == name]


@dataclass(frozen=True, slots=True)
class Rejected:
    """What `runAgent()` rejects with."""

    status: int
    """HTTP's."""
    code: Json
    """Of the payload."""
    message: Json
    """Of the payload."""


def _check(event: Json, version: str | None) -> str:
    """Check one event's type and values. Returns the type."""
    known = STRINGS | (SUBAGENTS if version else {})
    kind = at(event, "type")
    if not isinstance(kind, str) or kind not in known:
        raise Breaks(f"no version {version or 'before 1.0'} knows an event '{kind}'")
    wrong = [key for key in known[kind] if not isinstance(at(event, key), str)]
    if isinstance(event, dict):
        wrong += [key for key in OPTIONAL if key in event and not isinstance(event[key], str)]
        wrong += [key for key, value in event.items() if value is None and key != "value"]
    if wrong:
        raise Breaks(f"'{kind}' has wrong values: {', '.join(wrong)}")
    return kind


def read_run(reply: Reply, asked: Json) -> Run:
    """The run, as the client puts it together."""
    version = at(asked, "protocolVersion")
    run = Run(version if isinstance(version, str) else None, asked)
    for data in sse(accepted(reply).body):
        event = parse(data, f"the event '{data[:60]}'")
        kind = _check(event, run.version)
        if not run.types and kind not in ("RUN_STARTED", "RUN_ERROR"):
            raise Breaks(f"the first event is '{kind}'")
        if run.types and run.types[-1] in LAST:
            raise Breaks(f"'{kind}' comes after the end of the run")
        run.first = run.first or event
        run.types.append(kind)
        _take(kind, event, run)
    if not run.types:
        raise Breaks("there is no event")
    return run


def _take(kind: str, event: Json, run: Run) -> None:
    match kind:
        case "TEXT_MESSAGE_START":
            named: dict[str, Json] = {"name": at(event, "name")} if at(event, "name") else {}
            run.messages.append({"id": at(event, "messageId"), "role": at(event, "role"), "content": "", **named})
        case "TEXT_MESSAGE_CONTENT":
            if ("message", str(at(event, "messageId"))) not in run.open:
                raise Breaks("a text is for a message that was not started")
            run.messages[-1]["content"] = f"{run.messages[-1]['content']}{at(event, 'delta')}"
        case "CUSTOM":
            run.customs.append(event)
        case "RUN_ERROR":
            run.error = event
        case "RUN_FINISHED" if run.open:
            raise Breaks(f"the run finishes before {', '.join(sorted(what for what, _ in run.open))}")
        case _:
            pass
    _track(kind, event, run)


def _track(kind: str, event: Json, run: Run) -> None:
    """Note what begins and ends."""
    for what, prefix, key in (
        ("message", "TEXT_MESSAGE_", "messageId"),
        ("thought", "REASONING_MESSAGE_", "messageId"),
        ("step", "STEP_", "stepName"),
        ("subagent", "SUBAGENT_", "subagentRunId"),
    ):
        name = (what, str(at(event, key)))
        if not kind.startswith(prefix) or kind.endswith("_CONTENT"):
            continue
        if kind.endswith(("_START", "_STARTED")):
            if name in run.open:
                raise Breaks(f"a {what} begins twice")
            run.open.add(name)
        elif name in run.open:
            run.open.remove(name)
        else:
            raise Breaks(f"'{kind}' ends a {what} that has not begun")


def _asked(*messages: Json, version: str | None = None, **more: Json) -> dict[str, Json]:
    said: list[Json] = list(messages)
    asked: dict[str, Json] = {"threadId": "thread", "runId": "run", "messages": said, "state": {}, "tools": []}
    asked |= {"context": [], "forwardedProps": {}, **more}
    return asked | ({"protocolVersion": version} if version else {})


def _user(text: str) -> Json:
    return {"id": "u1", "role": "user", "content": text}


async def _run(backend: Backend, path: str, asked: Json) -> Run:
    return read_run(await backend.post(path, asked, {"Accept": "text/event-stream"}), asked)


async def _answer(backend: Backend, base: str) -> Run:
    wanted: Json = {"overrides": {"suggest_followup_questions": True}}
    return await _run(backend, f"{base}chat", _asked(_user(backend.question), forwardedProps=wanted))


async def _conversation(backend: Backend, base: str) -> Run:
    question = _user(backend.question)
    first = await _run(backend, f"{base}chat", _asked(question, version="1.0"))
    return await _run(backend, f"{base}chat", _asked(question, *first.messages, question, version="1.0"))


async def _subagents(backend: Backend, base: str) -> Run:
    return await _run(backend, f"{base}multi-agent-chat/stream", _asked(_user(backend.question), version="1.0"))


async def _steps(backend: Backend, base: str) -> Run:
    return await _run(backend, f"{base}multi-agent-chat/stream", _asked(_user(backend.question)))


def _rejected(reply: Reply) -> Rejected:
    payload = reply.json()
    return Rejected(reply.status, at(payload, "error", "code"), at(payload, "error", "message"))


async def _bad(backend: Backend, base: str) -> Rejected:
    return _rejected(await backend.post(f"{base}chat", _asked()))


async def _unsafe(backend: Backend, base: str) -> Run:
    return await _run(backend, f"{base}chat", _asked(_user(backend.refused_question())))


def _has_sources(run: Run) -> bool:
    """Whether each list of sources is of a message of the run, with what a page needs for a link."""
    ids = [message["id"] for message in run.messages]
    found = run.custom("sources")
    sources = [source for value in found if isinstance(listed := at(value, "sources"), list) for source in listed]
    links = [str(at(source, "url")) for source in sources]
    return (
        bool(sources)
        and all(at(value, "messageId") in ids for value in found)
        and all(link.startswith(("https://", "http://")) for link in links)
        and all(is_text(at(source, key)) for source in sources for key in ("id", "title", "text"))
    )


def _are_around_texts(run: Run) -> bool:
    """Whether no custom event is inside a message: assistant-ui would show two texts."""
    types = run.types
    return not any(
        kind == "CUSTOM" and types[place - 1] in ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT")
        for place, kind in enumerate(types)
    )


def _ended(kind: str) -> Rule[Run]:
    return Rule[Run](
        "end", f"The last event is {kind}: a cut stream counts as complete.", lambda run: run.types[-1] == kind
    )


def _each(name: str, sentence: str, holds: Callable[[dict[str, Json]], bool]) -> Rule[Run]:
    return Rule[Run](name, sentence, lambda run: bool(run.messages) and all(map(holds, run.messages)))


TEXT = _each("text", "Every message has a text.", lambda message: is_text(message["content"]))
ROLE = _each("role", "The assistant says it.", lambda message: message["role"] == "assistant")
NAMES = _each("names", "Every message of a team has its agent's name.", lambda message: is_text(message.get("name")))
SOURCES = Rule[Run]("sources", "The sources are of a message of the run, with absolute links.", _has_sources)
AROUND = Rule[Run]("around", "No custom event is inside a message.", _are_around_texts)
SAME_RUN = Rule[Run](
    "run",
    "RUN_STARTED has the thread and the run that were sent.",
    lambda run: all(at(run.first, key) == at(run.asked, key) for key in ("threadId", "runId")),
)
ENDED = _ended("RUN_FINISHED")
TEAM = (TEXT, ROLE, NAMES, SOURCES, AROUND, SAME_RUN, ENDED)
REJECTED = (
    Rule[Rejected]("status", "It has a status of 400 or more.", lambda seen: seen.status >= 400),
    Rule[Rejected](
        "code", "The payload has a code and a sentence.", lambda seen: is_text(seen.code) and is_text(seen.message)
    ),
)
REFUSED = (
    SAME_RUN,
    _ended("RUN_ERROR"),
    Rule[Run](
        "error",
        "RUN_ERROR has a code and a sentence: pages show that, and of a status its number at the most.",
        lambda run: is_text(at(run.error, "code")) and is_text(at(run.error, "message")),
    ),
)

AG_UI = Client(
    "ag-ui",
    "@ag-ui/client, 0.0.52 to 1.0",
    "ag-ui",
    (
        Probe(
            "chat",
            "an answer",
            _answer,
            (
                TEXT,
                ROLE,
                SOURCES,
                AROUND,
                SAME_RUN,
                ENDED,
                Rule[Run](
                    "follow-ups",
                    "The follow-up questions are one list of texts.",
                    lambda run: (
                        [
                            isinstance(value, list) and all(map(is_text, value))
                            for value in run.custom("followup_questions")
                        ]
                        == [True]
                    ),
                ),
            ),
        ),
        Probe(
            "chat",
            "a conversation",
            _conversation,
            (
                TEXT,
                ENDED,
                Rule[Run](
                    "new id",
                    "The message has an id of its own: with an earlier one, the text would be added to that message.",
                    lambda run: (
                        not {str(message["id"]) for message in run.messages}
                        & {str(at(message, "id")) for message in _sent(run)}
                    ),
                ),
            ),
        ),
        Probe("chat", "a bad request", _bad, REJECTED),
        Probe("chat", "a refused question", _unsafe, REFUSED),
        Probe("multi-agent-chat/stream", "a team, since 1.0", _subagents, TEAM),
        Probe("multi-agent-chat/stream", "a team, before 1.0", _steps, TEAM),
    ),
)


def _sent(run: Run) -> list[Json]:
    messages = at(run.asked, "messages")
    return messages if isinstance(messages, list) else []
