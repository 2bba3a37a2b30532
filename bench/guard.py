"""What `RAI_MODE=enforce` or `SHIELDS` add to a streamed answer: such a turn against the same turn alone.

Three sources of a thousand characters are found at once. The model takes 300 ms to its first token, and 20 ms for each
of 60. The safety service is the reference service in a process of its own, which answers at once or 50 ms later; its
watermarks stay a few words behind, as its policy says. Prompt Shields take 150 ms for a request, beside a model that
takes 100 or 300 ms to its first token.
"""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import cast

from bench.processes import ROOT
from bench.rounds import Comparison
from bench.timed_parts import InstantRetriever, TimedModel
from shared.chat_types import ChatRequest, Message, PartHealth, Passage, RequestContext, Role
from shared.core.source_images import SourceImages
from shared.core.turn import run_turn
from shared.documents import DocumentReader
from shared.documents.file_store import FileStore
from shared.events import ChatEvent, DataPoint, TextDelta
from shared.guard.content_safety.client import TextAnalyser
from shared.guard.rai.client import RaiService
from shared.guard.rules import Rules
from shared.guard.shielded_turn import shielded
from shared.guard.shields import Shields
from shared.guard.stream_guard import guard
from shared.runtime.late_imports import Late

_ROUNDS = 7
_SHIELD_SECONDS = 0.15
_LAGS = {"that answers at once": 0.0, "that lags 50 ms": 0.05}
_MODEL = TimedModel([f"word{number} " for number in range(60)], gap=0.02)
_TEXT = "In the Standard plan an eye exam is paid once in each plan year, after the deductible. " * 11
_RETRIEVER = InstantRetriever(
    *(Passage(str(page), f"{page}. {_TEXT}", f"plan.pdf#page={page}", "plan.pdf") for page in (1, 2, 3))
)
_FILES = Late[DocumentReader](lambda: FileStore(Path()))
_IMAGES = SourceImages(_FILES, _FILES, None)
"""Which nobody asks for."""
_REQUEST = ChatRequest((Message(Role.USER, "Does the Standard plan cover eye exams?"),))

type _Turn = Callable[[], AsyncGenerator[ChatEvent]]


def _context() -> RequestContext:
    return RequestContext("bench", asyncio.get_running_loop().time() + 60)


def _alone(model: TimedModel = _MODEL) -> AsyncGenerator[ChatEvent]:
    return run_turn(_REQUEST, _context(), model, _RETRIEVER, _IMAGES)


class _TimedShields:
    """Finds no attack, in time."""

    async def analyser(self) -> TextAnalyser:
        return cast("TextAnalyser", self)

    async def check(self) -> PartHealth:
        return PartHealth("bench", ok=True, detail="")

    async def attacks(
        self, prompt: str, documents: Sequence[str], *, deadline: float, invocation_id: str
    ) -> tuple[bool, ...]:
        del prompt, deadline, invocation_id
        await asyncio.sleep(_SHIELD_SECONDS)
        return (False,) * (1 + len(documents))


async def _timed(turn: _Turn) -> tuple[float, float]:
    """Seconds to the first text, and to the end."""
    begun = time.perf_counter()
    first = 0.0
    async with aclosing(turn()) as events:
        async for event in events:
            if isinstance(event, TextDelta) and not first:
                first = time.perf_counter() - begun
    return first, time.perf_counter() - begun


@asynccontextmanager
async def _service(delay: float) -> AsyncGenerator[RaiService]:
    arguments = ("-m", "local.rai_service", "--port", "0", "--until-stdin-closes", "--faults", f"delay={delay}")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, stdin=pipe, stdout=pipe)
    if not (process.stdin and process.stdout):
        raise RuntimeError
    endpoint = (await process.stdout.readline()).decode().split()[-1]
    service = RaiService(endpoint, "default", timeout=10)
    try:
        yield service
    finally:
        await service.aclose()
        process.stdin.close()
        await process.wait()


async def _guarded(name: str, service: RaiService) -> list[Comparison]:
    rules = Rules(service, kind="rai", model="bench", mode="enforce", on_error="block", timeout=10)

    def guarded() -> AsyncGenerator[ChatEvent]:
        return guard(_alone(), _REQUEST, _context(), rules)

    return await _compared(f"guarded by a service {name}", guarded, _alone)


async def _shielded(first: float) -> list[Comparison]:
    model = TimedModel([f"word{number} " for number in range(60)], first=first, gap=0.02)

    def alone() -> AsyncGenerator[ChatEvent]:
        return _alone(model)

    def begin(_request: ChatRequest, _without: frozenset[DataPoint]) -> AsyncGenerator[ChatEvent]:
        return alone()

    def with_shields() -> AsyncGenerator[ChatEvent]:
        shields = Shields(_TimedShields(), 10, enforced=True, allows=False)  # new ones: they remember texts
        return shielded(begin, _REQUEST, _context(), shields)

    name = f"behind shields of {_SHIELD_SECONDS * 1000:.0f} ms, a model of {first * 1000:.0f} ms"
    return await _compared(name, with_shields, alone)


async def _compared(name: str, checked: _Turn, alone: _Turn) -> list[Comparison]:
    times: dict[_Turn, list[tuple[float, float]]] = {checked: [], alone: []}
    for number in range(_ROUNDS + 1):
        for turn, taken in times.items():
            timed = await _timed(turn)
            if number:  # the first round opens the connection
                taken.append(timed)
    names = {alone: "alone", checked: "checked"}
    return [
        Comparison(
            f"{what}, {name}",
            "milliseconds",
            {names[turn]: [taken[place] * 1000 for taken in times[turn]] for turn in names},
            ("alone",),
        )
        for place, what in enumerate(("First text", "Whole answer"))
    ]


async def report() -> list[Comparison]:
    """Compare with each service."""
    comparisons: list[Comparison] = []
    for name, delay in _LAGS.items():
        async with _service(delay) as service:
            comparisons += await _guarded(name, service)
    for first in (0.1, 0.3):
        comparisons += await _shielded(first)
    return comparisons
