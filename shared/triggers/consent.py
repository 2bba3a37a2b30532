"""Consent in a chat: the answer to a question for consent lets the turn go on that waits for it."""

import re

from starlette.requests import Request

from shared import app
from shared.chat_types import ChatRequest, Decision, Role
from shared.errors import NotFound
from shared.history import owner_of
from shared.service import Service
from shared.triggers.kept_turns import Followed, address_of, chat_of
from shared.turns.accept import AcceptedRequest, Asker

_PHRASE = re.compile(r"\s*(approve|decline)\s+([a-z0-9]{4,6})\s*", re.IGNORECASE)
"""What a person writes in a client that has no buttons for it."""


async def go_on(
    request: Request, service: Service, accepted: AcceptedRequest, asker: Asker
) -> tuple[ChatRequest, Followed] | None:
    """Let a turn go on that waits for what a request decides.

    A request that decides nothing abandons what its chat has open.

    Returns:
        What to answer from; None: the request decides nothing.

    Raises:
        NotFound: it decides about something that is not open, or is another's.
        Decided: that was decided otherwise before.
    """
    asked, owner = accepted.request, owner_of(asker.caller)
    runs = await app.get_runs() if service.tool_servers else None
    if runs is None:
        if asked.decisions:
            raise NotFound("There is no such approval, or it is not yours to see.")
        return None
    decisions = asked.decisions or _phrase(asked)
    if outcome := await runs.consents.decide_in_chat(decisions, owner):
        address = address_of(request, service.settings, outcome.run_id)
        followed = Followed(
            runs,
            outcome.run_id,
            owner,
            None,
            address,
            ends_when_left=False,
            begin=outcome.begin,
            number=outcome.number,
        )
        return asked, followed
    if asked.chat.name or sum(message.role is Role.USER for message in asked.messages) > 1:
        await runs.consents.leave(owner, chat_of(asked))
    return None


def _phrase(asked: ChatRequest) -> tuple[Decision, ...]:
    found = _PHRASE.fullmatch(asked.question)
    return (Decision(found[1].lower() == "approve", code=found[2].upper()),) if found else ()
