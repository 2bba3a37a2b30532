"""What the local host's proxy adds to a streamed token: the same app with it, and at the worker's own HTTP server.

On a laptop both run in one process. In Azure the proxy in front is not Python and not in the app's process.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

from bench.processes import SERVER_CORE, running
from bench.rounds import Comparison, by_turns
from bench.streaming import REQUESTS, TOKENS, cpu_per_token
from bench.streaming_paced import GAP_SECONDS, STREAMS
from bench.streaming_paced import compare as compare_paced
from bench.targets import Field, Target, field

_ROUNDS = 5


async def report() -> list[Comparison]:
    """Compare one token at a time, and all at once for each number of streams."""
    async with field() as others, hosted(others) as host:
        paced = await compare_paced(others, _targets(others, host), GAP_SECONDS, STREAMS, TOKENS, _ROUNDS)
        return [paced, *[await compare(others, host, streams, TOKENS, _ROUNDS) for streams in REQUESTS]]


@asynccontextmanager
async def hosted(others: Field) -> AsyncGenerator[Target]:
    """Start our app on the local host, beside the others."""
    async with running("bench.local_host", others.settings, core=SERVER_CORE) as server:
        yield Target(server, others.ours["ai-chat"].path)


async def compare(others: Field, host: Target, streams: int, tokens: int, rounds: int) -> Comparison:
    """Compare with so many streams at once, each so long."""
    await others.plan(tokens)
    measures = {
        name: partial(cpu_per_token, target, streams, REQUESTS[streams], tokens)
        for name, target in _targets(others, host).items()
    }
    values = await by_turns(measures, rounds)
    what = f"CPU time per streamed token, {streams} at once, {tokens} tokens an answer"
    return Comparison(what, "microseconds", values, ("worker",))


def _targets(others: Field, host: Target) -> dict[str, Target]:
    return {"worker": others.ours["ai-chat"], "worker and proxy": host}
