"""What the bot does with an activity: the run that answers a question, and what people press."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import ExitStack, suppress
from copy import replace
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shared import app
from shared.chat_types import ChatRequest, Decision, Json
from shared.errors import BadRequest, Decided, NotFound, SwitchboardError, error_text
from shared.history import UNTITLED, Mode
from shared.identity import is_among
from shared.outbound.faults import ServiceFault
from shared.runs import ObjectStore
from shared.runs.approvals import Approval, Decider, find_approval
from shared.runs.begin import Arrival, Followed, Keeping, decided, keeping_of
from shared.runs.claim import read_request
from shared.runs.delivery import reply_name
from shared.runs.direct_line import DirectLine
from shared.runs.records import digest
from shared.settings.derived import callers_named
from shared.triggers.activity_files import files_of
from shared.triggers.budget import admit
from shared.triggers.door import Call, asker_of
from shared.triggers.reading_runs import parts
from shared.turns.accept import RouteOptions, accept
from shared.verdicts import LONGEST_TEXT
from shared.web.receiving import read_body
from shared.web.responses import KEEP_ALIVE_SECONDS, json_response
from shared.wire.activity import ACTIVITY, Account, Activity, Conversation, read_activity
from shared.wire.activity_reply import CARD, Reply, addressed, card_message, consent_card, thumb_of, with_stream, words
from shared.wire.feedback_body import parse_feedback
from shared.wire.framing import one_line
from shared.wire.protocol import Record
from shared.wire.request_body import Body, JsonReader

_EXAMPLE = '{"type": "message", "id": "1", "conversation": {"id": "a"}, "from": {"id": "b"}, "text": "…"}'
_LARGEST = 256 * 1024
"""Bytes of an activity, as Bot Service has it."""
_BODY_SECONDS = 10.0
_STREAM_PAUSE = 0.1
"""Seconds between two updates in a response, as Microsoft's own SDK has it."""
_CHAT_SECONDS = 2.0
"""How long it may take to begin the chat of a question: the service waits 15 seconds for the response."""
_BOT = Account("bot")
"""The bot in conversations of Direct Line."""
_log = logging.getLogger("switchboard.bot")


async def take(request: Request) -> Response:
    """Take an activity.

    Raises:
        SwitchboardError: it is not taken.
    """
    service = await app.get_service()
    tokens = service.bot_tokens
    if tokens is None:
        raise NotFound("This app is no bot of Azure Bot Service: BOT_ID is not set.")
    signed = await tokens.signed(request.headers)
    with ExitStack() as held:
        choose = partial(JsonReader, _LARGEST, _EXAMPLE)
        body = await read_body(request, choose, request.state.arrived + _BODY_SECONDS, held)
        activity = read_activity(body.json)
        caller = tokens.caller(
            signed,
            channel=activity.channel_id,
            service_url=activity.service_url,
            tenants=activity.tenants,
            user=activity.sender.aad_object_id or "",
            sender=activity.sender.id,
        )
        if not (signed.is_service or activity.is_answered_in_response):
            raise BadRequest("deliveryMode: should be 'expectReplies' or 'stream' for an application of the tenant.")
        asker = replace(asker_of(request, service, caller), accept_language=activity.locale)
        return await _react(Call(request, service, asker, request.state.arrived, held), activity)


async def welcome(call: Call, conversation: str) -> None:
    """Begin a conversation of Direct Line with the bot's welcome, in the language that the client names."""
    locale = call.asker.accept_language
    if call.request.headers.get("content-length", "0") != "0":
        named = (await call.read(partial(JsonReader, _LARGEST, '{"locale": "de-DE"}'))).json.get("locale")
        locale = named if isinstance(named, str) else locale
    activity = Activity(type="message", conversation=Conversation(conversation), recipient=_BOT, locale=locale)
    await _send(call, activity, {"type": "message", "text": words(activity, "welcome")})


async def post(call: Call) -> Response:
    """Take an activity of a client of Direct Line, and show it in the conversation.

    Raises:
        SwitchboardError: it is not taken.
    """
    body = await call.read(partial(JsonReader, _LARGEST, _EXAMPLE), call.arrived + _BODY_SECONDS)
    _, runs = await parts()
    line = DirectLine(runs.store, call.owner, call.id)
    ours: Record = {"id": f"{call.id}|{token_hex(8)}", "conversation": {"id": call.id}, "serviceUrl": ""}
    ours |= {"channelId": "directline", "recipient": {"id": _BOT.id}, "deliveryMode": "", "channelData": {}}
    activity = read_activity(body.json | ours)
    if activity.type == "message":
        await line.send("", call.id, {**body.json, **ours, "channelData": body.json.get("channelData")})
    asker = replace(call.asker, accept_language=activity.locale or call.asker.accept_language)
    response = await _react(replace(call, asker=asker), activity)
    return json_response({"id": activity.id}) if response.status_code < 300 else response


