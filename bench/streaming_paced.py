"""What a token costs the server in CPU time when it comes alone, as real models send it, and when all come at once.

One by one, each token is a read of the network, a pass of the event loop and a write of its own; all at once, many
tokens share these. Ours is compared with the bare relay and with the SDK's typed stream.
"""

from functools import partial

from bench.rounds import Comparison, by_turns
from bench.streaming import TOKENS, cpu_per_token
from bench.targets import Field, Target, field

STREAMS = 48
GAP_SECONDS = 0.01
"""Between two tokens of a stream."""
_ROUNDS = 5


async def report() -> list[Comparison]:
    """Compare one by one, and all at once."""
    async with field() as running:
        targets = {"relay": running.relay, "baseline": running.baseline, "ai-chat": running.ours["ai-chat"]}
        return [await compare(running, targets, gap, STREAMS, TOKENS, _ROUNDS) for gap in (GAP_SECONDS, 0.0)]


async def compare(
    running: Field, targets: dict[str, Target], gap: float, streams: int, tokens: int, rounds: int
) -> Comparison:
    """Compare what a token costs several servers.

    Args:
        running: Has the model.
        targets: The servers by name; the others are compared with the first.
        gap: Seconds between two tokens of a stream; 0: all come at once.
        streams: How many answers there are at the same time.
        tokens: How many each answer has.
        rounds: How often each server is measured.
    """
    await running.plan(tokens, gap)
    measures = {name: partial(cpu_per_token, target, streams, 1, tokens) for name, target in targets.items()}
    values = await by_turns(measures, rounds)
    pace = f"a token every {gap * 1000:.0f} ms" if gap else "all at once"
    what = f"CPU time per streamed token, {streams} streams, {tokens} tokens an answer, {pace}"
    return Comparison(what, "microseconds", values, bases=(next(iter(targets)),))
