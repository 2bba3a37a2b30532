"""What a streamed token costs in the encoder and the framing of each protocol, of an answer of 300 tokens with sources.

The whole answer is encoded, with what comes before and after the text. In this process, with nothing around it.
"""

import time
from collections.abc import AsyncGenerator, Sequence
from functools import partial

from bench.rounds import Comparison, by_turns
from shared.events import ChatEvent, CompletionStarted, DataPoint, Finished, Retrieved, TextDelta, Usage
from shared.wire.protocol import Protocol, stream_bytes
from shared.wire.table import PROTOCOLS

TOKENS = 300
_ROUNDS = 15
_ANSWERS = 10
"""A round's."""
_TEXT = "In the Standard plan an eye exam is paid once in each plan year, after the deductible. "
_POINTS = tuple(DataPoint(f"plan.pdf#page={page}", f"{page}. {_TEXT * 11}") for page in (1, 2, 3))
_WORDS = [f" {word}" for word in (_TEXT + "[plan.pdf#page=1]").split()]


async def report() -> list[Comparison]:
    """Compare for tokens that come alone, and for sixteen that come together."""
    return [await compare(together, _ROUNDS) for together in (1, 16)]


async def compare(together: int, rounds: int) -> Comparison:
    """Compare all protocols, with so many tokens in one write."""
    measures = {name: partial(_cpu_per_token, protocol, together) for name, protocol in PROTOCOLS.items()}
    what = f"CPU time of encoding and framing per token, {together} in a write, {TOKENS} tokens an answer"
    return Comparison(what, "microseconds", await by_turns(measures, rounds), ("ai-chat",))


async def _cpu_per_token(protocol: Protocol, together: int) -> float:
    asked = protocol.parse(protocol.example)
    begun = time.process_time()
    for _ in range(_ANSWERS):
        async for _piece in stream_bytes(protocol, asked, _batches(together)):
            pass
    return (time.process_time() - begun) / (_ANSWERS * TOKENS) * 1e6


async def _batches(together: int) -> AsyncGenerator[Sequence[ChatEvent]]:
    yield [Retrieved(_POINTS, ()), CompletionStarted("bench", 0, "bench")]
    for place in range(0, TOKENS, together):
        yield [TextDelta(_WORDS[number % len(_WORDS)]) for number in range(place, min(place + together, TOKENS))]
    yield [Finished("stop", Usage(1, TOKENS))]
