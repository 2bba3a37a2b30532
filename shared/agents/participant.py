"""One agent of a team. An error of the agent becomes its message, and the other agents go on."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import agent_framework as af
import msgspec
from agent_framework import AgentContext, AgentMiddleware

from shared.agents.chat_client import HANDOFF, AgentChatClient, AgentOutput
from shared.agents.gate import Paused
from shared.agents.toolbox import cause_of
from shared.agents.transcript import AgentResult, TeamTranscript
from shared.errors import ContentFiltered, InternalError, SwitchboardError, TooSlow, Unavailable, log_fault
from shared.events import AgentMessage
from shared.telemetry import Watch


class Participant(AgentMiddleware):
    """Middleware around the framework's agent: adds each finished message of the agent to the transcript.

    The framework gets back only what the other agents may see: the text, or nothing if the agent failed.
    """

    def __init__(
        self,
        name: str,
        client: AgentChatClient,
        transcript: TeamTranscript,
        put: Callable[[AgentMessage], Awaitable[None]],
        watch: Watch,
    ) -> None:
        self._name = name
        self._client = client
        self._toolbox = client.calls.toolbox
        self._lane = client.calls.lane
        self._transcript = transcript
        self._put = put
        self._watch = watch
        self._unheard: list[af.Message] = []
        """Messages that the agent was given when it failed. The framework does not give them to it again."""

    async def process(self, context: AgentContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Let the agent make one message, and hand the message over."""
        if self._transcript.is_paused:
            context.result = af.AgentResponse[Any](messages=[])
            return
        self._toolbox.begin()
        self._lane.begin()
        self._client.output = output = AgentOutput()
        self._client.may_hand_over = self._transcript.begin()
        self._client.most_words = self._transcript.most_words()
        context.messages = heard = [*self._unheard, *context.messages]
        with self._watch(self._name) as tell:
            try:
                error = await self._error_of(call_next, output)
            except Paused as pause:
                tell(output.usage, None)
                self._transcript.pause(output, pause.calls)
                context.result = af.AgentResponse[Any](messages=[])
                return
            tell(output.usage, error)
        self._unheard = heard if error else []
        # Checked here as well, since a model may call a function that it was not offered.
        may_hand_over = error is None and self._client.may_hand_over
        handed_to = self._client.name_of(_handed_to(context.result) or "") if may_hand_over else None
        if error is None and handed_to is None and not output.text:
            error = self._silence(output)
        message = self._transcript.take(AgentResult(self._name, output, self._toolbox, error, handed_to))
        await self._lane.end(output.usage, error, handed_to=handed_to)
        if message:
            await self._put(message)
        if handed_to is None:
            # A late agent has no words for the others, but they can use what it found.
            words = self._toolbox.lines() if isinstance(error, TooSlow) else message and not error and message.text
            said = [af.Message("assistant", [words], author_name=context.agent.name)] if words else []
            context.result = af.AgentResponse[Any](messages=said)

    async def _error_of(self, call_next: Callable[[], Awaitable[None]], output: AgentOutput) -> SwitchboardError | None:
        """Run the agent; return its error, or None."""
        if asyncio.get_running_loop().time() >= self._transcript.deadline:
            return TooSlow(f"{self._name} had no time left to answer. Ask for less, or try again.")
        deadline = asyncio.timeout_at(self._transcript.ends_at())
        try:
            async with deadline:
                await call_next()
        except Paused:
            raise
        except Exception as error:  # noqa: BLE001 (the edge of one agent: the others go on)
            if deadline.expired():
                output.cut_off()
                return None if output.text else self._late(output)
            cause = cause_of(error)
            if isinstance(cause, SwitchboardError):
                return cause
            log_fault(cause, self._client.calls.context.invocation_id)
            return InternalError()
        return None

    def _late(self, output: AgentOutput) -> TooSlow:
        if output.is_waiting:
            return TooSlow(f"{self._name} had to wait too long for the others' model calls to end. Try again.")
        return TooSlow(f"{self._name} took too long to answer. Ask for less, or try again.")

    def _silence(self, output: AgentOutput) -> SwitchboardError:
        if output.finished and output.finished.reason == "content_filter":
            return ContentFiltered(results=output.finished.content_filter_results)
        return Unavailable(f"{self._name} answered nothing. Try again, or ask in other words.")


def _handed_to(response: object) -> str | None:
    """The framework's name of the agent that was handed over to; None if there was no handover.

    After a handover the framework ends the agent's run with the result of that function call.
    """
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
            with suppress(msgspec.DecodeError, KeyError):  # the result is an error text if the agent does not exist
                return msgspec.json.decode(str(content.result), type=dict[str, str])["handoff_to"]
    return None
