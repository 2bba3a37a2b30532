"""The playground's page and its files: what is sent, what is kept, and what may run."""

import pytest
from playwright.async_api import Page, expect

from tests.local.running_host import RunningHost

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser; the first test may have to install it."""


async def test_opens(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url)
    await expect(page).to_have_title("Switchboard")
    await expect(page.get_by_role("main")).to_be_visible()
