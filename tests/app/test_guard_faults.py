"""What callers get when the safety service cannot be reached, falls silent or talks nonsense."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path

import grpc
import pytest
import pytest_asyncio

from shared.guard import AnalysisResult, Completion, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.chat_payloads import ANSWER
from tests.app.guarded import BAD, Guarded, guarded
from tests.guard.scripted_safety import blocks
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import DETAILS, DONE, RaiStandIn, Session, Step, cleared

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

SILENCE = asyncio.Event()
"""Never set."""
OTHERS = Place(Side.COMPLETION, "7", 0)


def answered(session: Session) -> bool:
    """Whether the whole answer has come in."""
    return session.texts.get(ANSWER) == "Four words are here."


NEVER_CLEARED: dict[str, tuple[int, tuple[Step, ...]]] = {
    "silent from the start": (504, (SILENCE,)),
    "silent after the question": (504, (cleared(Side.PROMPT), SILENCE)),
    "garbage at once": (503, (b"\xff\xff\xff",)),
    "garbage after the question": (503, (cleared(Side.PROMPT), answered, b"\xff\xff\xff")),
    "stops before anything": (503, ()),
    "stops after the question": (503, (cleared(Side.PROMPT), answered)),
    "breaks off after the question": (503, (cleared(Side.PROMPT), answered, grpc.StatusCode.UNAVAILABLE)),
    "refuses the app": (503, (grpc.StatusCode.PERMISSION_DENIED,)),
    "is busy": (429, (grpc.StatusCode.RESOURCE_EXHAUSTED,)),
    "goes backwards": (
        504,
        (cleared(Side.PROMPT), answered, Watermark(ANSWER, 4), Watermark(ANSWER, 1), SILENCE),
    ),
    "clears more than there is": (503, (cleared(Side.PROMPT), answered, Watermark(ANSWER, 1_000_000), SILENCE)),
    "clears less than nothing": (503, (cleared(Side.PROMPT), answered, Watermark(ANSWER, -7), SILENCE)),
    "clears another text": (504, (cleared(Side.PROMPT), answered, Watermark(OTHERS, 20), SILENCE)),
    "completes without clearing": (503, (cleared(Side.PROMPT), answered, DONE)),
    "completes at once": (503, (DONE,)),
    "completes with an error": (503, (cleared(Side.PROMPT), answered, Completion("END_REASON_ERROR", DETAILS))),
    "blocks another text": (400, (cleared(Side.PROMPT), answered, blocks(OTHERS, 0, 3), SILENCE)),
    "blocks the question late": (
        400,
        (cleared(Side.PROMPT), answered, blocks(Place(Side.PROMPT, "0", 0), 0, 3), SILENCE),
    ),
}


HARMLESS = Finding("HARM_CATEGORY", "SEXUAL", detected=False, severity=0, risk_level="LOW", blocking=False)
NOISE: dict[str, Callable[[list[SafetyEvent]], list[SafetyEvent]]] = {
    "every event twice": lambda said: [event for event in said for _ in range(2)],
    "out of order": lambda said: said[::-1],
    "offsets that go back": lambda said: [each for event in said for each in (event, *_back(event))],
    "a thousand outcomes with each": lambda said: [each for event in said for each in (*_outcomes(event), event)],
    "the ids of other texts": lambda said: [
        each for event in said for each in (Watermark(OTHERS, 1_000), AnalysisResult(OTHERS, 0, 9, (HARMLESS,)), event)
    ],
}


def _back(event: SafetyEvent) -> list[SafetyEvent]:
    return [Watermark(event.place, event.offset // 2)] if isinstance(event, Watermark) else []


def _outcomes(event: SafetyEvent) -> list[SafetyEvent]:
    return [] if isinstance(event, Completion) else [AnalysisResult(event.place, 0, 1, (HARMLESS,) * 1_000)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model() -> AsyncGenerator[OpenAIStandIn]:
    """A model for this module alone: what it is told to say is left over where nobody asks it in time."""
    async with OpenAIStandIn() as service:
        yield service


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def unasked(nothing_left_behind: None, model: OpenAIStandIn) -> AsyncGenerator[None]:  # noqa: ARG001 (its check comes after)
    """Drop what a refused question left: whether the model was asked before the refusal is open."""
    yield
    model.forget_scripts()


SHORT = {"RAI_TIMEOUT_SECONDS": "0.5"}
"""For a service that falls silent; one that says something may take its time."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def strict(data_dir: Path, model: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    """The app that lets nothing out without the service's word."""
    async with guarded(data_dir, model) as app:
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def strict_and_short(data_dir: Path, model: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    async with guarded(data_dir, model, **SHORT) as app:
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lenient(data_dir: Path, model: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    """The app that does without it."""
    async with guarded(data_dir, model, RAI_ON_ERROR="allow") as app:
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lenient_and_short(data_dir: Path, model: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    async with guarded(data_dir, model, RAI_ON_ERROR="allow", **SHORT) as app:
        yield app


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
@pytest.mark.parametrize("name", NEVER_CLEARED)
async def test_nothing_goes_out_that_was_not_cleared(
    strict: Guarded, strict_and_short: Guarded, name: str, path: str
) -> None:
    expected, steps = NEVER_CLEARED[name]
    app = strict_and_short if expected == 504 else strict
    app.rai.script(*steps)
    app.openai.reply("Four ", "words ", "are ", "here.")
    status, answer = await app.post(path)
    assert DETAILS not in answer
    if path == "/chat":
        assert status == expected
        assert list(json.loads(answer)) == ["error"]
    else:
        assert "words are here" not in answer
        assert "error" in json.loads(answer.splitlines()[-1])


@pytest.fixture
def noisy(strict: Guarded) -> Iterator[Guarded]:
    strict.rai.told = (HARMLESS,)
    yield strict
    strict.rai.told, strict.rai.noise = (), iter


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
@pytest.mark.parametrize("name", NOISE)
async def test_noise_of_a_service_that_has_looked_at_everything_changes_nothing(
    noisy: Guarded, name: str, path: str
) -> None:
    noisy.rai.noise = NOISE[name]
    noisy.openai.reply("All is ", "well, ", "all of it.")
    status, answer = await noisy.post(path)
    assert (status, "nothing was found that the policy forbids" in answer) == (200, True)
    noisy.openai.reply("All is ", BAD, " here.")
    status, answer = await noisy.post(path)
    assert status in (200, 400)
    assert "The safety check stopped this answer" in answer
    assert BAD not in answer


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
@pytest.mark.parametrize("name", [name for name, (status, _) in NEVER_CLEARED.items() if status != 400])
async def test_with_allow_the_rest_goes_out_and_the_thought_says_that_it_was_not_checked(
    lenient_and_short: Guarded, name: str, path: str
) -> None:
    lenient_and_short.rai.script(*NEVER_CLEARED[name][1])
    lenient_and_short.openai.reply("Four ", "words ", "are ", "here.")
    status, answer = await lenient_and_short.post(path)
    assert status == 200
    assert "Not everything was checked." in answer
    assert DETAILS not in answer


async def test_with_allow_a_block_that_came_before_the_fault_stays_a_block(lenient: Guarded) -> None:
    lenient.openai.reply("Four ", "words ", "are ", "here.")
    lenient.rai.script(cleared(Side.PROMPT), answered, blocks(ANSWER, 5, 9), b"\xff\xff\xff")
    status, answer = await lenient.post("/chat/stream")
    assert status == 200 or "safety check" in answer
    assert "words" not in answer


async def test_a_question_that_the_service_cannot_take_is_refused_even_with_allow(lenient: Guarded) -> None:
    lenient.rai.script(grpc.StatusCode.INVALID_ARGUMENT)
    status, answer = await lenient.post("/chat")
    assert status == 400
    assert DETAILS not in answer


async def test_a_service_that_cannot_be_reached_is_a_503_and_unhealthy(data_dir: Path, model: OpenAIStandIn) -> None:
    async with guarded(data_dir, model, RAI_ENDPOINT="127.0.0.1:9", **SHORT) as app:
        async with app.http.get(app.host.url + "/health") as response:
            assert response.status == 503
            assert "RAI_ENDPOINT" in (await response.json())["parts"]["safety"]["detail"]
        status, answer = await app.post("/chat/stream")
        assert status == 503
        assert "RAI_ENDPOINT" in answer


async def test_the_deadline_holds_while_the_service_is_silent(data_dir: Path, model: OpenAIStandIn) -> None:
    async with guarded(data_dir, model, CHAT_DEADLINE_SECONDS="1", RAI_TIMEOUT_SECONDS="60") as app:
        app.rai.script(SILENCE)
        status, _ = await app.post("/chat")
        assert status == 504


async def test_a_service_that_comes_back_is_used_again(data_dir: Path, model: OpenAIStandIn) -> None:
    async with guarded(data_dir, model) as app:
        assert (await app.post("/chat"))[0] == 200
        await app.rai.stop()
        async with RaiStandIn(port=app.rai.port) as again:
            again.find(BAD)
            assert (await app.post("/chat"))[0] == 200
            assert (await app.post("/chat", BAD))[0] == 400
            assert len(again.sessions) == 2
