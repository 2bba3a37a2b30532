"""The audit record: who asked, what answered, which calls of tools ran, who agreed, and who changed what (`AUDIT`).

It is lines of JSON that are only added: in files of `DATA_DIR`, or in append blobs, a new one each hour and process, so
that the place can be made immutable. Each line goes to the log as well, without texts. A turn has a line before it
shows anything, and one before its end is sent.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Protocol

import msgspec

from shared.chat_types import ChatRequest, Json, RequestContext
from shared.core.running_turn import STOPPED
from shared.documents.own import MINE
from shared.errors import InternalError, SwitchboardError, Unavailable
from shared.events import (
    AgentMessage,
    ChatEvent,
    Finished,
    Retrieved,
    TextDelta,
    ThoughtsAdded,
    ToolEnded,
    ToolStarted,
    Usage,
)
from shared.history import owner_of
from shared.runtime.background import in_background

_log = logging.getLogger("switchboard.audit")
_SECONDS = 5.0
"""How long a line waits for its store."""
_MOST_DOCUMENTS = 50


TEXTS = ("question", "answer")
_OWN = re.compile(f"(?<=/documents/{MINE}).*", re.IGNORECASE | re.DOTALL)
"""Name of an own document in a path, which the Functions host takes in any case."""


def without_texts(line: dict[str, Json]) -> dict[str, Json]:
    """Leave out of a line what people and models have written: their texts, and the names of own documents."""
    line = {key: value for key, value in line.items() if key not in TEXTS}
    if isinstance(named := line.get("documents"), list):
        line["documents"] = [*dict.fromkeys(MINE if str(name).startswith(MINE) else str(name) for name in named)]
    if isinstance(path := line.get("path"), str):
        line["path"] = _OWN.sub("", path)
    return line


class AuditStore(Protocol):
    """Keeps lines."""

    async def append(self, lines: bytes) -> None:
        """Add whole lines at the end of what this hour has; raise an exception if they may not be there."""
        ...


class Audit:
    """Writes the record. Lines that come while the store is busy go to it together.

    Args:
        store: Keeps it.
        texts: Whether it has questions and answers.
        required: Whether what cannot be recorded is an error, and not only a warning in the log.
    """

    def __init__(self, store: AuditStore, *, texts: bool, required: bool) -> None:
        self.texts = texts
        self._store = store
        self._required = required
        self._waiting: list[bytes] = []
        self._busy = asyncio.Lock()

    async def write(self, kind: str, who: str, texts: dict[str, str] | None = None, **facts: Json) -> None:
        """Add a line.

        Args:
            kind: What has happened.
            who: The owner of what it is about, or who did it.
            texts: Those of `TEXTS` that there are; `without_texts` says what is kept without `AUDIT=texts`.
            facts: Everything else.

        Raises:
            Unavailable: it cannot be written, and `AUDIT_ON_ERROR` is `block`.
        """
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line: dict[str, Json] = {"audit": kind, "time": time, "who": who, **facts, **(texts or {})}
        short = without_texts(line)
        _log.info("%s", msgspec.json.encode(short).decode())
        written = msgspec.json.encode(line if self.texts else short) + b"\n"
        try:
            async with asyncio.timeout(_SECONDS):
                await self._append(written)
        except Exception as error:
            # Nobody waits for it any more: the lines of an outage would fill the memory.
            self._waiting = [one for one in self._waiting if one is not written]
            _log.warning("a line of the audit record is not written: %s", type(error).__name__)
            if self._required:
                raise Unavailable("The audit record cannot be written, so nothing is answered. Try again.") from error

    def begin(self, kind: str, who: str, texts: dict[str, str], **facts: Json) -> asyncio.Task[None]:
        """Begin to add a line, also when nobody waits for it any more: a failure is in the log in any case."""
        writing = self.write(kind, who, texts, **facts)
        task = in_background(writing)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _append(self, line: bytes) -> None:
        self._waiting.append(line)
        async with self._busy:
            if any(one is line for one in self._waiting):  # else it was taken along
                lines = tuple(self._waiting)
                await self._store.append(b"".join(lines))
                kept = {id(one) for one in lines}
                self._waiting = [one for one in self._waiting if id(one) not in kept]


async def audited(
    events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, audit: Audit
) -> AsyncGenerator[ChatEvent]:
    """Pass on a turn's events, each after what the record has of it is written."""
    turn = _RecordedTurn(request)
    who = owner_of(context.caller)
    about: dict[str, Json] = {"id": request.turn_id, "invocation": context.invocation_id, "wire": context.protocol}
    asking = audit.begin("asked", who, {"question": request.question}, **about, **turn.question)
    is_asked = False
    try:
        async with aclosing(events):
            async for event in events:
                if not is_asked and isinstance(event, TextDelta | AgentMessage | ToolStarted | Finished):
                    await asyncio.shield(asking)
                    is_asked = True
                turn.take(event)
                if isinstance(event, ToolStarted | ToolEnded):
                    await audit.write("tool", who, **about, **_of_call(event))
                if isinstance(event, Finished):
                    turn.has_ended = True
                    await audit.write("answered", who, turn.texts, **about, end=event.reason, **turn.facts)
                yield event
    except BaseException as end:
        if not turn.has_ended:
            code = end.code if isinstance(end, SwitchboardError) else InternalError.code
            code = code if isinstance(end, Exception) else STOPPED
            writing = audit.begin("answered", who, turn.texts, **about, end=code, **turn.facts)
            if isinstance(end, Exception):
                await asyncio.wait({writing})
        raise


