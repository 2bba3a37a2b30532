"""Thumbs in the playground: by keyboard, with a reason, and there again after a reload."""

from collections.abc import AsyncGenerator

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.app.conftest import PASSAGES, hosted
from tests.app.playground.asking import ask, ended, turn
from tests.app.playground.test_accessibility import findings
from tests.browser import axe
from tests.local.running_host import RunningHost
from tests.small_index import write_index

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def judged_app(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    """The app with what is said of its answers to read."""
    own = tmp_path_factory.mktemp("verdicts")
    await write_index(own, PASSAGES)
    async with hosted(own, {"FEEDBACK_READERS": "all"}) as host:
        yield host


async def test_a_verdict_is_given_by_keyboard_and_is_there_after_a_reload(
    page: Page, judged_app: RunningHost, http: aiohttp.ClientSession
) -> None:
    await ask(page, judged_app)
    await ended(page)
    good, bad = (turn(page).get_by_role("button", name=f"{name} answer", exact=True) for name in ("Good", "Bad"))
    await good.press("Enter")
    await expect(good).to_have_attribute("aria-pressed", "true")
    await expect(turn(page).get_by_text("Thank you.")).to_be_visible()
    await bad.press("Enter")
    await expect(good).to_have_attribute("aria-pressed", "false")
    why = page.get_by_label("What is wrong?")
    await expect(why).to_be_focused()
    assert await findings(page, axe()) == []
    await page.keyboard.type("Of last year")
    await page.keyboard.press("Tab")
    await page.keyboard.type("90 %")
    async with page.expect_response(
        lambda answered: (
            '"comment":"Of last year"' in (answered.request.post_data or "") and answered.request.method == "PUT"
        )
    ):
        await page.get_by_role("button", name="Send feedback").press("Enter")
    await expect(bad).to_be_focused()
    async with http.get(f"{judged_app.url}/feedback") as response:
        given = (await response.json())["feedback"]
    assert [(one["rating"], one["comment"], one["expected"]) for one in given] == [("down", "Of last year", "90 %")]
    await page.reload()
    await expect(bad).to_have_attribute("aria-pressed", "true")
    await bad.click()
    await expect(why).to_have_value("Of last year")
    await page.keyboard.press("Escape")
    await expect(why).to_have_count(0)
    await expect(bad).to_be_focused()
