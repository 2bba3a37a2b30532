"""What a journal costs a streamed token in CPU time: the same app with all answers kept as runs, beside one without.

A run costs something for each answer and something for each token: of two lengths of answers, both can be told.
"""

from copy import replace

from bench.processes import SERVER_CORE, running
from bench.rounds import Comparison
from bench.streaming import TOKENS
from bench.streaming_paced import GAP_SECONDS, STREAMS, compare
from bench.targets import field

_ROUNDS = 5
_LONG = 5 * TOKENS


async def report() -> list[Comparison]:
    """Compare one by one, as real models send tokens, with answers of two lengths."""
    async with field() as others:
        kept = others.settings | {"CHAT_RUNS": "always"}
        async with running("bench.worker_server", kept, core=SERVER_CORE) as server:
            alone = others.ours["ai-chat"]
            targets = {"without": alone, "runs": replace(alone, server=server)}
            return [await compare(others, targets, GAP_SECONDS, STREAMS, tokens, _ROUNDS) for tokens in (TOKENS, _LONG)]
