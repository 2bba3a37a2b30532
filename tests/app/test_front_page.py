"""The page at `/` and `/api`, as a person sees it in a real browser."""

import re
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.app.conftest import hosted
from tests.app.test_answers import QUESTION
from tests.browser import chromium
from tests.local.running_host import RunningHost
from tests.stand_ins.entra import EntraStandIn
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser and the stand-ins; the first test may have to install the browser."""

PATIENCE = 60_000
"""Milliseconds; a page appears in far less on an idle machine."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser() -> AsyncGenerator[Browser]:
    async with chromium() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncGenerator[Page]:
    """A new window; a script that opens a dialog fails the test."""
    expect.set_options(timeout=PATIENCE)
    context = await browser.new_context(viewport={"width": 1000, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    page.on("dialog", lambda dialog: pytest.fail(f"a script opened a dialog: {dialog.message}"))
    yield page
    await context.close()


@contextmanager
def no_errors(page: Page) -> Generator[None]:
    """Fail if the page logs an error, as it does where its security policy forbids something."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield
    assert errors == []


async def ask(page: Page, question: str) -> None:
    """Ask with the keyboard alone."""
    box = page.get_by_label("Your question")
    for _ in range(5):
        await page.keyboard.press("Tab")
        if await box.evaluate("element => element === document.activeElement"):
            break
    await page.keyboard.type(question)
    await page.keyboard.press("Enter")


def root(host: RunningHost) -> str:
    return host.url.removesuffix("api")


async def test_the_page_asks_the_app_and_shows_the_answer_with_its_source(page: Page, built_in: RunningHost) -> None:
    with no_errors(page):
        await page.goto(root(built_in))
        await expect(page).to_have_title("Switchboard")
        await ask(page, QUESTION)
        answer = page.get_by_role("status", name="Answer")
        source = answer.get_by_role("link", name="[plan.pdf#page=3]")
        await expect(source).to_be_visible()
        await expect(answer).to_contain_text("The Standard plan pays 80 % of dental care.")
        opened = await page.request.get(await source.evaluate("link => link.href"))
        assert (opened.status, len(await opened.body())) == (200, 1024)


async def test_the_page_shows_the_health_of_each_part(page: Page, built_in: RunningHost) -> None:
    with no_errors(page):
        await page.goto(built_in.url)
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="model", exact=True))
        await expect(row).to_contain_text("Extractive")
        await expect(row.get_by_role("cell", name="ok", exact=True)).to_be_visible()


async def test_the_page_has_the_whole_address_for_each_front_end(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url + "/")
    table = page.get_by_role("region", name="Connect a front end")
    for path in (
        "/semantic-kernel/chat",
        "/multi-agent-chat",
        "/chat-history",
        "/ai-chat-2024-05-29/chat",
        "/ai-chat-2026-04",
        "/v1",
        "/ai-sdk/chat",
        "/ag-ui",
        "/mcp",
        "",
    ):
        await expect(table.get_by_text(built_in.url + path, exact=True)).to_be_visible()


HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script> [plan.pdf#page=3] [javascript:alert(3)] <b>bold</b>'


async def test_a_hostile_answer_is_shown_as_text(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    with no_errors(page), openai.to("hostile"):
        openai.reply(HOSTILE)
        await page.goto(app.url)
        await ask(page, f"{QUESTION} hostile")
        answer = page.get_by_role("status", name="Answer")
        await expect(answer.get_by_role("link")).to_have_text(["[plan.pdf#page=3]"])
        assert await answer.text_content() == HOSTILE
        assert await answer.locator("img, script, b").count() == 0


async def test_a_wrong_setting_is_named_on_the_page(page: Page, tmp_path_factory: pytest.TempPathFactory) -> None:
    async with hosted(tmp_path_factory.mktemp("empty"), {"RAI_MODE": "enforced"}) as host:
        await page.goto(root(host))
        await expect(page.locator("#status")).to_contain_text("RAI_MODE")
        await ask(page, QUESTION)
        await expect(page.get_by_role("status", name="Answer")).to_contain_text("RAI_MODE")


async def test_where_callers_sign_in_the_page_opens_and_says_so(page: Page, data_dir_for_tokens: RunningHost) -> None:
    await page.goto(root(data_dir_for_tokens))
    await ask(page, QUESTION)
    await expect(page.get_by_role("status", name="Answer")).to_contain_text("sign in")


@pytest_asyncio.fixture(loop_scope="session")
async def data_dir_for_tokens(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    async with EntraStandIn() as entra, hosted(tmp_path_factory.mktemp("empty"), entra.settings) as host:
        yield host


@pytest.mark.parametrize(("scheme", "darker"), [("light", False), ("dark", True)])
async def test_the_page_follows_the_systems_dark_mode(
    page: Page, built_in: RunningHost, scheme: str, darker: bool
) -> None:
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await page.goto(built_in.url)
    colours = await page.evaluate(
        "() => { const style = getComputedStyle(document.body); return [style.backgroundColor, style.color] }"
    )
    background, text = (sum(int(part) for part in re.findall(r"\d+", colour)) for colour in colours)
    assert (background < text) == darker


async def test_nothing_but_the_pages_own_script_may_run(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.get(built_in.url) as response:
        assert (response.status, response.content_type) == (200, "text/html")
        policy = response.headers["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert all(re.fullmatch(r"'sha256-[\w+/]{43}='", rules[kind]) for kind in ("script-src", "style-src"))
