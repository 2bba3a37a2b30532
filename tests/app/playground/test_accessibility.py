"""Whether people with a keyboard or a screen reader can use the playground: axe-core, and what is announced."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from tests.app.playground.asking import answer, ask, ask_on, box, ended
from tests.app.playground.conftest import NARROW, WIDE, window
from tests.app.test_answers import QUESTION
from tests.browser import axe
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser and the stand-in; the first test may have to install the browser."""

MARKDOWN = (
    "## Dental\n\n80 % [plan.pdf#page=3], [no.pdf].\n\n|a|b|\n|-|-|\n|1|2|\n\n```python\nx = 1\n```\n\n"
    "\\[\nx^2\n\\]\n\nمرحبا\n<<And glasses?>>"
)
RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.map(found => [found.id, found.nodes.map(node => node.html + " " + node.failureSummary)]);
}"""


@pytest.fixture(scope="module")
def script() -> str:
    return axe()


async def findings(page: Page, script: str) -> list[Any]:
    """What axe-core finds on the page as it is, also what is of little weight."""
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(script)
    return await page.evaluate(RUN)


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        pytest.param(WIDE, "light", id="wide-light"),
        pytest.param(NARROW, "dark", id="narrow-dark", marks=pytest.mark.nightly),
        pytest.param(WIDE, "dark", id="wide-dark", marks=pytest.mark.nightly),
        pytest.param(NARROW, "light", id="narrow-light", marks=pytest.mark.nightly),
    ],
)
async def test_axe_finds_nothing(
    browser: Browser, app: RunningHost, openai: OpenAIStandIn, script: str, size: ViewportSize, scheme: str
) -> None:
    async with window(browser, ["status of 503"], size) as page:
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        await page.goto(app.url)
        await expect(page.get_by_role("heading", name="Ask about the documents")).to_be_visible()
        assert await findings(page, script) == []
        openai.reply(MARKDOWN)
        await ask(page, app)
        await ended(page)
        await expect(answer(page).locator(".typeset")).to_be_visible()
        if size == NARROW:
            await page.get_by_role("button", name="Conversations").click()
        await page.get_by_role("button", name=f"Actions for {QUESTION}").first.click()
        await expect(page.get_by_role("button", name="Rename")).to_be_visible()
        await expect(page.get_by_role("button", name="Share")).to_have_count(0)  # nobody signs in
        assert await findings(page, script) == []
        await page.get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("button", name="Keep")).to_be_focused()
        assert await findings(page, script) == []
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Keep")).to_have_count(0)
        if size == NARROW:
            await expect(page.get_by_role("complementary", name="Conversations")).to_be_visible()
            await page.keyboard.press("Escape")
            await expect(page.get_by_role("complementary", name="Conversations")).to_be_hidden()
            await expect(page.get_by_role("button", name="Conversations")).to_be_focused()  # or Enter opens it
        openai.fail(401)
        await box(page).fill("And now?")
        await page.keyboard.press("Enter")
        await expect(answer(page).get_by_role("alert")).to_be_visible()
        assert await findings(page, script) == []
        if size == NARROW:
            await page.get_by_role("button", name="Behind the answer").first.click()
        await expect(page.get_by_role("tab").first).to_be_visible()
        for tab in await page.get_by_role("tab").all():
            await tab.click()
            await expect(tab).to_have_attribute("aria-selected", "true")
            assert await findings(page, script) == [], await tab.inner_text()
        for link in await page.get_by_role("navigation", name="Pages").get_by_role("link").all():
            address = await link.get_attribute("href") or ""
            if address.startswith("#"):
                await page.goto(f"{app.url}{address}")
                await expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
                assert await findings(page, script) == [], address


async def test_an_answer_is_announced_by_sentences(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    first, rest = asyncio.Event(), asyncio.Event()
    openai.reply("It **pays** ", first, "1,080 euros [plan.pdf#page=3]. And", rest, " more.")
    await page.goto(app.url)
    spoken = page.locator("[data-spoken]")
    await ask(page, app)
    await expect(answer(page)).to_contain_text("It pays")
    await expect(spoken).to_have_text("")
    first.set()
    await expect(spoken.locator("p")).to_have_text(["It pays 1,080 euros, source 1."])
    rest.set()
    await expect(spoken.locator("p")).to_have_text(["It pays 1,080 euros, source 1.", "And more."])


async def test_an_answer_that_comes_at_once_is_announced_whole_and_one_that_is_stopped_too(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply(
        "It **pays** 80 % [plan.pdf#page=3]. Not all.\n\n- a crown\n- a filling\n\n|plan|pays|\n|---|---|\n|Plus|90|"
    )
    await page.goto(app.url)
    spoken = page.locator("[data-spoken] p")
    await ask(page, app)
    await expect(spoken).to_have_text(["It pays 80 %, source 1. Not all. a crown. a filling. plan pays. Plus 90."])
    openai.call_tool("search_sources", {"search_queries": ["more"]})
    openai.reply("It pays ", asyncio.Event())
    await ask_on(page, "And more?")
    await expect(answer(page)).to_contain_text("It pays")
    await page.keyboard.press("Escape")
    await expect(spoken.last).to_have_text("It pays. You stopped this answer.")


async def test_a_chat_can_be_held_with_the_keyboard_alone(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("80 % [plan.pdf#page=3].")
    await page.goto(app.url)
    await expect(box(page)).to_be_focused()
    await page.keyboard.type(QUESTION)
    await page.keyboard.press("Enter")
    await ended(page)
    source = answer(page).get_by_role("button", name="Source 1")
    for _ in range(30):
        await page.keyboard.press("Shift+Tab")
        if await source.evaluate("element => element === document.activeElement"):
            break
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("tabpanel")).to_contain_text("plan.pdf")
