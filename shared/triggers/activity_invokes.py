"""What Teams asks the bot and waits for: buttons of cards, thumbs, and the token of single sign-on.

A user's own token says the groups. They are kept until it expires, an hour at most; the token is not.

Source: Microsoft Teams, 'Enable SSO for your bot', 'Universal Actions for Adaptive Cards' and their SSO; Bot Framework,
`TokenExchangeInvokeResponse`.
"""

import logging
import re
import time
from contextlib import suppress
from copy import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec

from shared.chat_types import Caller, ChatRequest, Decision
from shared.errors import BadRequest, Decided, NotFound, NotSignedIn
from shared.history import owner_of
from shared.identity import is_among
from shared.runs import NEW, Conflict, ObjectStore, claim, delivery, direct_line, records
from shared.runs.approvals import Approval, Decider, find_approval
from shared.runs.begin import Followed, decided
from shared.settings.derived import callers_named
from shared.triggers.door import Call
from shared.triggers.reading_runs import parts
from shared.verdicts import LONGEST_TEXT
from shared.wire.activity import ACTIVITY, Activity, read_activity
from shared.wire.activity_reply import CARD, consent_card, words
from shared.wire.feedback_body import parse_feedback
from shared.wire.protocol import Record

_LOGIN = "application/vnd.microsoft.activity.loginRequest"
_ERROR = "application/vnd.microsoft.error"
_SECONDS = 3600.0
"""How long groups are kept at most, and how long after a card for a token the next one may be sent."""
_RENEWED_SECONDS = 600.0
"""How long before their end they are asked for again, for somebody who goes on talking."""
_log = logging.getLogger("switchboard.bot")


async def press(call: Call, activity: Activity) -> tuple[Record, Followed | None]:
    """Decide about a call, as a button of a card says.

    Returns:
        The result: the card as it is then, or why it was not decided. And what comes of the call, where the response
        has all that is said.
    """
    match activity.value:
        case {"action": {"verb": str(verb), "data": {"approval": str(approval_id)}}, **more}:
            pass
        case {"verb": str(verb), "approval": str(approval_id), **more}:
            pass
        case _:
            raise BadRequest("value: should be the action of a card of this bot.")
    _, runs = await parts()
    caller, token, followed = call.caller, more.get("authentication"), None
    approvers, refused = callers_named(call.settings.approvers), _refusal(403, _ERROR, words(activity, "not_yours"))
    decider = Decider(records.digest(call.owner), call.owner, is_approver=True)
    try:
        if token:
            caller = await _signed_in(call, token)
        approval = await _approval(activity, runs.store, approval_id, decider)
    except NotSignedIn as error:
        return _refusal(412, f"{_ERROR}.preconditionFailed", error.message), None
    except NotFound:
        return refused, None
    if not (approval.is_own or is_among(caller, approvers)):
        may_sign_in = approvers and call.settings.bot_sso_resource and activity.is_of_teams and verb != "look"
        if may_sign_in and not (token or caller.groups):
            return {"statusCode": 401, "type": _LOGIN, "value": sign_in_card(call, activity)}, None
        return refused, None
    if verb in ("approve", "decline"):
        decision = Decision(verb == "approve", approval_id=approval_id)
        with suppress(Decided):  # it was decided otherwise before: the card says how
            if activity.is_answered_in_response:
                followed = await decided(runs, ChatRequest((), decisions=(decision,)), call.owner, call.deadline)
            else:
                await runs.consents.decide(decision, decider, here=True)
        approval = await _approval(activity, runs.store, approval_id, decider)
    card = consent_card(activity, approval.call.opened, approval.call.state)
    return {"statusCode": 200, "type": CARD, "value": card}, followed


def _refusal(status: int, kind: str, message: str) -> Record:
    return {"statusCode": status, "type": kind, "value": {"code": str(status), "message": message}}


async def _approval(activity: Activity, store: ObjectStore, approval_id: str, decider: Decider) -> Approval:
    """Return an approval; raise NotFound unless it is of this conversation."""
    approval = await find_approval(store, approval_id, decider)
    request, body = await claim.read_request(store, approval.run_id)
    if request.protocol != ACTIVITY.name or read_activity(body.json).conversation.id != activity.conversation.id:
        raise NotFound("The card is of another conversation.")
    return approval


