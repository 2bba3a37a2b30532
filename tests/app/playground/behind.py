"""Where what is behind an answer is shown, for the tests of its tabs."""

from playwright.async_api import Locator, Page, expect

from tests.app.playground.asking import box
from tests.local.running_host import RunningHost

QUESTION = "What does the plan pay?"


async def ask(page: Page, host: RunningHost, question: str = QUESTION, *, team: bool = False) -> None:
    """Open the playground and ask the model or the team."""
    await page.goto(f"{host.url}/")
    if team:
        await page.get_by_role("radiogroup", name="Who answers").get_by_text("Team").click()
    await box(page).fill(question)
    await box(page).press("Enter")


async def tab(page: Page, name: str) -> Locator:
    """Open a tab behind the answer; return what it shows."""
    await page.get_by_role("tab", name=name).click()
    panel = page.get_by_role("tabpanel", name=name)
    await expect(panel).to_be_visible()
    return panel