class _RecordedTurn:
    """Collects what the record has of a turn."""

    def __init__(self, request: ChatRequest) -> None:
        self.question: dict[str, Json] = {"chat": request.chat.name, "question_characters": len(request.question)}
        self.has_ended = False
        self._agents = dict[str, None]()
        self._documents = dict[str, None]()
        self._said: list[str] = []
        self._usage: Usage | None = None
        self._safety: Json = None

    def take(self, event: ChatEvent) -> None:
        """Take an event."""
        if isinstance(event, TextDelta):
            self._said.append(event.text)
        if isinstance(event, AgentMessage):
            self._agents[event.agent] = None
            self._said.append(f"{event.text}\n\n")
        if isinstance(event, Retrieved | AgentMessage):
            self._documents |= dict.fromkeys(point.sourcepage for point in event.data_points)
        if isinstance(event, Retrieved | AgentMessage | ThoughtsAdded):
            self._safety = next((one.description for one in event.thoughts if one.title == "Safety"), self._safety)
        if isinstance(event, Finished | AgentMessage):
            self._usage = (event.usage if isinstance(event, Finished) else event.total_usage) or self._usage

    @property
    def texts(self) -> dict[str, str]:
        """What was answered."""
        return {"answer": "".join(self._said)}

    @property
    def facts(self) -> dict[str, Json]:
        """Everything else."""
        return {
            "agents": list[Json](self._agents),
            "documents": list[Json](self._documents)[:_MOST_DOCUMENTS],
            "safety": self._safety,
            "prompt_tokens": self._usage.prompt_tokens if self._usage else None,
            "completion_tokens": self._usage.completion_tokens if self._usage else None,
            "answer_characters": sum(map(len, self._said)),
        }


def _of_call(event: ToolStarted | ToolEnded) -> dict[str, Any]:
    ended = {"approval": event.approval_id, "milliseconds": event.milliseconds} if isinstance(event, ToolEnded) else {}
    return {
        "agent": event.agent,
        "server": event.server,
        "tool": event.tool,
        "call": event.call_id,
        "arguments_sha256": sha256(event.arguments.encode(errors="replace")).hexdigest(),
        "status": event.status if isinstance(event, ToolEnded) else "started",
        **ended,
    }