async def _react(call: Call, activity: Activity) -> Response:
    is_added = any(member.id == activity.recipient.id for member in activity.members_added)
    match activity.type, activity.said.lower() or activity.name:
        case "message", "" if activity.value:
            return await _press(call, activity)
        case "event", _ if thumb := thumb_of(activity):
            return await _judge(call, replace(activity, value=thumb))
        case "message", "/new":
            await _forget(call, activity)
            return _say(call, activity, words(activity, "new"))
        case "message", "/help" | "/start":
            return _say(call, activity, words(activity, "welcome"))
        case "message", said if (said or activity.has_files) and activity.id:
            return await _answer(call, activity)
        case "conversationUpdate", _ if is_added:
            return _say(call, activity, words(activity, "welcome"))
        case "invoke", "adaptiveCard/action":
            return await _press(call, activity)
        case "invoke", "message/submitAction":
            return await _judge(call, activity)
        case "invoke", _:
            return json_response({}, status=501)
        case _:
            return Response(status_code=202)


async def _answer(call: Call, activity: Activity) -> Response:
    """Begin the run of a question. The same activity again is the same run."""
    try:
        followed = await _begun(call, activity)
    except SwitchboardError as error:
        if error.status >= 500 or error.status == 422:
            raise
        return _say(call, activity, error_text(error, call.invocation_id))
    if activity.delivery_mode == "stream":
        headers = {"cache-control": "no-cache", "content-type": "text/event-stream"}
        return StreamingResponse(_streamed(call, activity, followed), headers=headers)
    if activity.is_answered_in_response:
        return _whole(activity, await _said(call, activity, followed))
    return Response(status_code=202)


async def _begun(call: Call, activity: Activity) -> Followed:
    admit(call.request, call.service, call.asker.budget_key)
    files = await files_of(activity, None if activity.is_polled else call.service.connector)
    if not activity.said:
        activity = replace(activity, text=words(activity, "file"))
    body, options = Body(activity.asked, files), RouteOptions(team=activity.asks_team)
    accepted = accept(ACTIVITY, body, call.asker, call.settings, options)
    with suppress(SwitchboardError, TimeoutError):  # it is answered without its chat then
        async with asyncio.timeout(_CHAT_SECONDS):
            await call.service.history.create(call.owner, Mode.STANDARD, UNTITLED, activity.chat_id)
    arrival = Arrival(
        asker=call.asker,
        keeping=Keeping(in_journal=True, acts=keeping_of(call.service, accepted).acts),
        until=call.deadline,
        status_within=0.0 if activity.delivery_mode == "stream" else None,
        options=options,
        protocol=ACTIVITY.name,
        path="/messages",
        run_id=digest("activity", activity.channel_id, activity.conversation.id, activity.id)[:32],
        outlives=True,
        is_waited_for=activity.is_answered_in_response,
    )
    return await app.begin(accepted, arrival, body)


async def _said(call: Call, activity: Activity, followed: Followed) -> list[Record]:
    reply = Reply(activity, call.settings.citation_links, followed.request.answer_id)
    async for event in followed.events():
        reply.add(event)
    return _records(activity, reply, followed.request.answer_id)


def _records(activity: Activity, reply: Reply, answer_id: str) -> list[Record]:
    """Return a whole answer. Its messages have its id, by which it can be judged."""
    cards = [card_message(consent_card(activity, one)) for one in reply.calls]
    return [message | {"id": answer_id} for message in reply.messages()] + cards


def _whole(activity: Activity, records: list[Record]) -> Response:
    return json_response({"activities": [addressed(activity, record) for record in records]})


async def _streamed(call: Call, activity: Activity, followed: Followed) -> AsyncGenerator[bytes]:
    """Yield an answer as server-sent events, each of which is an activity."""
    reply, stream = (
        Reply(activity, call.settings.citation_links, followed.request.answer_id),
        followed.request.answer_id,
    )
    number, shown, due = 0, "", 0.0
    now = asyncio.get_running_loop().time
    async for batch in followed.batches(KEEP_ALIVE_SECONDS):
        for event in batch:
            reply.add(event)
        if not batch:
            yield b": keep-alive\n\n"
        if now() >= due and (text := reply.text) != shown:
            number, shown, due = number + 1, text, now() + _STREAM_PAUSE
            yield _event(activity, with_stream({"type": "typing", "text": text}, "streaming", stream, number))
    for place, record in enumerate(_records(activity, reply, stream)):
        yield _event(activity, record if place else with_stream(record, "final", stream))


def _event(activity: Activity, record: Record) -> bytes:
    return b"event: activity\ndata: %b\n\n" % one_line(addressed(activity, record))


