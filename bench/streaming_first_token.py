"""How much later than from the model itself the first token comes: through our app, and through the SDK's typed stream.

As many callers ask in the same moment, each on a connection that is open. An answer is two tokens, 20 ms apart.
"""

from functools import partial
from statistics import median

from bench.rounds import Comparison, by_turns
from bench.streaming import ask_at_once
from bench.targets import Field, Target, field

_ROUNDS = 9
_REQUESTS = {1: 10, 16: 1, 64: 1}
"""By how many callers there are at once: how often each asks in a round, one time after the other."""
_TOKENS = 2
_GAP = 0.02
_DIRECT = "the model"


async def report() -> list[Comparison]:
    """Compare, for each number of callers at once."""
    async with field() as running:
        return [await compare(running, streams, _ROUNDS) for streams in _REQUESTS]


async def compare(running: Field, streams: int, rounds: int) -> Comparison:
    """Compare with so many callers at once."""
    await running.plan(_TOKENS, _GAP)
    targets = {
        _DIRECT: running.direct,
        "relay": running.relay,
        "baseline": running.baseline,
        "ai-chat": running.ours["ai-chat"],
    }
    measures = {name: partial(_first_token, target, streams) for name, target in targets.items()}
    values = await by_turns(measures, rounds)
    direct = values.pop(_DIRECT)
    added = {name: [value - at_best for value, at_best in zip(of, direct, strict=True)] for name, of in values.items()}
    return Comparison(f"Time added to the first token, {streams} at once", "milliseconds", added, ("relay", "baseline"))


async def _first_token(target: Target, streams: int) -> float:
    """The median of the callers' times, in milliseconds."""
    answers = await ask_at_once(target, streams, _REQUESTS[streams], _TOKENS, pause=_GAP)
    return median(answer.arrivals[0] - answer.begun for answer in answers) * 1000
