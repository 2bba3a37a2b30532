"""A concurrent team of five with a model that takes 300 ms, against one call of that model."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from bench.rounds import Comparison, by_turns
from bench.timed_parts import InstantRetriever, TimedModel
from shared.agents import AgentParts
from shared.agents.definitions import AgentDefinition, Agents, Pattern, Team
from shared.agents.turns import agents_turn
from shared.chat_models import ModelRequest
from shared.chat_types import ChatRequest, Message, RequestContext, Role

_ROUNDS = 9
_QUESTION = "Does the Standard plan cover eye exams?"
_AGENTS = tuple(AgentDefinition(name=f"Agent {number}", instructions="Answer.") for number in range(1, 6))
_MODEL = TimedModel(["One exam in each plan year."])
_TEAM = Agents(team=Team(pattern=Pattern.CONCURRENT), agents=_AGENTS)


def _context() -> RequestContext:
    return RequestContext("bench", asyncio.get_running_loop().time() + 30)


async def _team() -> None:
    parts = AgentParts(_TEAM, _MODEL, InstantRetriever())
    request = ChatRequest((Message(Role.USER, _QUESTION),))
    async for _ in agents_turn(request, _context(), None, parts):
        pass


async def _call() -> None:
    request = ModelRequest((Message(Role.USER, _QUESTION),), _QUESTION)
    async for _ in _MODEL.stream(request, _context()):
        pass


async def _milliseconds(work: Callable[[], Awaitable[None]]) -> float:
    begun = time.perf_counter()
    await work()
    return (time.perf_counter() - begun) * 1000


async def report() -> list[Comparison]:
    """Compare the whole answers."""
    measures = {
        "one model call": partial(_milliseconds, _call),
        "a concurrent team of five": partial(_milliseconds, _team),
    }
    values = await by_turns(measures, _ROUNDS)
    return [Comparison("A whole answer", "milliseconds", values, ("one model call",))]
