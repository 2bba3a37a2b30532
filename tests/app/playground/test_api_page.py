"""The page of the API: it can be read and tried, as the one who has signed in."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.app.conftest import hosted
from tests.app.identity.conftest import REPORT, taking
from tests.app.playground.test_accessibility import findings
from tests.browser import axe
from tests.local.running_host import RunningHost

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser; the first test may have to install it."""


async def tried(page: Page, tag: str, operation: str) -> Locator:
    """Send the request of an operation from the page; return the answer's place."""
    await page.locator(f"#operations-tag-{tag}").click()
    block = page.locator(f"#operations-{tag}-{operation}")
    await block.locator(".opblock-summary-control").click()
    await block.get_by_role("button", name="Execute").click()
    return block.locator(".live-responses-table")


@pytest.mark.nightly
async def test_the_playground_leads_to_it_and_back(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url)
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name="API").click()
    await expect(page).to_have_title("Switchboard: API")
    await expect(page.get_by_role("heading", name="Switchboard")).to_be_visible()
    await page.locator("#operations-tag-chat").click()
    await expect(page.locator("#operations-chat-chat")).to_be_attached()
    await page.get_by_role("link", name="Playground", exact=True).click()
    await expect(page.get_by_role("textbox", name="Your question")).to_be_visible()


async def test_a_request_is_sent_and_its_answer_shown(page: Page, built_in: RunningHost) -> None:
    await page.goto(f"{built_in.url}/docs")
    answer = await tried(page, "service", "get_health")
    await expect(answer).to_contain_text("200")
    await expect(answer).to_contain_text('"status"')
    await expect(page.get_by_role("link", name="Playground", exact=True)).to_be_visible()
    assert await findings(page, axe()) == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def with_keys(data_dir: Path) -> AsyncGenerator[RunningHost]:
    async with hosted(data_dir, taking(REPORT)) as host:
        yield host


@pytest.mark.nightly
async def test_who_has_signed_in_asks_as_themselves(page: Page, with_keys: RunningHost) -> None:
    await page.goto(f"{with_keys.url}/docs")
    await page.get_by_label("API key").fill(REPORT.made[0])
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    answer = await tried(page, "openai", "list_models")
    await expect(answer).to_contain_text('"owned_by": "switchboard"')
    await page.goto(f"{with_keys.url}/")
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()


@pytest.mark.nightly
async def test_it_is_dark_where_the_playground_is(page: Page, built_in: RunningHost) -> None:
    await page.emulate_media(color_scheme="dark")
    await page.goto(f"{built_in.url}/docs#/chat/chat")
    title = page.get_by_role("heading", name="Switchboard")
    await expect(title).to_be_visible()
    await expect(page.locator("#operations-chat-chat")).to_be_attached()
    assert await findings(page, axe()) == []
    light = "element => getComputedStyle(element).color.match(/\\d+/g).slice(0, 3).every((part) => Number(part) > 150)"
    assert await title.evaluate(light)
    await page.get_by_label("Colours").select_option("light")
    assert not await title.evaluate(light)
