"""What the bot does with an activity: the run that answers a question, and what people press."""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import ExitStack, suppress
from copy import replace
from functools import partial
from secrets import token_hex

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shared import app
from shared.chat_types import Caller
from shared.errors import BadRequest, NotAllowed, NotFound, SwitchboardError, error_text
from shared.history import UNTITLED, Mode
from shared.identity.bot_tokens import Signed
from shared.outbound.faults import ServiceFault
from shared.runs.begin import Arrival, Followed
from shared.runs.direct_line import DirectLine
from shared.runs.records import digest
from shared.runtime.background import in_background
from shared.settings import Settings
from shared.triggers import activity_files, budget, reading_runs
from shared.triggers.activity_invokes import exchange, judge, log_failure, press, sign_in_card, with_groups
from shared.triggers.door import Call, asker_of
from shared.turns.accept import RouteOptions, accept
from shared.web.receiving import read_body
from shared.web.responses import KEEP_ALIVE_SECONDS, json_response
from shared.wire import activity_reply as replies
from shared.wire.activity import ACTIVITY, TEAMS, Account, Activity, Conversation, read_activity
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
_LONGEST_SENDER = 500
"""Characters of a sender's id."""
_WITH_TLS = re.compile(r"https://[^\s/?#@\\]+(?:/[^\s?#@\\]*)?")
_HERE = re.compile(r"http://(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]+)?(?:/[^\s?#@\\]*)?")
"""URLs of a service, elsewhere and on this machine."""
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
        caller = caller_of(activity, signed, service.settings)
        if signed.channels is None:
            activity = replace(activity, service_url="")  # nobody vouches for it, and the bot's token would go there
            if not activity.is_answered_in_response:
                raise BadRequest("deliveryMode: should be 'expectReplies' or 'stream' for an application.")
        asks = False
        if caller.oid and service.settings.bot_sso_resource:
            is_said = activity.type in ("message", "conversationUpdate") and not activity.is_answered_in_response
            _, runs = await reading_runs.parts()
            caller, asks = await with_groups(runs.store, caller, may_ask=is_said and activity.streams)
        asker = replace(asker_of(request, service, caller), accept_language=activity.locale)
        call = Call(request, service, asker, request.state.arrived, held)
        if asks:
            _say(call, activity, replies.card_message(sign_in_card(call, activity), replies.OAUTH_CARD))
        return await _react(call, activity)


def caller_of(activity: Activity, signed: Signed, settings: Settings) -> Caller:
    """Return who sends an activity whose token is valid.

    Bot Service names its channel's user, whom the channel has signed in: it is believed for Teams alone. The client of
    any other channel chooses its user's id, and every application of the tenant gets a token for the bot: neither is a
    user of the directory here.

    Raises:
        NotAllowed: the token does not allow this activity; says why.
    """
    tenant, sender, url = (settings.bot_tenant_id or "").lower(), activity.sender.id, activity.service_url
    channel, claims = activity.channel_id.partition(":")[0], signed.claims
    if activity.tenants - {tenant}:
        raise NotAllowed("The conversation or its user is of another tenant than the bot's (BOT_TENANT_ID).")
    if not 0 < len(sender) <= _LONGEST_SENDER:
        raise NotAllowed("The activity does not say who sends it (from.id).")
    if signed.channels is None:
        application = claims.get("azp") or claims.get("appid")
        if str(claims["tid"]).lower() != tenant or not isinstance(application, str):
            raise NotAllowed("The token is of no application of the bot's tenant (BOT_TENANT_ID).")
        return Caller(key=f"agent {application} {sender}")  # no API key has a name with a space
    if channel not in signed.channels:
        raise NotAllowed("The token's key is not endorsed for the activity's channel.")
    if str(claims.get("serviceurl")).rstrip("/") != url.rstrip("/"):
        raise NotAllowed("The token is for another service URL than the activity's.")
    is_here = settings.bot_openid_metadata.startswith("http://") and _HERE.fullmatch(url)  # as a stand-in is
    if not (is_here or _WITH_TLS.fullmatch(url)):
        raise NotAllowed("The activity's service URL is not one of a service with TLS.")
    if channel != TEAMS:
        return Caller(key=f"{channel} {sender}")
    if not (activity.sender.aad_object_id and activity.tenants):
        raise NotAllowed("Only users of the bot's tenant can use it in Teams (from.aadObjectId).")
    return Caller(oid=activity.sender.aad_object_id, tenant=tenant)


