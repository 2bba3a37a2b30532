"""Services that have no model for what their policy looks for: nobody is told that something was checked."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from shared.guard import Finding
from tests.app.guarded import LOOKED, Guarded, guarded
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

CHECKED = "are checked, and nothing was found"
LACKING = Finding("PROTECTED_MATERIAL", "", detected=False, severity=0, risk_level="", blocking=False, result="NoModel")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model() -> AsyncGenerator[OpenAIStandIn]:
    """A model for this module alone: what it is told to say is left over where nobody asks it in time."""
    async with OpenAIStandIn() as service:
        yield service


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def unasked(nothing_left_behind: None, model: OpenAIStandIn) -> AsyncGenerator[None]:  # noqa: ARG001 (its check comes after)
    yield
    model.forget_scripts()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def strict(data_dir: Path, model: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    async with guarded(data_dir, model) as app:
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def accepting(data_dir: Path, model: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    async with guarded(data_dir, model, RAI_WITHOUT_MODEL="allow") as app:
        yield app


async def say(app: Guarded, path: str = "/chat") -> tuple[int, str]:
    app.openai.reply("Four ", "words ", "are ", "here.")
    return await app.post(path)


async def asked(app: Guarded, path: str, body: object = None) -> tuple[int, str]:
    async with app.http.request("POST" if body else "GET", app.host.url + path, json=body) as response:
        return response.status, await response.text()


async def test_an_answer_of_the_service_that_has_only_no_model_is_its_fault(strict: Guarded) -> None:
    strict.rai.told = (LACKING,)
    for path in ("/chat", "/chat/stream"):
        status, answer = await say(strict, path)
        assert status == 503
        assert "(NoModel: protected_material)" in answer
        assert "words are" not in answer
    status, health = await asked(strict, "/health")
    assert status == 503
    assert "(NoModel: protected_material)" in health
    for path in ("/rai/analyze", "/rai/analyze/stream"):
        _, analysis = await asked(strict, path, {"text": "Hello"})
        assert "(NoModel: protected_material)" in analysis
        assert '"blocked"' not in analysis
    assert strict.host.log().count("has no model for ['protected_material']") == 1


async def test_beside_what_was_looked_at_it_is_named(strict: Guarded) -> None:
    strict.rai.told = (LACKING, LOOKED)
    status, answer = await say(strict)
    assert status == 200
    assert CHECKED in answer
    assert "no model for these tasks of its policy (NoModel): protected_material." in answer
    _, analysis = await asked(strict, "/rai/analyze", {"text": "Hello"})
    assert '"blocked":false,"withoutModel":["protected_material"]' in analysis


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
@pytest.mark.parametrize("of_prompts", [(), (LOOKED,)])
async def test_a_service_that_sends_watermarks_alone_is_not_said_to_have_checked(
    strict: Guarded, path: str, of_prompts: tuple[Finding, ...]
) -> None:
    strict.rai.told, strict.rai.told_of_prompts = (), of_prompts
    try:
        status, answer = await say(strict, path)
    finally:
        strict.rai.told_of_prompts = ()
    assert status == 200
    assert CHECKED not in answer
    assert "sent no result that says what it looked for" in answer
    assert "words " in answer


async def test_an_answer_that_only_the_question_was_looked_at_for_is_none(strict: Guarded) -> None:
    """The sides are looked at by different tasks of a policy."""
    strict.rai.told = (LACKING,)
    strict.rai.told_of_prompts = (LOOKED,)
    try:
        status, answer = await say(strict)
    finally:
        strict.rai.told_of_prompts = ()
    assert (status, "words are" in answer) == (503, False)


async def test_who_accepts_it_gets_the_answer_and_reads_that_nothing_was_checked(accepting: Guarded) -> None:
    accepting.rai.told = (LACKING,)
    status, answer = await say(accepting)
    assert status == 200
    assert CHECKED not in answer
    assert "Not everything was checked. The safety service has no model for these tasks" in answer
    status, health = await asked(accepting, "/health")
    assert status == 200
    assert "It has no model for protected_material (NoModel)" in health
    _, analysis = await asked(accepting, "/rai/analyze", {"text": "Hello"})
    assert '"withoutModel":["protected_material"]' in analysis


async def test_annotate_tells_it(data_dir: Path, model: OpenAIStandIn) -> None:
    async with guarded(data_dir, model, RAI_MODE="annotate") as app:
        app.rai.told = (LACKING,)
        status, answer = await say(app)
    assert status == 200
    assert CHECKED not in answer
    assert "Not everything was checked. The safety service has no model for any task" in answer
