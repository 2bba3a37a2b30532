"""What a streamed token costs the server in CPU time: our app in each protocol, the SDK's typed stream, a bare relay.

The model answers at once. The server's process counts its own CPU time, so what callers and the model need is no part
of it, and neither is what else the machine does, but for the caches.
"""

import asyncio
from functools import partial

from bench.caller import Answer
from bench.rounds import Comparison, by_turns
from bench.targets import Field, Target, field

TOKENS = 300
"""Of an answer: a long paragraph."""
_ROUNDS = 5
REQUESTS = {1: 4, 16: 1, 64: 1}
"""By how many streams there are at once: how many answers each connection brings, one after the other."""


async def report() -> list[Comparison]:
    """Compare, for each number of streams at once."""
    async with field() as running:
        return [await compare(running, streams, _ROUNDS) for streams in REQUESTS]


async def compare(running: Field, streams: int, rounds: int, tokens: int = TOKENS) -> Comparison:
    """Compare all with so many streams at once."""
    await running.plan(tokens)
    targets = {"relay": running.relay, "baseline": running.baseline, **running.ours}
    measures = {
        name: partial(cpu_per_token, target, streams, REQUESTS[streams], tokens) for name, target in targets.items()
    }
    values = await by_turns(measures, rounds)
    what = f"CPU time per streamed token, {streams} at once, {tokens} tokens an answer"
    return Comparison(what, "microseconds", values, ("relay", "baseline", "ai-chat"))


async def cpu_per_token(target: Target, streams: int, requests: int, tokens: int) -> float:
    """Microseconds of the server's CPU time."""
    before = await target.server.cpu_seconds()
    await ask_at_once(target, streams, requests, tokens)
    return (await target.server.cpu_seconds() - before) / (streams * requests * tokens) * 1e6


async def ask_at_once(
    target: Target, streams: int, requests: int, tokens: int, *, apart: float = 0.0, pause: float = 0.0
) -> list[Answer]:
    """Ask on so many connections at once.

    Args:
        target: Who is asked.
        streams: The number of connections.
        requests: How often each asks, one after the other.
        tokens: How many each answer must have.
        apart: Seconds between the beginnings of two streams.
        pause: Seconds that each waits before it asks, so that the server is done with what it asked before.

    Raises:
        ConnectionError: an answer is not whole.
    """
    connections = [await target.connect() for _ in range(streams)]

    async def ask(number: int) -> list[Answer]:
        await asyncio.sleep(number * apart)
        answers: list[Answer] = []
        for _ in range(requests):
            await asyncio.sleep(pause)
            answers.append(await target.ask(connections[number]))
        return answers

    try:
        answers = [answer for some in await asyncio.gather(*map(ask, range(streams))) for answer in some]
    finally:
        for connection in connections:
            connection.close()
    for answer in answers:
        if len(answer.arrivals) != tokens:
            raise ConnectionError(f"{target.path} answered {len(answer.arrivals)} of {tokens} tokens")
    return answers
