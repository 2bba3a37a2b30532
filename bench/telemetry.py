"""What traces cost: the app with them on, and with the texts in them, against the app with them off.

The CPU time of the server's process, sending the spans to a collector on the other core included. A long answer shows
what a token costs more; one of a single token what an answer does.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from bench.processes import SERVER_CORE, running
from bench.rounds import Comparison, by_turns
from bench.streaming import ask_at_once
from bench.targets import Target, field

_ROUNDS = 7
_STREAMS = 8
_ANSWERS = {300: 4, 1: 25}
"""By how many tokens an answer has: how many each connection asks for."""
_PATH = "/api/ai-chat/chat/stream"


async def report() -> list[Comparison]:
    """Compare long and short answers."""
    return await compare(_ANSWERS, _ROUNDS)


async def compare(answers: dict[int, int], rounds: int) -> list[Comparison]:
    """Compare answers of so many tokens."""
    async with AsyncExitStack() as stack:
        others = await stack.enter_async_context(field())
        on = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": await stack.enter_async_context(_collector()),
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }
        targets = {"off": others.ours["ai-chat"]}
        for name, more in {"on": {}, "on, with texts": {"TELEMETRY_CONTENT": "true"}}.items():
            env = others.settings | on | more
            server = await stack.enter_async_context(running("bench.worker_server", env, core=SERVER_CORE))
            targets[name] = Target(server, _PATH, 1, "pinned_chat_stream ai-chat")
        comparisons: list[Comparison] = []
        for tokens, requests in answers.items():
            await others.plan(tokens)
            measures = {name: partial(_cpu_per_answer, target, requests, tokens) for name, target in targets.items()}
            what = f"CPU time per answer of {tokens} token{'s' if tokens > 1 else ''}, {_STREAMS} at once, traces"
            comparisons.append(Comparison(what, "microseconds", await by_turns(measures, rounds), ("off",)))
        return comparisons


async def _cpu_per_answer(target: Target, requests: int, tokens: int) -> float:
    before = await target.server.cpu_seconds()
    await ask_at_once(target, _STREAMS, requests, tokens)
    await asyncio.sleep(0.2)  # until the last spans are sent
    return (await target.server.cpu_seconds() - before) / (_STREAMS * requests) * 1e6


@asynccontextmanager
async def _collector() -> AsyncGenerator[str]:
    """Take everything and keep nothing; yield the address."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: (\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n")
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
