"""Whether tokens keep their pace: 200 streams at once, a token every 20 ms each, from a server on one core.

The gaps are counted while all streams are under way. What the machine does beside the benchmark shows in the 99th
percentile: it says something only next to the relay's. The SDK's typed stream is left out: it does not keep up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles

from bench.caller import Answer
from bench.rounds import Comparison
from bench.streaming import ask_at_once
from bench.targets import Field, Target, field

_ROUNDS = 4
_STREAMS = 200
_TOKENS = 200
_GAP = 0.02
_APART = 0.01
"""Seconds between the beginnings of two streams."""


@dataclass(frozen=True, slots=True)
class _Pace:
    """How one run went."""

    median: float
    """Of the gaps, in milliseconds."""
    worst: float
    """Their 99th percentile, in milliseconds."""
    cpu: float
    """Microseconds of the server's CPU time per token."""


async def report() -> list[Comparison]:
    """Compare our app with the relay."""
    async with field() as running:
        return await compare(running, _STREAMS, _TOKENS, _ROUNDS)


async def compare(running: Field, streams: int, tokens: int, rounds: int) -> list[Comparison]:
    """Compare with so many streams at once, each so long."""
    targets = {"relay": running.relay, "ai-chat": running.ours["ai-chat"]}
    await running.plan(1)
    for target in targets.values():
        await ask_at_once(target, 1, 1, 1)
    await running.plan(tokens, _GAP)
    runs: dict[str, list[_Pace]] = {name: [] for name in targets}
    for _ in range(rounds):
        for name, target in targets.items():
            runs[name].append(await _pace(target, streams, tokens))
    what = f"{streams} streams at once, a token every {_GAP * 1000:.0f} ms each"
    shown = {
        ("gap between tokens, median", "milliseconds"): {n: [run.median for run in of] for n, of in runs.items()},
        ("gap between tokens, 99th percentile", "milliseconds"): {
            n: [run.worst for run in of] for n, of in runs.items()
        },
        ("CPU time per token", "microseconds"): {n: [run.cpu for run in of] for n, of in runs.items()},
    }
    return [Comparison(f"{what}: {name}", unit, values, ("relay",)) for (name, unit), values in shown.items()]


async def _pace(target: Target, streams: int, tokens: int) -> _Pace:
    before = await target.server.cpu_seconds()
    answers = await ask_at_once(target, streams, 1, tokens, apart=_APART)
    cpu = (await target.server.cpu_seconds() - before) / (streams * tokens)
    gaps = _gaps(answers)
    percentiles = quantiles(gaps, n=100)
    return _Pace(percentiles[49] * 1000, percentiles[98] * 1000, cpu * 1e6)


def _gaps(answers: Sequence[Answer]) -> list[float]:
    """Seconds between two tokens of the same answer, while all were under way."""
    begun = max(answer.arrivals[0] for answer in answers)
    ended = min(answer.arrivals[-1] for answer in answers)
    pairs = [pair for answer in answers for pair in zip(answer.arrivals, answer.arrivals[1:], strict=False)]
    whole = [later - sooner for sooner, later in pairs if begun <= sooner and later <= ended]
    # A server that falls far behind ends its first streams before it has begun the last ones.
    return whole if len(whole) > 1 else [later - sooner for sooner, later in pairs]
