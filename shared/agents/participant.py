"""One agent of a team: what goes wrong with it stays with it, and becomes its message."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import agent_framework as af
import msgspec
from agent_framework import AgentContext, AgentMiddleware

from shared.agents.chat_client import HANDOFF, AgentChatClient
from shared.agents.search_tool import cause_of
from shared.agents.searches import Searches
from shared.agents.speech import Speech
from shared.agents.transcript import Outcome, TeamTranscript
from shared.errors import ContentFiltered, InternalError, SwitchboardError, TooSlow, Unavailable, log_fault
from shared.events import AgentMessage
from shared.telemetry import Watch


class Participant(AgentMiddleware):
    """Stands around the framework's agent, and reports each message of it to the discussion when it is done.

    The framework is told only what the others may see: the text, or nothing of what failed.
    """

    def __init__(
        self,
        name: str,
        invocation_id: str,
        client: AgentChatClient,
        searches: Searches,
        discussion: TeamTranscript,
        put: Callable[[AgentMessage], Awaitable[None]],
        watch: Watch,
    ) -> None:
        self._name = name
        self._invocation_id = invocation_id
        self._client = client
        self._searches = searches
        self._discussion = discussion
        self._put = put
        self._watch = watch
        self._unheard: list[af.Message] = []
        """What was said to the agent when it failed, since the framework forgets that."""

    async def process(self, context: AgentContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Let the agent speak."""
        self._searches.begin()
        self._client.speech = speech = Speech()
        self._client.may_hand_over = self._discussion.begin()
        context.messages = heard = [*self._unheard, *context.messages]
        with self._watch(self._name) as tell:
            error = await self._error_of(call_next, speech)
            tell(speech.usage, error)
        self._unheard = heard if error else []
        # A model may call a function that it was not offered.
        may_hand_over = error is None and self._client.may_hand_over
        handed_to = self._client.name_of(_handed_to(context.result) or "") if may_hand_over else None
        if error is None and handed_to is None and not speech.text:
            error = self._silence(speech)
        message = self._discussion.take(Outcome(self._name, speech, self._searches, error, handed_to))
        if message:
            await self._put(message)
        if handed_to is None:
            said = [af.Message("assistant", [message.text], author_name=context.agent.name)] if message else []
            context.result = af.AgentResponse[Any](messages=[] if error else said)

    async def _error_of(self, call_next: Callable[[], Awaitable[None]], speech: Speech) -> SwitchboardError | None:
        """Run the agent; return what it failed with."""
        if asyncio.get_running_loop().time() >= self._discussion.deadline:
            return TooSlow(f"{self._name} had no time left to answer. Ask for less, or try again.")
        deadline = asyncio.timeout_at(self._discussion.deadline)
        try:
            async with deadline:
                await call_next()
        except Exception as error:  # noqa: BLE001 (the edge of one agent: the others go on)
            if deadline.expired():
                return self._late(speech)
            cause = cause_of(error)
            if isinstance(cause, SwitchboardError):
                return cause
            log_fault(cause, self._invocation_id)
            return InternalError()
        return None

    def _late(self, speech: Speech) -> TooSlow:
        if speech.is_waiting:
            return TooSlow(f"{self._name} had to wait too long for the others' model calls to end. Try again.")
        return TooSlow(f"{self._name} took too long to answer. Ask for less, or try again.")

    def _silence(self, speech: Speech) -> SwitchboardError:
        if speech.finished and speech.finished.reason == "content_filter":
            return ContentFiltered(results=speech.finished.content_filter_results)
        return Unavailable(f"{self._name} answered nothing. Try again, or ask in other words.")


class _HandoffResult(msgspec.Struct):
    handoff_to: str


def _handed_to(response: object) -> str | None:
    """What the framework calls whom the agent passed the user on to; it ends the run with the result of that call."""
    if not (isinstance(response, af.AgentResponse) and response.messages):
        return None
    messages: list[af.Message] = response.messages
    handoffs = {
        content.call_id
        for message in messages
        for content in message.contents
        if content.type == "function_call" and (content.name or "").startswith(HANDOFF)
    }
    for content in messages[-1].contents:
        if content.type == "function_result" and content.call_id in handoffs:
            with suppress(msgspec.DecodeError):  # one that does not exist has an error for its result
                return msgspec.json.decode(str(content.result), type=_HandoffResult).handoff_to
    return None
