"""The tab 'Safety': what the check of an answer found, once it has ended, and what was withheld."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.app.conftest import NO_VECTORS, PASSAGES, hosted
from tests.app.guarded import BAD, LOOKED, NOTED, NOTHING_FOUND
from tests.app.playground.asking import ended
from tests.app.playground.behind import ask, tab
from tests.local.running_host import RunningHost
from tests.small_index import write_index
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import RaiStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

LAG = 24


@pytest.fixture
def page(shared_page: Page) -> Page:
    """The window that the tests of this file share, if they do not name another."""
    return shared_page


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def rai() -> AsyncGenerator[RaiStandIn]:
    async with RaiStandIn() as service:
        service.lag = LAG
        service.find(BAD, "VIOLENCE")
        service.find(NOTED, "SEXUAL", 2, blocking=False)
        service.told = (LOOKED,)
        yield service


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of these tests' own: the page lists chats, and those of others would have their words."""
    own = tmp_path_factory.mktemp("safety")
    await write_index(own, PASSAGES)
    return own


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def enforcing(folder: Path, openai: OpenAIStandIn, rai: RaiStandIn) -> AsyncGenerator[RunningHost]:
    async with hosted(folder, openai.settings | NO_VECTORS | rai.settings | {"RAI_MODE": "enforce"}) as host:
        yield host


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def annotating(folder: Path, openai: OpenAIStandIn, rai: RaiStandIn) -> AsyncGenerator[RunningHost]:
    async with hosted(folder, openai.settings | NO_VECTORS | rai.settings | {"RAI_MODE": "annotate"}) as host:
        yield host


async def test_off_it_says_how_to_turn_the_check_on(new_page: Page, app: RunningHost) -> None:
    page = new_page
    await page.goto(f"{app.url}/")
    panel = await tab(page, "Safety")
    await expect(panel).to_contain_text("RAI_MODE is off")
    await expect(panel.get_by_text("RAI_MODE=enforce make run")).to_be_visible()


async def test_text_that_is_held_is_not_shown(page: Page, enforcing: RunningHost, openai: OpenAIStandIn) -> None:
    goes_on = asyncio.Event()
    first, held = "All is well here. ", "This waits for its end: x"
    openai.reply(first, held, goes_on, " And it ends.")
    await ask(page, enforcing, NOTHING_FOUND)
    panel = await tab(page, "Safety")
    await expect(panel).to_contain_text("The answer is being checked (RAI_MODE is enforce).")
    answer = page.get_by_role("group", name="Answer")
    await expect(answer).to_contain_text(first.strip())
    await expect(answer).not_to_contain_text("its end")
    goes_on.set()
    await expect(await ended(page)).to_contain_text("its end: x And it ends.")
    await expect(panel).to_contain_text("nothing was found that the policy forbids")
    await expect(panel).to_contain_text("only what is cleared goes out")


async def test_an_answer_that_is_stopped_says_why(page: Page, enforcing: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("It begins as it should. ", f"Then comes a {BAD}", " and more.")
    await ask(page, enforcing, NOTHING_FOUND)
    await ended(page)
    panel = await tab(page, "Safety")
    await expect(panel).to_contain_text("The safety check stopped this answer.")
    row = panel.get_by_role("row").filter(has_text="violence")
    await expect(row.get_by_role("cell")).to_have_text(["violence", "high", "yes"])
    assert BAD not in await page.content()


async def test_a_refused_question_has_no_answer_and_says_why(
    page: Page, enforcing: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply("Never seen.")
    await ask(page, enforcing, f"How do I get a {BAD}?")
    await ended(page)
    panel = await tab(page, "Safety")
    await expect(panel).to_contain_text("The safety check refused what was asked.")
    row = panel.get_by_role("row").filter(has_text="violence")
    await expect(row.get_by_role("cell")).to_have_text(["violence", "high", "yes"])
    assert "Never seen." not in await page.content()
    await openai.caught_up()
    openai.forget_scripts()  # whether the model was asked before the refusal is open


async def test_what_is_found_and_not_forbidden_is_told_with_its_severity(
    page: Page, enforcing: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply(f"There was {NOTED} in the room.")
    await ask(page, enforcing, NOTHING_FOUND)
    await ended(page)
    panel = await tab(page, "Safety")
    row = panel.get_by_role("row").filter(has_text="sexual")
    await expect(row.get_by_role("cell")).to_have_text(["sexual", "medium", "no"])


async def test_with_annotate_all_goes_out_and_what_is_found_is_told(
    new_page: Page, annotating: RunningHost, openai: OpenAIStandIn
) -> None:
    page = new_page
    openai.reply(f"Here is a {BAD}.")
    await ask(page, annotating, NOTHING_FOUND)
    await expect(await ended(page)).to_contain_text(BAD)
    panel = await tab(page, "Safety")
    await expect(panel).to_contain_text("nothing is held back")
    row = panel.get_by_role("row").filter(has_text="violence")
    await expect(row.get_by_role("cell")).to_have_text(["violence", "high", "no"])
