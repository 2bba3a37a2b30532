"""Limits the size of each model call, and counts its tokens in the caller's budget."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import replace

import msgspec

from shared.chat_models import ChatModel, ModelEvent, ModelFinished, ModelRequest, ModelText
from shared.chat_types import RequestContext, TokenMeter, ToolCall
from shared.core.context_window import estimate_attached_tokens, estimate_tokens, tokens_in
from shared.errors import SwitchboardError, TooLarge
from shared.events import ReasoningDelta, Usage


class CappedModel:
    """A `ChatModel` with a maximum size of prompts and answers.

    Args:
        model: The model to call.
        max_tokens: Maximum length of an answer, in tokens; a call may ask for less.
        max_prompt_tokens: Maximum length of a prompt, in estimated tokens.
    """

    def __init__(self, model: ChatModel, max_tokens: int, max_prompt_tokens: int) -> None:
        self.takes_images = model.takes_images
        self.takes_tools = model.takes_tools
        self.room = model.room
        self.check = model.check
        self._model = model
        self._max_tokens = max_tokens
        self._max_prompt_tokens = max_prompt_tokens

    def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """See `ChatModel.stream`. A prompt that is too long raises TooLarge before the model is called."""
        prompt = self._checked(request)
        longest = self._max_tokens if request.max_tokens is None else min(self._max_tokens, request.max_tokens)
        events = self._model.stream(replace(request, max_tokens=longest), context)
        return events if context.meter is None else _counted(events, prompt, longest, context.meter)

    def _checked(self, request: ModelRequest) -> int:
        """Return the estimated tokens of a prompt with its tools; raise TooLarge if they are over the limit."""
        count = sum(estimate_tokens(message) + estimate_attached_tokens(message) for message in request.messages)
        if more := [*request.tools, *([request.form] if request.form else ())]:
            count += tokens_in(msgspec.json.encode(more).decode())
        if count > self._max_prompt_tokens:
            raise TooLarge(
                f"The whole prompt takes some {count:,} tokens, and this app takes {self._max_prompt_tokens:,}: ask "
                "about less, or start a new chat."
            )
        return count


async def _counted(
    events: AsyncGenerator[ModelEvent], prompt: int, longest: int, meter: TokenMeter
) -> AsyncGenerator[ModelEvent]:
    """Pass on the events of a call, and count its tokens; raise RateLimited if none are left for it.

    The prompt and the longest possible answer are counted before the call, so that parallel calls cannot exceed a
    budget together. At the end the count is corrected to the service's own, or to an estimate if the call was cancelled
    or the service reports no usage.
    """
    meter.reserve(prompt + longest)
    written: list[str] = []
    usage: Usage | None = None
    has_begun = is_refused = False
    try:
        async with aclosing(events):
            async for event in events:
                has_begun = True
                if isinstance(event, ModelText | ReasoningDelta):
                    written.append(event.text)
                elif isinstance(event, ToolCall):
                    written.append(event.arguments)
                elif isinstance(event, ModelFinished):
                    usage = event.usage
                yield event
    except SwitchboardError:
        is_refused = not has_begun  # the service did no work
        raise
    finally:
        estimate = 0 if is_refused else prompt + tokens_in("".join(written))
        meter.correct((usage.total_tokens if usage else estimate) - prompt - longest)
