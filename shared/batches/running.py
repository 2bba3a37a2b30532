"""Runs a batch: the one function that an engine calls. It may be called any number of times, anywhere, for a batch."""

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import cast

import msgspec

from shared.accepting import accept
from shared.batches import NEW, Conflict, ObjectStore
from shared.batches.claim import Claim, Outcome, claim_batch, failed, read_state, unreadable
from shared.batches.kept_calls import KeptCalls
from shared.batches.packing import pack, unpack
from shared.batches.records import HEARTBEAT_SECONDS, MOST_RUNS, STALE_SECONDS, UNREADABLE, Asked, Result
from shared.chat_types import ChatRequest, ChatState, Json, RequestContext
from shared.core.fold import fold
from shared.core.kept_chats import resume
from shared.core.running_turn import RunningTurn
from shared.errors import InternalError, SwitchboardError, log_fault
from shared.events import AgentMessage, ChatEvent, CompletionStarted
from shared.history import HistoryStore, Mode
from shared.service import Service
from shared.turns import begin_turn
from shared.wire.framing import encode_json
from shared.wire.protocol import Protocol
from shared.wire.table import PROTOCOLS, Resolved


async def run_batch(batch_id: str, store: ObjectStore, service: Service) -> Outcome:
    """Run a batch until it has a result, from where an earlier run was interrupted.

    Args:
        batch_id: The batch.
        store: The store that it is in.
        service: Answers it.

    Raises:
        Unavailable, TooSlow: the store cannot be used. The batch can be run again.
    """
    claim = await claim_batch(batch_id, store)
    if isinstance(claim, Outcome):
        return claim
    if claim.state.runs > MOST_RUNS:
        return await claim.give_up("The batch was interrupted too often: start another one.")
    beating = asyncio.create_task(claim.keep(cast("asyncio.Task[object]", asyncio.current_task())))
    try:
        return await claim.end(await _Run(claim, store, service).result())
    except asyncio.CancelledError:
        if claim.is_lost and (task := asyncio.current_task()):
            task.uncancel()
            return await claim.leave()
        raise
    except SwitchboardError:
        await claim.release()
        raise
    finally:
        beating.cancel()


async def run_when_free(batch_id: str, store: ObjectStore, service: Service) -> Outcome:
    """Run a batch. If somebody has claimed it, wait until it shows whether that runner is alive, and leave it if so."""
    seen = None
    while (outcome := await run_batch(batch_id, store, service)) is Outcome.HELD:
        state = await read_state(store, batch_id)
        if state is None or (seen and (state.runner, state.beat) != seen):
            break
        seen = (state.runner, state.beat)
        left = max(0.0, state.beat + STALE_SECONDS - time.time()) + 0.1
        await asyncio.sleep(min(HEARTBEAT_SECONDS, left))
    return outcome


async def fail_batch(batch_id: str, store: ObjectStore) -> None:
    """Give up a batch that no run could end, unless it has ended or somebody works on it. What it has done stays.

    Raises:
        Unavailable, TooSlow: the store cannot be used.
    """
    claim = await claim_batch(batch_id, store)
    if isinstance(claim, Claim):
        await claim.give_up("The batch could not be run. Start another one, and report it if it stays.")


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A message as it is kept."""

    message: AgentMessage
    """The message, after the guard."""
    documents: list[Json]
    """The same in the batch's protocol."""


async def read_message(store: ObjectStore, batch_id: str, number: int) -> KeptMessage | None:
    """Read a message of a batch by its number, from 0; None: there are no more yet.

    Raises:
        InternalError: it is damaged.
        Unavailable, TooSlow: the store cannot be used.
    """
    found = await store.read(f"{batch_id}/messages/{number}")
    if found is None:
        return None
    with suppress(ValueError, TypeError):
        message, documents = unpack(found.data)
        if isinstance(message, AgentMessage) and isinstance(documents, list):
            return KeptMessage(message, cast("list[Json]", documents))
    raise InternalError(UNREADABLE)


class _StoreFailedError(Exception):
    """The store failed in the middle of a run: not the batch's end, since it can be run again."""

    def __init__(self, error: SwitchboardError) -> None:
        super().__init__()
        self.error = error


