"""Sends what comes of the run of an activity into its conversation. A run has ended only when its answer is sent.

A chat of one person with the bot gets an informative line, then the text as it grows, as one message: Teams allows this
for two minutes, then the same message is edited. Others get one message. What was sent is kept beside the run, so that
whoever takes it over goes on with the same message. An answer that cannot be sent now is sent later, within an hour.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from copy import replace
from typing import Any

import msgspec

from shared.errors import Stopped, Unavailable
from shared.events import OpenCall
from shared.history import owner_of
from shared.outbound.bot_connector import LATE, STOPPED, Connector
from shared.outbound.faults import RETRIED, Reason, ServiceFault
from shared.runs import NEW, ObjectStore, kept_tools, records, write_once
from shared.runs.approvals import open_approvals, waiting_calls
from shared.runs.claim import Claim
from shared.runs.direct_line import DirectLine
from shared.runs.journal import Live
from shared.runs.live import cut_at_end, ended_in
from shared.service import Service
from shared.wire.activity import Activity
from shared.wire.activity_reply import LONGEST_TEXT, Reply, addressed, card_message, consent_card, with_stream, words
from shared.wire.protocol import Record

UPDATE_SECONDS = 1.0
"""How often Teams takes an update of a streamed message at most."""
_STREAM_SECONDS = 110.0
"""How long a message grows; Teams refuses more after two minutes."""
_LONGEST_PAUSE = 20.0
"""How long an update waits at most because the service asks for that, in seconds."""
_LONGEST_SECONDS = 3600.0
"""After how long since its question an answer is not sent any more."""
_MENDED = {*RETRIED, Reason.NO_IDENTITY, Reason.TOO_SLOW}
"""Faults after which it is sent later."""
_ALL = 1_000
"""More messages than an answer has."""

_log = logging.getLogger("switchboard.bot")


class _Sent(msgspec.Struct, frozen=True):
    """What of a run is in the conversation."""

    stream: str = ""
    """Id of the message that is streamed; empty: none is."""
    shown: int = 0
    """Number of the first event that belongs to the next message: those before are sent, up to a decision."""
    parts: int = 0
    """Messages of the answer that are sent whole."""
    cards: Mapping[str, str] = {}
    """Ids of the messages with cards that ask for consent, by the ids of the approvals."""
    waits: bool = False
    """Whether all is sent until a person decides."""


async def deliver(service: Service, store: ObjectStore, claim: Claim, request: records.RunRequest, live: Live) -> None:
    """Send what comes of the run of an activity, until it has ended or waits for a person.

    Raises:
        Unavailable: it cannot be sent now.
        SwitchboardError: the store cannot be used.
    """
    activity = live.request.for_encoder
    if not isinstance(activity, Activity) or activity.is_answered_in_response:
        return
    owner = owner_of(request.caller)
    connector = DirectLine(store, owner, activity.conversation.id) if activity.is_polled else service.connector
    if connector is None:
        return
    try:
        reply = Reply(activity, service.settings.citation_links, live.request.answer_id)
        await _Sending(connector, store, claim, owner, live, activity, reply).run()
    except ServiceFault as exc:
        _log.warning("run %s: not sent: %s", records.label(claim.run_id), exc.fault.reason.name)
        if exc.fault.reason in _MENDED and time.time() - claim.state.created < _LONGEST_SECONDS:
            raise Unavailable("The conversation cannot be reached now.") from None


class _Sending(msgspec.Struct):
    """Sends what comes of one run, while one runner has it."""

    connector: Connector | DirectLine
    store: ObjectStore
    claim: Claim
    owner: str
    live: Live
    activity: Activity
    reply: Reply
    sent: _Sent = _Sent()
    etag: str = ""
    number: int = 0
    """Number of the last update; 0: none can be sent."""
    began: float = -_STREAM_SECONDS
    updated: float = -_STREAM_SECONDS
    shown: str = ""

    async def run(self) -> None:
        """Send it, from where an earlier runner was interrupted."""
        if found := await self.store.read(f"{self.claim.run_id}/sent"):
            self.sent, self.etag = records.decode(found.data, _Sent), found.etag
        if self.sent.cards:
            await self._close_cards()
        if self.sent.waits:
            return
        if not (self.sent.stream or self.sent.parts):
            await self._begin()
        async with aclosing(self.live.turn.follow(self.sent.shown, UPDATE_SECONDS)) as batches:
            async for batch in batches:
                for event in batch:
                    self.reply.add(event)
                await self._update()
        if ended_in(self.live.turn.log):  # else it is deleted, or another runner's
            await self._finish()

    async def _finish(self) -> None:
        calls = self.reply.calls
        opened = [call for call in calls if call.approval_id not in self.sent.cards]
        if opened or not calls:
            for number, part in enumerate(await asyncio.to_thread(self.reply.messages)):
                if number >= self.sent.parts:
                    await self._send_part(part)
        if opened:
            await self._ask(opened)
        if calls:
            shown = len(cut_at_end(self.live.turn.log)[0])
            await self._write(shown=shown, parts=0, stream="", waits=True)

    async def _begin(self) -> None:
        """Show that there will be an answer. Nothing depends on that."""
        with suppress(ServiceFault):
            if not self.activity.streams:
                await self._send({"type": "typing"}, patient=False)
                return
            searching: Record = {"type": "typing", "text": words(self.activity, "searching")}
            stream = await self._send(with_stream(searching, "informative", "", 1), patient=False)
            if stream:
                self.number, self.began = 1, time.monotonic()
                self.updated = self.began
                await self._write(stream=stream)

    async def _update(self) -> None:
        """Show the text so far, if that may be done now."""
        now, stream = time.monotonic(), self.sent.stream
        if not self.number or now - self.updated < UPDATE_SECONDS:
            return
        text = self.reply.text[:LONGEST_TEXT]
        try:
            if now - self.began > _STREAM_SECONDS and self.activity.is_of_teams:
                await self._edit_late(text)
            elif text != self.shown:
                self.number, self.shown = self.number + 1, text
                update: Record = {"type": "typing", "text": text}
                await self._send(with_stream(update, "streaming", stream, self.number), patient=False)
        except ServiceFault as exc:
            if exc.fault.code == STOPPED:
                self.number = 0
                self.live.turn.stop(Stopped())
            elif exc.fault.code == LATE:
                await self._edit_late(text)
            elif exc.fault.status in (400, 403, 404):
                self.number = 0
            await asyncio.sleep(min(exc.fault.retry_after or 0, _LONGEST_PAUSE))
        self.updated = time.monotonic()

    async def _edit_late(self, text: str) -> None:
        """Show in the message that its stream is over, and that there will be more."""
        self.number = 0
        late = words(self.activity, "late")
        with suppress(ServiceFault):
            said: Record = {"type": "message", "text": f"{text}\n\n{late}" if text else late}
            await self._send(said, edits=self.sent.stream, patient=False)

    async def _send_part(self, part: Record) -> None:
        """Send a message of the answer. The first one ends the stream; what cannot be streamed any more is edited."""
        stream = self.sent.stream if self.sent.parts == 0 else ""
        if stream:
            await asyncio.sleep(max(0.0, self.updated + UPDATE_SECONDS - time.monotonic()))
            try:
                await self._send(with_stream(part, "final", stream))
            except ServiceFault as exc:
                if exc.fault.code == STOPPED:
                    await self._write(parts=_ALL)
                    return
                if exc.fault.status not in (400, 403, 404):
                    raise
                await self._send(part, edits=stream)
        message = stream or await self._send(part)
        name = reply_name(self.activity, message)
        await write_once(self.store, name, self.live.request.answer_id.encode())
        await self._write(parts=self.sent.parts + 1)

    async def _ask(self, calls: Sequence[OpenCall]) -> None:
        """Send the cards that ask for consent. Who sees one can decide at once."""
        state, run_id = self.claim.state, self.claim.run_id
        waiting = await waiting_calls(self.store, run_id)
        await open_approvals(self.store, run_id, state, waiting, asker=self.owner)
        for call in calls:
            message = await self._send(card_message(consent_card(self.activity, call)))
            await self._write(cards={**self.sent.cards, call.approval_id: message})

    async def _close_cards(self) -> None:
        """Show on the cards what was decided, wherever that was."""
        calls = [*(await kept_tools.calls_of(self.store, self.claim.run_id)).values()]
        for call in calls:
            message = self.sent.cards.get(call.approval_id)
            if message and call.state != "open":
                card = consent_card(self.activity, call.opened, call.state)
                with suppress(ServiceFault):
                    await self._send(card_message(card), edits=message, patient=False)
        open_ones = {call.approval_id for call in calls if call.state == "open"}
        cards = {one: message for one, message in self.sent.cards.items() if one in open_ones}
        await self._write(cards=cards, waits=self.sent.waits and bool(cards))

    async def _send(self, record: Record, *, edits: str = "", patient: bool = True) -> str:
        return await self.connector.send(addressed(self.activity, record), edits=edits, patient=patient)

    async def _write(self, **changes: Any) -> None:  # noqa: ANN401 (the fields of `_Sent`)
        self.sent = replace(self.sent, **changes)
        self.etag = await self.store.write(
            f"{self.claim.run_id}/sent", msgspec.json.encode(self.sent), self.etag or NEW
        )


def reply_name(activity: Activity, message: str) -> str:
    """Return where the id of the answer is kept that a message in the conversation of an activity is of."""
    return f"replies/{records.digest(activity.channel_id, activity.conversation.id, message)}"
