"""Checks the question and the arguments of a call before a server's tool gets them (`RAI_MODE=enforce`)."""

import asyncio

from shared.chat_types import ChatRequest, RequestContext
from shared.errors import ContentFiltered
from shared.guard.chat_payloads import ANSWER, prompt_texts
from shared.guard.rules import REFUSED, Rules


async def clear_call(rules: Rules, request: ChatRequest, context: RequestContext, text: str) -> None:
    """Wait until a call is cleared, in a session of its own: that of the answer may wait for more text of it.

    Args:
        rules: The safety service, and what its results mean.
        request: The request, whose texts are checked as well.
        context: The request's context.
        text: The name of the tool and the arguments, which a model wrote.

    Raises:
        ContentFiltered: the question or the arguments are forbidden.
        SwitchboardError: the check has a fault that is not forgiven.
    """
    changed = asyncio.Event()
    check = rules.check(context, changed)
    try:
        check.ask(prompt_texts(request))
        check.add(ANSWER, text)
        check.finish()
        while not (check.settled or check.clearance.blocking):
            changed.clear()
            await changed.wait()
        if side := check.clearance.blocking:
            raise ContentFiltered(REFUSED[side], results=dict(rules.results(side, check)), earlier=())
        if check.fault and not rules.forgives(check.fault):
            raise check.fault
    finally:
        await check.aclose()
