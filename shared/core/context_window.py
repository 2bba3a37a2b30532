"""Selects the earlier messages that fit into the prompt."""

from collections.abc import Iterable, Sequence

from shared.chat_types import Message, Role

HISTORY_TOKENS = 8_000
"""Budget for the words of earlier messages; current models have a context window several times as large."""
ATTACHED_TOKENS = 32_000
"""Further budget for files and images of earlier messages, since users ask about a file more than once."""

_IMAGE_TOKENS = 1_500
"""Tokens of the largest image at full detail. Source: OpenAI, 'Images and vision', cost of GPT-4o."""


def tokens_in(text: str) -> int:
    """Roughly how many tokens a text takes: four UTF-8 bytes each. At most it takes four times as many, one a byte."""
    return len(text.encode(errors="replace")) // 4


def estimate_tokens(message: Message) -> int:
    """Estimate the tokens of a message's words: four UTF-8 bytes a token, and four tokens for the message itself.

    A tokenizer would have to be the model's own, and most cannot be had offline. The estimate is high for
    English and close for other scripts, so it errs on the safe side.
    """
    calls = "".join(call.name + call.arguments for call in message.tool_calls)
    return 4 + tokens_in(message.content + calls)


def estimate_attached_tokens(message: Message) -> int:
    """Estimate the tokens of a message's files and images."""
    return sum(tokens_in(str(file)) for file in message.files) + _IMAGE_TOKENS * len(message.images)


def fit_history(messages: Sequence[Message], budget: int = HISTORY_TOKENS) -> tuple[Message, ...]:
    """Return the earlier messages that fit both budgets, in order; the oldest are dropped first.

    System messages always stay. A tool call and its results stay or go together; one without the other is dropped,
    since a model's service would refuse it.
    """
    kept: list[Message] = []
    attached_budget = ATTACHED_TOKENS
    full = False
    for turn in reversed(_whole_turns(messages)):
        if turn[0].role is Role.SYSTEM:
            kept[:0] = turn
            continue
        budget -= sum(map(estimate_tokens, turn))
        attached_budget -= sum(map(estimate_attached_tokens, turn))
        full = full or budget < 0 or attached_budget < 0
        if not full:
            kept[:0] = turn
    return tuple(kept)


def _whole_turns(messages: Iterable[Message]) -> list[list[Message]]:
    """Group each tool call with its results; leave out calls and results that are incomplete."""
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
