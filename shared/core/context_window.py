"""Selects the earlier messages that fit into the prompt."""

from collections.abc import Iterable, Sequence
from itertools import chain

from shared.chat_models import HISTORY_TOKENS
from shared.chat_types import ChatRequest, Message, Role

ATTACHED_TOKENS = 32_000
"""Separate token budget for files and images of earlier messages, since users ask about a file more than once."""

_IMAGE_TOKENS = 1_500
"""Tokens of the largest image at full detail. Source: OpenAI, 'Images and vision', cost of GPT-4o."""


def tokens_in(text: str) -> int:
    """Estimate the tokens of a text: one per four UTF-8 bytes. The true number is at most four times the estimate."""
    return len(text.encode(errors="replace")) // 4


def estimate_tokens(message: Message) -> int:
    """Estimate the tokens of a message's text: one per four UTF-8 bytes, and four for the message itself.

    An exact count needs the model's own tokenizer, and most are not available offline. The estimate is too high for
    English and close for other scripts, so the budgets are rarely exceeded.
    """
    calls = "".join(call.name + call.arguments for call in message.tool_calls)
    return 4 + tokens_in(message.content + calls)


def estimate_attached_tokens(message: Message) -> int:
    """Estimate the tokens of a message's files and images."""
    return sum(tokens_in(str(file)) for file in message.files) + _IMAGE_TOKENS * len(message.images)


def history_of(request: ChatRequest, budget: int) -> tuple[Message, ...]:
    """Return the earlier messages that a turn gets, as `fit_history` does; none in a request that stands alone."""
    return () if request.single_turn else fit_history(request.messages[:-1], budget)


def fit_history(messages: Sequence[Message], budget: int = HISTORY_TOKENS) -> tuple[Message, ...]:
    """Return the earlier messages that fit both budgets, in order; the oldest are dropped first.

    System messages are always kept. A tool call and its results are kept or dropped together, since model services
    refuse one without the other.
    """
    kept: list[list[Message]] = []
    attached_budget = ATTACHED_TOKENS
    full = False
    for turn in reversed(_whole_turns(messages)):
        is_system = turn[0].role is Role.SYSTEM
        if not is_system:
            budget -= sum(map(estimate_tokens, turn))
            attached_budget -= sum(map(estimate_attached_tokens, turn))
            full = full or budget < 0 or attached_budget < 0
        if is_system or not full:
            kept.append(turn)
    return tuple(chain.from_iterable(reversed(kept)))


def _whole_turns(messages: Iterable[Message]) -> list[list[Message]]:
    """Group each tool call with its results; drop calls without all results, and results without a call."""
    turns: list[list[Message]] = []
    complete: list[list[Message]] = []
    unanswered: set[str] = set()
    for message in messages:
        if message.role is not Role.TOOL:
            turns.append([message])
            unanswered = {call.id for call in message.tool_calls}
        elif turns and message.tool_call_id in unanswered:
            turns[-1].append(message)
            unanswered.discard(message.tool_call_id)
        else:
            continue
        if not unanswered:
            complete.append(turns[-1])
    return complete