async def welcome(call: Call, conversation: str) -> None:
    """Begin a conversation of Direct Line with the bot's welcome, in the language that the client names."""
    locale = call.asker.accept_language
    if call.request.headers.get("content-length", "0") != "0":
        named = (await call.read(partial(JsonReader, _LARGEST, '{"locale": "de-DE"}'))).json.get("locale")
        locale = named if isinstance(named, str) else locale
    activity = Activity(type="message", conversation=Conversation(conversation), recipient=_BOT, locale=locale)
    await _send(call, activity, {"type": "message", "text": replies.words(activity, "welcome")})


async def post(call: Call) -> Response:
    """Take an activity of a client of Direct Line, and show it in the conversation.

    Raises:
        SwitchboardError: it is not taken.
    """
    body = await call.read(partial(JsonReader, _LARGEST, _EXAMPLE), call.arrived + _BODY_SECONDS)
    _, runs = await reading_runs.parts()
    line = DirectLine(runs.store, call.owner, call.id)
    ours: Record = {"id": f"{call.id}|{token_hex(8)}", "conversation": {"id": call.id}, "serviceUrl": ""}
    ours |= {"channelId": "directline", "recipient": {"id": _BOT.id}, "deliveryMode": ""}
    activity = read_activity(body.json | ours)
    if activity.type == "message":
        await line.send(body.json | ours)
    asker = replace(call.asker, accept_language=activity.locale or call.asker.accept_language)
    response = await _react(replace(call, asker=asker), activity)
    return json_response({"id": activity.id}) if response.status_code < 300 else response


async def _react(call: Call, activity: Activity) -> Response:
    has_files = any(one.content_type != "text/html" for one in activity.attachments)
    is_added = any(member.id == activity.recipient.id for member in activity.members_added)
    match activity.type, activity.said.lower() or activity.name:
        case "message", "" if activity.value:
            return await _invoked(call, replace(activity, name="adaptiveCard/action"))
        case "event", _ if thumb := replies.thumb_of(activity):
            return await _invoked(call, replace(activity, name="message/submitAction", value=thumb))
        case "message", "/new":
            await _forget(call, activity)
            return _say(call, activity, replies.words(activity, "new"))
        case "message", "/help" | "/start":
            return _say(call, activity, replies.words(activity, "welcome"))
        case "message", said if (said or has_files) and activity.id:
            return await _answer(call, activity)
        case "conversationUpdate", _ if is_added:
            return _say(call, activity, replies.words(activity, "welcome"))
        case "invoke", _:
            return await _invoked(call, activity)
        case _:
            return Response(status_code=202)