async def judge(call: Call, activity: Activity) -> None:
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
    found = await runs.store.read(delivery.reply_name(activity, activity.reply_to_id))
    comment = ""
    with suppress(msgspec.DecodeError, RecursionError, TypeError):  # Teams writes JSON into a text
        comment = str(msgspec.json.decode(more.get("feedback") or "{}", type=dict[str, Any]).get("feedbackText", ""))
    judged: Record = {
        "answer_id": found.data.decode() if found else which.get("answer") or activity.reply_to_id or "-",
        "rating": rating,
        "comment": comment[:LONGEST_TEXT],
    }
    if call.service.verdicts is None:
        raise NotFound("This app keeps no answers, so none can be judged: HISTORY_BACKEND is 'off'.")
    await call.service.verdicts.judge(call.owner, *parse_feedback(judged, datetime.now(UTC)))


class _Kept(msgspec.Struct, frozen=True):
    """What is kept of a user."""

    groups: tuple[str, ...] = ()
    until: float = 0.0
    """Until when they are known, as a Unix time."""
    asked: float = 0.0
    """When a card for a token was sent, if none has come."""


async def with_groups(store: ObjectStore, caller: Caller, *, may_ask: bool) -> tuple[Caller, bool]:
    """Return a user with the groups that are known, and whether to ask for a token now, which one message does."""
    name, now = _name(caller), time.time()
    found = await store.read(name)
    kept = records.decode(found.data, _Kept) if found else _Kept()
    asks = may_ask and kept.until - now < _RENEWED_SECONDS and now - kept.asked > _SECONDS
    if asks:
        try:
            await store.write(name, msgspec.json.encode(replace(kept, asked=now)), found.etag if found else NEW)
        except Conflict:
            asks = False
    return (replace(caller, groups=kept.groups) if kept.until > now else caller), asks


async def exchange(call: Call, activity: Activity) -> tuple[Record, int]:
    """Take the token of a user who is signed in to Teams; return the result, and its status.

    Each of the user's devices sends one for the same card.
    """
    told: Record = {}
    match activity.value:
        case {"id": str(card), "connectionName": str(name)}:
            told |= {"id": card, "connectionName": name}
        case _:
            pass
    try:
        await _signed_in(call, activity.value)
    except NotSignedIn as refused:
        return told | {"failureDetail": refused.message}, 412
    return told, 200


async def _signed_in(call: Call, sent: object) -> Caller:
    """Check a user's token and keep its groups; return the user with them.

    Raises:
        NotSignedIn: it is none of this user; says why.
        Unavailable: it cannot be checked now.
    """
    tokens, caller, (_, runs) = call.service.bot_tokens, call.caller, await parts()
    if tokens is None:
        raise NotSignedIn("This app is no bot.")
    match sent:
        case {"token": str(token)}:
            pass
        case _:
            token = ""
    try:
        groups, expires = await tokens.groups(token, caller)
    except NotSignedIn as refused:
        _log.warning("invocation %s: single sign-on is refused: %s", call.invocation_id, refused.message)
        raise
    if call.service.caller_tokens:
        call.service.caller_tokens.remember(caller, {"authorization": f"Bearer {token}"})
    kept = msgspec.json.encode(_Kept(groups, min(expires, time.time() + _SECONDS)))
    while True:
        found = await runs.store.read(_name(caller))
        with suppress(Conflict):  # another device has sent its token meanwhile
            await runs.store.write(_name(caller), kept, found.etag if found else NEW)
            return replace(caller, groups=groups)


def _name(caller: Caller) -> str:
    return f"{direct_line.folder_of(owner_of(caller))}groups"


def sign_in_card(call: Call, activity: Activity) -> Record:
    """Make the card by which Teams gets a token of its user. People see nothing of it if it can."""
    exchange: Record = {"id": str(uuid4()), "uri": call.settings.bot_sso_resource}
    text = words(activity, "sign_in")
    return {"text": text, "connectionName": "sso", "buttons": [], "tokenExchangeResource": exchange}


def log_failure(call: Call, activity: Activity) -> None:
    """Log why Teams got no token, in its own word."""
    match activity.value:
        case {"code": str(code)} if re.fullmatch("[a-z]{1,40}", code):
            word = code
        case _:
            word = "unknown"
    _log.warning("invocation %s: Teams got no token for single sign-on: %s", call.invocation_id, word)