def _say(call: Call, activity: Activity, text: str) -> Response:
    """Say something of the bot's own. What is sent does not keep the service waiting, and is not sent again."""
    record: Record = {"type": "message", "text": text}
    if activity.is_answered_in_response:
        return _whole(activity, [record])
    task = asyncio.create_task(_send(call, activity, record))
    _sending.add(task)
    task.add_done_callback(_sending.discard)
    return Response(status_code=202)


_sending: set[asyncio.Task[None]] = set()
"""What is being said; asyncio itself would forget it."""


async def _send(call: Call, activity: Activity, record: Record) -> None:
    connector = call.service.connector
    if activity.is_polled:
        connector = DirectLine((await parts())[1].store, call.owner, activity.conversation.id)
    if connector:
        try:
            await connector.send(activity.service_url, activity.conversation.id, addressed(activity, record))
        except ServiceFault as exc:
            _log.warning("invocation %s: not sent: %s", call.invocation_id, exc.fault.reason.name)


async def _forget(call: Call, activity: Activity) -> None:
    """Delete the chat that the app keeps of a conversation: the next question begins another one."""
    with suppress(NotFound):
        await call.service.history.delete(call.owner, activity.chat_id)
    if call.service.verdicts:
        await call.service.verdicts.forget(call.owner, activity.chat_id)


async def _press(call: Call, activity: Activity) -> Response:
    """Decide about a call, as a button of a card says, and answer with the card as it is then.

    Where the response has all that is said, it has what comes of the call too.
    """
    match activity.value:
        case {"action": {"verb": str(verb), "data": {"approval": str(approval_id)}}}:
            pass
        case {"verb": str(verb), "approval": str(approval_id)}:
            pass
        case _:
            raise BadRequest("value: should be the action of a card of this bot.")
    _, runs = await parts()
    decider = Decider(
        digest(call.owner), call.owner, is_approver=is_among(call.caller, callers_named(call.settings.approvers))
    )
    decision, followed = Decision(verb == "approve", approval_id=approval_id), None
    try:
        approval = await _approval(activity, runs.store, approval_id, decider)
        with suppress(Decided):  # it was decided otherwise before: the card says how
            if verb in ("approve", "decline") and activity.is_answered_in_response:
                followed = await decided(runs, ChatRequest((), decisions=(decision,)), call.owner, call.deadline)
            elif verb in ("approve", "decline"):
                await runs.consents.decide(decision, decider, here=True)
        approval = await _approval(activity, runs.store, approval_id, decider)
    except NotFound:
        refused: Json = {"code": "Forbidden", "message": words(activity, "not_yours")}
        result: Record = {"statusCode": 403, "type": "application/vnd.microsoft.error", "value": refused}
    else:
        card = consent_card(activity, approval.call.opened, approval.call.state)
        result = {"statusCode": 200, "type": CARD, "value": card}
    if not activity.is_answered_in_response:
        return json_response(result)
    pressed: Record = {"type": "invokeResponse", "value": {"status": 200, "body": result}}
    return _whole(activity, [pressed, *(await _said(call, activity, followed) if followed else [])])


async def _approval(activity: Activity, store: ObjectStore, approval_id: str, decider: Decider) -> Approval:
    """Return an approval that the sender may decide; raise NotFound unless it is of this conversation."""
    approval = await find_approval(store, approval_id, decider)
    request, body = await read_request(store, approval.run_id)
    if request.protocol != ACTIVITY.name or read_activity(body.json).conversation.id != activity.conversation.id:
        raise NotFound("The card is of another conversation.")
    return approval


async def _judge(call: Call, activity: Activity) -> Response:
    """Keep what a person says of an answer with a thumb.

    Raises:
        BadRequest: it says nothing.
        NotFound: no such answer of this person is kept any more.
    """
    match activity.value:
        case {"actionName": "feedback", "actionValue": {"reaction": "like" | "dislike" as reaction, **more}, **which}:
            rating = "up" if reaction == "like" else "down"
        case _:
            raise BadRequest("value: should be the feedback on a message, with a reaction of 'like' or 'dislike'.")
    _, runs = await parts()
    found = await runs.store.read(reply_name(activity, activity.reply_to_id))
    comment = ""
    with suppress(msgspec.DecodeError, TypeError):  # Teams writes JSON into a text
        comment = str(msgspec.json.decode(more["feedback"]).get("feedbackText", "")) if more.get("feedback") else ""
    judged: Record = {
        "answer_id": found.data.decode() if found else which.get("answer") or activity.reply_to_id or "-",
        "rating": rating,
        "comment": comment[:LONGEST_TEXT],
    }
    if call.service.verdicts is None:
        raise NotFound("This app keeps no answers, so none can be judged: HISTORY_BACKEND is 'off'.")
    await call.service.verdicts.judge(call.owner, *parse_feedback(judged, datetime.now(UTC)))
    return json_response({})
