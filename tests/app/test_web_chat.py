"""Microsoft's Web Chat in a browser, in front of the app alone: what a person sees in it."""

import asyncio
import os
from collections.abc import AsyncGenerator
from hashlib import sha256
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from tests.app.conftest import NO_VECTORS, PASSAGES
from tests.app.playground.conftest import PATIENCE
from tests.browser import chromium
from tests.local.running_host import RunningHost, host_beside
from tests.runs.acting import Crm, agents_file, crm
from tests.small_index import write_index
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.nightly,
    pytest.mark.usefixtures("web_chat"),
]
"""At night: npm installs half a gigabyte for the package, of which the page needs one file."""

BUNDLE = Path(__file__).parents[1] / "clients/web_chat/node_modules/botframework-webchat/dist/webchat.js"
KEY = "key-of-a-person"
PAGE = """<!doctype html><meta charset="utf-8"><title>Chat</title><link rel="icon" href="data:,">
<style>html, body, #chat { height: 100%; margin: 0 }</style><div id="chat"></div><script src="webchat.js"></script>
<script>
  const directLine = WebChat.createDirectLine({
    secret: "SECRET", domain: location.origin + "/api/directline", webSocket: false,
    conversationStartProperties: { locale: "de-DE" },
  })
  WebChat.renderWebChat({ directLine, userID: "person", locale: "de-DE" }, document.getElementById("chat"))
</script>"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server() -> AsyncGenerator[Crm]:
    async with crm() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(
    server: Crm, openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[RunningHost]:
    folder = tmp_path_factory.mktemp("chat")
    file = await asyncio.to_thread(agents_file, folder, server.url)
    await write_index(folder, PASSAGES)
    env = openai.settings | NO_VECTORS | {"AUTH_MODE": "api-key", "DATA_DIR": str(folder)}
    env |= {"API_KEYS": f"person:{sha256(KEY.encode()).hexdigest()}"}
    async with host_beside(env=env | {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}) as host:
        yield host


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser() -> AsyncGenerator[Browser]:
    expect.set_options(timeout=PATIENCE)
    async with chromium() as running:
        yield running


async def opened(browser: Browser, host: RunningHost) -> Page:
    """Open the page at the app's own origin, as a file of a front end beside it."""
    page = await browser.new_page(viewport={"width": 520, "height": 760})

    async def fulfil(route: Route) -> None:
        if route.request.url.endswith(".js"):
            await route.fulfill(path=BUNDLE, content_type="text/javascript")
        else:
            await route.fulfill(body=PAGE.replace("SECRET", KEY), content_type="text/html")

    await page.route("**/chat.html", fulfil)
    await page.route("**/webchat.js", fulfil)
    await page.goto(host.url.removesuffix("/api") + "/chat.html")
    return page


async def ask(page: Page, question: str) -> None:
    box = page.get_by_role("textbox")
    await box.fill(question)
    await box.press("Enter")


async def shows(page: Page, text: str) -> None:
    await expect(page.locator(".webchat__bubble__content", has_text=text).last).to_be_visible()


async def pictured(page: Page, name: str) -> None:
    """Keep a picture where the variable `PICTURES` names a folder."""
    if folder := os.environ.get("PICTURES"):
        await page.screenshot(path=f"{folder}/web-chat-{name}.png")


async def test_a_person_asks_judges_agrees_and_declines(
    browser: Browser, host: RunningHost, server: Crm, openai: OpenAIStandIn
) -> None:
    page = await opened(browser, host)
    await shows(page, "Hallo. Fragen Sie mich")
    go_on = asyncio.Event()
    openai.call_tool("search", {"query": "dental care"})
    openai.reply("It pays", go_on, " 80 % [plan.pdf#page=3].\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    await ask(page, "What does it pay?")
    await shows(page, "It pays")
    await pictured(page, "stream")
    go_on.set()
    await shows(page, "80 % 1")
    note = page.locator(".webchat__link-definitions a, .webchat__link-definitions button")
    await expect(note).to_contain_text("plan.pdf#page=3")
    await expect(page.locator("table td").first).to_have_text("1")
    await pictured(page, "answer")
    async with page.expect_response(lambda answer: answer.request.method == "POST") as judged:
        await page.locator(".webchat__activity-status .webchat__thumb-button, .webchat__thumb-button").first.click()
    assert (await judged.value).status == 200
    for answer, said in (("Zustimmen", "x is dropped."), ("Ablehnen", "Nothing is dropped.")):
        openai.call_tool("crm_drop", {"name": "x"})
        await ask(page, "Drop it.")
        button = page.locator(".ac-pushButton", has_text=answer)
        await expect(button).to_be_visible()
        await pictured(page, f"asks-{answer}")
        openai.reply(said)
        await button.click()
        await shows(page, said)
        await expect(page.locator(".ac-pushButton")).to_have_count(0)
        await pictured(page, f"after-{answer}")
    assert server.dropped == ["x"]
    openai.fail(400)
    await ask(page, "And now?")
    await shows(page, "invocation")
    await pictured(page, "error")