@contextmanager
def _interrupting() -> Generator[None]:
    try:
        yield
    except InternalError:  # what it has kept is damaged, and stays so
        raise
    except SwitchboardError as error:
        raise _StoreFailedError(error) from None


class _Run:
    """One run of a batch that is claimed."""

    def __init__(self, claim: Claim, store: ObjectStore, service: Service) -> None:
        self._claim = claim
        self._store = store
        self._service = replace(service, model=KeptCalls(service.model, store, claim.batch_id))
        self._kept: dict[int, AgentMessage] = {}
        self._next = 0

    async def result(self) -> Result:
        """Answer the batch."""
        try:
            asked, body = await self._claim.asked()
        except InternalError as error:
            return unreadable(error)
        protocol = PROTOCOLS[asked.protocol]
        try:
            return Result(200, msgspec.Raw(await self._answer(asked, body, protocol)))
        except SwitchboardError as error:
            return failed(error, protocol, asked.invocation_id)
        except _StoreFailedError as interrupted:
            raise interrupted.error from None
        except Exception as error:  # noqa: BLE001 (the outer edge: it is logged, and the caller gets one clean error)
            log_fault(error, asked.invocation_id)
            return failed(InternalError(), protocol, asked.invocation_id)

    async def _answer(self, asked: Asked, body: bytes, protocol: Protocol) -> bytes:
        service, state = self._service, self._claim.state
        left = state.started + service.settings.batch_deadline_seconds - time.time()
        reader = Resolved(protocol, asked.content_type).reader()
        reader.feed(body)
        accepted = accept(protocol, reader.finish(), asked, service.settings, team=True)
        until = asyncio.get_running_loop().time() + left
        batch_id = self._claim.batch_id
        request, turn = await begin_turn(service, accepted, asked, until, batch_id=batch_id, find_chat=self._find_chat)
        try:
            answer = await fold(self._keeping(turn, protocol, request), filter_ends=protocol.filter_ends)
        finally:
            turn.cancel()
        return encode_json(protocol.team_answer(request, answer))

    async def _find_chat(
        self, request: ChatRequest, context: RequestContext, history: HistoryStore, mode: Mode
    ) -> ChatRequest:
        """Give the request its chat: the same one in each run."""
        name = f"{self._claim.batch_id}/chat"
        with _interrupting():
            kept = await self._store.read(name)
        if kept:
            return replace(request, chat=ChatState.kept(kept.data.decode()))
        resumed = await resume(request, context, history, mode)
        chat_id = resumed.chat.conversation_id
        if chat_id and chat_id != request.chat.conversation_id:
            with suppress(Conflict), _interrupting():
                await self._store.write(name, chat_id.encode(), NEW)
        return resumed

    async def _keeping(self, turn: RunningTurn, protocol: Protocol, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """Pass on the turn's events, with the message that was kept first in place of a later one."""
        with _interrupting():
            while kept := await read_message(self._store, self._claim.batch_id, self._next):
                self._kept.setdefault(kept.message.position, kept.message)
                self._next += 1
        batch_id, created = self._claim.batch_id, int(self._claim.state.created)
        started = CompletionStarted(f"team-{batch_id}", created, "team")
        async for event in turn.events():
            match event:
                case CompletionStarted():
                    started = replace(event, id=started.id, created=started.created)
                    yield started
                case AgentMessage():
                    alone = replace(event, total_usage=None)  # which message is the last one shows at the end
                    with _interrupting():
                        kept = await self._keep(alone, protocol.agent_documents(request, alone, started))
                    yield kept
                case _:
                    yield event

    async def _keep(self, message: AgentMessage, documents: list[Json]) -> AgentMessage:
        while message.position not in self._kept:
            name = f"{self._claim.batch_id}/messages/{self._next}"
            try:
                await self._store.write(name, pack((message, documents)), NEW)
                self._kept[message.position] = message
            except Conflict:
                if other := await read_message(self._store, self._claim.batch_id, self._next):
                    self._kept.setdefault(other.message.position, other.message)
            self._next += 1
        return self._kept[message.position]
