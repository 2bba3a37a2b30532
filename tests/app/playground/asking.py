"""What a person does on the chat's page, for its tests."""

from playwright.async_api import Locator, Page, expect

from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost


async def ask(page: Page, host: RunningHost, question: str = QUESTION) -> Locator:
    """Open a new chat and ask; return the answer's place."""
    await open_new(page, host)
    return await ask_on(page, question)


async def open_new(page: Page, host: RunningHost) -> None:
    """Open a new chat, by its shortcut where the page is loaded already."""
    if not page.url.startswith(f"{host.url}/"):
        await page.goto(f"{host.url}/#/")
        return
    await page.keyboard.press("Alt+n")
    await expect(page.get_by_role("article")).to_have_count(0)


async def ask_on(page: Page, question: str) -> Locator:
    """Ask in the open chat; return the answer's place."""
    before = await page.get_by_role("article").count()
    await box(page).fill(question)
    await box(page).press("Enter")
    await expect(page.get_by_role("article")).to_have_count(before + 1)
    return answer(page)


def box(page: Page) -> Locator:
    """Where the question is written."""
    return page.get_by_label("Your question")


async def choose(page: Page, title: str, action: str) -> None:
    """Choose what to do with a chat in the list."""
    await page.get_by_role("button", name=f"Actions for {title}", exact=True).press("Enter")
    actions = page.get_by_role("group", name=f"Actions for {title}", exact=True)
    await actions.get_by_role("button", name=action, exact=True).press("Enter")


def turn(page: Page) -> Locator:
    """The last question with its answer."""
    return page.get_by_role("article").last


def answer(page: Page) -> Locator:
    """The last answer."""
    return turn(page).get_by_role("group", name="Answer", exact=True)


async def ended(page: Page) -> Locator:
    """Wait until the last answer has ended; return its place."""
    await expect(answer(page)).to_have_attribute("aria-busy", "false")
    return answer(page)
