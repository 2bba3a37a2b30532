"""What a server's process holds: ours against the SDK's typed stream, and whether it grows with the requests.

Microsoft's worker library keeps a record of every HTTP invocation for ever. So the growth is measured beside that of a
function that does nothing, on the same library: what is ours is the difference.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.processes import OTHER_CORE, ROOT, SERVER_CORE, Child, Memory, running
from bench.rounds import Comparison
from bench.streaming import ask_at_once
from bench.targets import Target, in_azure, make_index, model_settings

_ROUNDS = 2
_MEGABYTE = 1_000_000
_AT_ONCE = 8
_OPEN = 200
_GAP = 0.05
"""Seconds between two tokens of the open streams."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is asked."""

    rounds: int = _ROUNDS
    """With new processes each."""
    warm: int = 1_000
    """Requests until a server has everything that it keeps."""
    until: int = 10_000
    """Requests at the end of the leak check."""
    streams: int = _OPEN
    """Open at the same time."""
    tokens: int = 50
    """Of each of them: it lasts longer than it takes to open them all."""
    seconds: float = 50.0
    """When the leak check of one server ends at the latest."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The memory of one process."""

    idle: Memory
    """After its first answer."""
    asked: Memory
    """After many requests."""
    streaming: Memory
    """After many streams at once."""


async def report(plan: Plan | None = None) -> list[Comparison]:
    """Compare the peaks, then the growth."""
    plan = plan or Plan()
    async with running("bench.upstream", core=OTHER_CORE) as upstream:
        held: dict[str, list[_Held]] = {"baseline": [], "ours": [], "ours, as in Azure": []}
        for _ in range(plan.rounds):
            for name, runs in held.items():
                async with serving(name, upstream) as target:
                    runs.append(await _held(target, upstream, plan))
        grown = {name: await _grown(name, upstream, plan) for name in ("trivial function", "ours")}
    return [*_peaks(held, plan), *_growth(grown, plan)]


@asynccontextmanager
async def serving(name: str, upstream: Child) -> AsyncGenerator[Target]:
    """Start one server in a process of its own."""
    env = model_settings(upstream)
    async with AsyncExitStack() as stack:
        if name == "baseline":
            server = await stack.enter_async_context(running("bench.baseline", env, core=SERVER_CORE))
            yield Target(server, "/chat/stream")
            return
        if name == "ours":
            data = stack.enter_context(TemporaryDirectory())
            await make_index(Path(data) / "index.sqlite")
            env |= {"DATA_DIR": data, "HISTORY_BACKEND": "off"}
        elif name == "ours, as in Azure":
            env = await stack.enter_async_context(in_azure(upstream.address, "any"))
        else:
            env["APP"] = str(ROOT / "bench" / "trivial")
        server = await stack.enter_async_context(running("bench.worker_server", env, core=SERVER_CORE))
        yield Target(server, "/api/chat/stream", invocation="chat_stream")


async def _held(target: Target, upstream: Child, plan: Plan) -> _Held:
    await upstream.order("plan 1 0")
    await ask_at_once(target, 1, 1, 1)
    idle = await target.server.memory()
    await ask_at_once(target, _AT_ONCE, plan.warm // _AT_ONCE, 1)
    asked = await target.server.memory()
    await upstream.order(f"plan {plan.tokens} {_GAP}")
    await ask_at_once(target, plan.streams, 1, plan.tokens)
    return _Held(idle, asked, await target.server.memory())


def _peaks(held: dict[str, list[_Held]], plan: Plan) -> list[Comparison]:
    shown = {
        "after the first answer": {name: [run.idle.peak for run in runs] for name, runs in held.items()},
        f"after {plan.warm:,} requests": {name: [run.asked.peak for run in runs] for name, runs in held.items()},
        f"with {plan.streams} open streams": {
            name: [run.streaming.peak for run in runs] for name, runs in held.items()
        },
    }
    return [
        Comparison(
            f"Most memory {when}",
            "megabytes",
            {name: [peak / _MEGABYTE for peak in runs] for name, runs in peaks.items()},
            ("baseline",),
        )
        for when, peaks in shown.items()
    ]


async def _grown(name: str, upstream: Child, plan: Plan) -> tuple[float, float]:
    """Bytes and objects a request, from the warm state on."""
    await upstream.order("plan 1 0")
    async with serving(name, upstream) as target:
        await ask_at_once(target, _AT_ONCE, plan.warm // _AT_ONCE, 1)
        before = await target.server.memory()
        loop = asyncio.get_running_loop()
        ends = loop.time() + plan.seconds
        asked = 0
        while asked < plan.until - plan.warm and loop.time() < ends:
            await ask_at_once(target, _AT_ONCE, plan.warm // _AT_ONCE, 1)
            asked += plan.warm
        after = await target.server.memory()
    return (after.resident - before.resident) / asked, (after.objects - before.objects) / asked


def _growth(grown: dict[str, tuple[float, float]], plan: Plan) -> list[Comparison]:
    limit = f"{plan.until:,}, or as far as {plan.seconds:.0f} seconds go"
    requests = f"Growth per request, from request {plan.warm:,} to {limit}"
    of_bytes = {name: [grew[0]] for name, grew in grown.items()}
    of_objects = {name: [grew[1]] for name, grew in grown.items()}
    return [
        Comparison(requests, "bytes", of_bytes, ("trivial function",)),
        Comparison(requests, "objects of Python", of_objects, ("trivial function",)),
    ]
