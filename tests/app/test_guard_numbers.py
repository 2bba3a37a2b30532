"""Services that encode their events otherwise than the app expects: what they block is not shown, nor told as safe."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.app.guarded import BAD, Guarded, guarded
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_variants import RIGHT, VARIANTS

pytestmark = pytest.mark.asyncio(loop_scope="session")

CHECKED = "nothing was found"
UNCHECKED = "Not everything was checked."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model() -> AsyncGenerator[OpenAIStandIn]:
    """A model for this module alone: what it is told to say is left over where nobody asks it in time."""
    async with OpenAIStandIn() as service:
        yield service


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def strict(data_dir: Path, model: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    async with guarded(data_dir, model) as app:
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def reporting(data_dir: Path, model: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    async with guarded(data_dir, model, RAI_MODE="annotate") as app:
        yield app


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def going_on(
    nothing_left_behind: None,  # noqa: ARG001 (its check comes after)
    model: OpenAIStandIn,
    strict: Guarded,
    reporting: Guarded,
) -> AsyncGenerator[None]:
    """Both services say that the word is forbidden, and go on with their watermarks."""
    for app in (strict, reporting):
        app.rai.find(BAD, "VIOLENCE", 3, blocking=False)
    yield
    model.forget_scripts()


async def say_bad(app: Guarded, path: str) -> tuple[int, str]:
    app.openai.reply("some ", BAD, " text")
    return await app.post(path)


async def test_what_the_right_service_forbids_is_a_refusal(strict: Guarded, reporting: Guarded) -> None:
    strict.rai.encode = reporting.rai.encode = RIGHT
    status, answer = await say_bad(strict, "/chat")
    assert (status, BAD in answer) == (400, False)
    status, answer = await say_bad(reporting, "/chat")
    assert status == 200
    assert "nothing is held back" in answer


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
@pytest.mark.parametrize("name", VARIANTS)
async def test_nothing_of_a_service_that_is_not_understood_goes_out(strict: Guarded, name: str, path: str) -> None:
    strict.rai.encode = VARIANTS[name]
    status, answer = await say_bad(strict, path)
    assert status in (200, 503)
    assert BAD not in answer
    assert CHECKED not in answer
    assert "rai.proto" in answer


@pytest.mark.parametrize("name", VARIANTS)
async def test_annotate_says_that_such_a_service_checked_nothing(reporting: Guarded, name: str) -> None:
    reporting.rai.encode = VARIANTS[name]
    status, answer = await say_bad(reporting, "/chat")
    assert status == 200
    assert UNCHECKED in answer
    assert CHECKED not in answer
    async with reporting.http.post(reporting.host.url + "/rai/analyze", json={"text": BAD}) as analysed:
        assert analysed.status == 503