async def _invoked(call: Call, activity: Activity) -> Response:
    result, status, followed = {}, 200, None
    match activity.name:
        case "adaptiveCard/action":
            result, followed = await press(call, activity)
        case "message/submitAction":
            await judge(call, activity)
        case "signin/tokenExchange":
            result, status = await exchange(call, activity)
        case "signin/failure":
            log_failure(call, activity)
        case _:
            status = 501
    if not activity.is_answered_in_response:
        return json_response(result, status=status)
    pressed: Record = {"type": "invokeResponse", "value": {"status": status, "body": result}}
    return _whole(activity, [pressed, *(await _said(call, activity, followed) if followed else [])])


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
    budget.admit(call.request, call.service, call.asker.budget_key)
    files = await activity_files.files_of(activity, None if activity.is_polled else call.service.connector)
    if not activity.said:
        activity = replace(activity, text=replies.words(activity, "file"))
    body, options = Body(activity.asked, files), RouteOptions(team=activity.asks_team)
    accepted = accept(ACTIVITY, body, call.asker, call.settings, options)
    with suppress(SwitchboardError, TimeoutError):  # it is answered without its chat then
        async with asyncio.timeout(_CHAT_SECONDS):
            await call.service.history.create(call.owner, Mode.STANDARD, UNTITLED, activity.chat_id)
    arrival = Arrival(
        asker=call.asker,
        until=call.deadline,
        status_within=0.0 if activity.delivery_mode == "stream" else None,
        options=options,
        protocol=ACTIVITY.name,
        path="/messages",
        run_id=digest("activity", activity.channel_id, activity.conversation.id, activity.id)[:32],
        is_kept=True,
        outlives=True,
        is_waited_for=activity.is_answered_in_response,
    )
    return await app.begin(accepted, arrival, body)


async def _said(call: Call, activity: Activity, followed: Followed) -> list[Record]:
    reply = replies.Reply(activity, call.settings.citation_links, followed.request.answer_id)
    async for event in followed.events():
        reply.add(event)
    return await asyncio.to_thread(_records, activity, reply, followed.request.answer_id)


def _records(activity: Activity, reply: replies.Reply, answer_id: str) -> list[Record]:
    """Return a whole answer. Its messages have its id, by which it can be judged."""
    cards = [replies.card_message(replies.consent_card(activity, one)) for one in reply.calls]
    return [message | {"id": answer_id} for message in reply.messages()] + cards


def _whole(activity: Activity, records: list[Record]) -> Response:
    return json_response({"activities": [replies.addressed(activity, record) for record in records]})


async def _streamed(call: Call, activity: Activity, followed: Followed) -> AsyncGenerator[bytes]:
    """Yield an answer as server-sent events, each of which is an activity."""
    stream = followed.request.answer_id
    reply = replies.Reply(activity, call.settings.citation_links, stream)
    number, shown, due = 0, "", 0.0
    now = asyncio.get_running_loop().time
    async for batch in followed.batches(KEEP_ALIVE_SECONDS):
        for event in batch:
            reply.add(event)
        if not batch:
            yield b": keep-alive\n\n"
        if now() >= due and (text := reply.text) != shown:
            number, shown, due = number + 1, text, now() + _STREAM_PAUSE
            yield _event(activity, replies.with_stream({"type": "typing", "text": text}, "streaming", stream, number))
    for place, record in enumerate(await asyncio.to_thread(_records, activity, reply, stream)):
        yield _event(activity, record if place else replies.with_stream(record, "final", stream))


def _event(activity: Activity, record: Record) -> bytes:
    return b"event: activity\ndata: %b\n\n" % one_line(replies.addressed(activity, record))


def _say(call: Call, activity: Activity, said: str | Record) -> Response:
    """Say something of the bot's own. What is sent does not keep the service waiting, and is not sent again."""
    record: Record = {"type": "message", "text": said} if isinstance(said, str) else said
    if activity.is_answered_in_response:
        return _whole(activity, [record])
    in_background(_send(call, activity, record))
    return Response(status_code=202)


async def _send(call: Call, activity: Activity, record: Record) -> None:
    connector = call.service.connector
    if activity.is_polled:
        connector = DirectLine((await reading_runs.parts())[1].store, call.owner, activity.conversation.id)
    if connector:
        try:
            await connector.send(replies.addressed(activity, record))
        except ServiceFault as exc:
            _log.warning("invocation %s: not sent: %s", call.invocation_id, exc.fault.reason.name)


async def _forget(call: Call, activity: Activity) -> None:
    """Delete the chat that the app keeps of a conversation: the next question begins another one."""
    with suppress(NotFound):
        await call.service.history.delete(call.owner, activity.chat_id)
    if call.service.verdicts:
        await call.service.verdicts.forget(call.owner, activity.chat_id)
