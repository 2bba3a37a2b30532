"""Where what is behind an answer is shown, for the tests of its tabs."""

from playwright.async_api import Locator, Page, expect

from tests.app.playground.asking import box, open_new
from tests.local.running_host import RunningHost

QUESTION = "What does the plan pay?"


async def ask(page: Page, host: RunningHost, question: str = QUESTION, *, team: bool = False) -> None:
    """Open the playground and ask the model or the team."""
    await open_new(page, host)
    if team:
        # By keyboard: while the page still arranges itself, a click can miss.
        await page.get_by_role("radio", name="Team").press(" ")
        await expect(page.get_by_role("radio", name="Team")).to_be_checked()
    await box(page).fill(question)
    await box(page).press("Enter")


async def tab(page: Page, name: str) -> Locator:
    """Open a tab behind the answer; return what it shows."""
    await page.get_by_role("tab", name=name).click()
    panel = page.get_by_role("tabpanel", name=name)
    await expect(panel).to_be_visible()
    return panel
