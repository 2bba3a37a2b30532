"""The pictures of the playground in `docs/images/`: `make screenshots`.

The app answers from the sample documents, with a model and a safety service that say what is scripted here.
"""

import asyncio
import io
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser, Page, ViewportSize, expect

from shared.runs.folder_objects import FolderObjects
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.playground.asking import ask, ask_on, ended
from tests.app.playground.conftest import NARROW, WITHOUT_TITLES
from tests.browser import chromium, install_browser
from tests.local.running_host import REPOSITORY, RunningHost, host_beside
from tests.runs.acting import agents_file, crm
from tests.runs.aging import age
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import RaiStandIn

IMAGES = REPOSITORY / "docs" / "images"
LARGEST = 200_000
"""Bytes of a picture."""
SIZE = ViewportSize(width=1440, height=900)
QUESTION = "What do I pay for an operation of 5,750 euros?"
ANSWER = """It depends on your plan:

| plan | deductible | your share | **you pay** |
|---|---|---|---|
| Standard | 750 € | 20 % of 5,000 € | **1,750 €** |
| Plus | 250 € | 10 % of 5,500 € | **800 €** |

The deductible counts once in a plan year, and what you have paid counts towards the out-of-pocket maximum: in the
Standard plan 4,000 euros for one person. [health/health-plans-handbook.pdf#page=3]

It does not apply to **eye care and dental care**. [health/eye-and-dental-care.md]

<<What does the Plus plan cost?>> <<When can I change my plan?>>"""
REFUSED = "What can I do if a claim is refused?"
CLEARED = """You can fight the refusal: appeal within **180 days**. People who had no part in the first decision
decide within 30 days. [health/health-plans-handbook.pdf#page=5]

If you disagree with the outcome, an independent ombudsman reviews it for free,
and the result is binding on the plan."""


async def main() -> None:
    """Write all pictures, and say how large they are."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        command = [sys.executable, "-m", "local.index_command", "samples/documents"]
        environment = {"DATA_DIR": folder, "PATH": "/usr/bin:/bin"}
        await asyncio.to_thread(subprocess.run, command, cwd=REPOSITORY, env=environment, check=True)
        await asyncio.to_thread(install_browser)
        async with chromium() as browser, OpenAIStandIn() as openai:
            expect.set_options(timeout=60_000)
            async with hosted(data, openai.settings | NO_VECTORS) as host:
                await chat_and_sources(browser, host, openai)
                await on_a_phone(browser, host, openai)
                await wire_and_settings(browser, host, openai)
                await api(browser, host)
            async with hosted(data, {}) as host:
                await team(browser, host)
            await killed_and_started(browser, data, openai)
            await consent(browser, data, openai)
            async with RaiStandIn() as rai, hosted(data, openai.settings | NO_VECTORS | rai.settings) as host:
                await safety(browser, host, openai, rai)


async def chat_and_sources(browser: Browser, host: RunningHost, openai: OpenAIStandIn) -> None:
    """Show an answer with its sources, the page of a PDF file that it cites, and how it came about."""
    openai.reply(ANSWER)
    async with window(browser) as page:
        said = await ask(page, host, QUESTION)
        await ended(page)
        await expect(page.get_by_role("tabpanel")).to_contain_text("Cited")
        await keep(page, "playground-chat")
        await said.get_by_role("button", name="Source 1").click()
        await expect(page.get_by_role("tabpanel")).to_contain_text("of 5")
        await expect(page.get_by_role("region", name="Page 3").locator("canvas")).to_be_visible()
        await expect(page.get_by_role("region", name="Page 3").locator("mark").first).to_be_attached()
        await keep(page, "playground-source")
        await page.get_by_role("tab", name="Thoughts").click()
        await expect(page.get_by_role("tabpanel")).to_contain_text("Prompt")
        await keep(page, "playground-thoughts")


async def on_a_phone(browser: Browser, host: RunningHost, openai: OpenAIStandIn) -> None:
    """Show the same answer on a phone, in dark colours."""
    openai.reply(ANSWER)
    async with window(browser, NARROW, is_dark=True) as page:
        said = await ask(page, host, QUESTION)
        await expect(said.get_by_role("table")).to_be_visible()
        await ended(page)
        await keep(page, "playground-phone")


async def wire_and_settings(browser: Browser, host: RunningHost, openai: OpenAIStandIn) -> None:
    """Show an exchange as it was sent, and the settings."""
    openai.reply(*(f"{word} " for word in ANSWER.split(" ")))
    async with window(browser) as page:
        await ask(page, host, QUESTION)
        await ended(page)
        await page.get_by_role("tab", name="Wire").click()
        await expect(page.get_by_role("tabpanel")).to_contain_text("RUN_STARTED")
        await keep(page, "playground-wire")
        await page.goto(f"{host.url}/#/settings")
        await expect(page.get_by_role("main")).to_contain_text("retrieval")
        await expect(page.get_by_label("suggest_followup_questions")).to_be_attached()
        await keep(page, "playground-settings")


async def killed_and_started(browser: Browser, data: Path, openai: OpenAIStandIn) -> None:
    """Show an answer after a reload in the middle of it, and once its app was killed there and is back."""
    words = [f"{word} " for word in ANSWER.split(" ")]
    env = openai.settings | NO_VECTORS | {"DATA_DIR": str(data)}
    openai.reply(*words[: len(words) * 2 // 3], asyncio.Event())
    async with window(browser) as page:
        first = RunningHost(REPOSITORY, env, ("--port", "0"))
        try:
            await asyncio.to_thread(first.wait_for, "Switchboard is ready")
            async with page.expect_response("**/chat-history/*"):  # the question is kept
                said = await ask(page, first, QUESTION)
            await expect(said).to_contain_text("The deductible counts")
            await page.reload()
            await expect(said).to_contain_text("The deductible counts")
            await keep(page, "playground-reloaded")
        finally:
            first.process.kill()
            await asyncio.to_thread(first.wait)
        await expect(said).to_contain_text("The connection is lost")
        openai.reply(*words)
        await age(FolderObjects(data / "batches"))
        async with host_beside(env=env) as second:
            await page.context.route(
                f"{first.url}/**", lambda route: route.continue_(url=route.request.url.replace(first.url, second.url))
            )
            await ended(page)
            await keep(page, "playground-restarted")
            await page.goto("about:blank")


async def api(browser: Browser, host: RunningHost) -> None:
    """Show the page of the API."""
    async with window(browser) as page:
        await page.goto(f"{host.url}/docs#/chat/chat")
        block = page.locator("#operations-chat-chat")
        await expect(block.get_by_role("button", name="Execute")).to_be_visible()
        await block.scroll_into_view_if_needed()
        await keep(page, "playground-api")


async def team(browser: Browser, host: RunningHost) -> None:
    """Show the agents of the sample team, and what each has said."""
    async with window(browser) as page:
        await page.goto(f"{host.url}/#/")
        await page.get_by_text("Team", exact=True).first.click()
        await ask_on(page, "Does the Standard plan cover eye exams?")
        await expect(
            page.get_by_role("article").last.get_by_role("group", name="Answer", exact=True)
        ).to_have_attribute("aria-busy", "false")
        await page.get_by_role("tab", name="Team").click()
        await expect(page.get_by_role("list", name="Agents")).to_contain_text("Writer")
        await keep(page, "playground-team")


async def consent(browser: Browser, data: Path, openai: OpenAIStandIn) -> None:
    """Show what an agent of a team may not do before a person agrees, and the calls of its tools."""
    agents = "  - {name: Clerk, instructions: Be Clerk., tools: [crm.*]}\n  - {name: Writer, instructions: Be Writer.}"
    async with crm("Cancel an order for good. The customer gets a mail.") as server:
        file = await asyncio.to_thread(lambda: agents_file(data, server.url, agents=agents))
        openai.call_tool("crm_look", {"number": 7})
        openai.call_tool("crm_drop", {"name": "Order 7: two chairs for Ada Lovelace"})
        async with (
            hosted(data, openai.settings | NO_VECTORS | {"AGENTS_FILE": str(file)}) as host,
            window(browser) as page,
        ):
            await page.goto(f"{host.url}/#/")
            await page.get_by_text("Team", exact=True).first.click()
            await ask_on(page, "Ada Lovelace has changed her mind: cancel order 7, and tell her.")
            await page.get_by_role("tab", name="Team").click()
            await expect(page.get_by_role("group", name="Clerk asks for your consent")).to_be_visible()
            await page.locator("summary", has_text="crm.look").first.click()
            await expect(page.locator(".tool-call[open]")).to_contain_text("order 7 is open")
            await keep(page, "playground-consent")


async def safety(browser: Browser, host: RunningHost, openai: OpenAIStandIn, rai: RaiStandIn) -> None:
    """Show an answer, and what the safety service has found in it."""
    rai.find("fight", "VIOLENCE", 2, blocking=False)
    openai.reply(*(f"{word} " for word in CLEARED.split(" ")))
    async with window(browser) as page:
        await ask(page, host, REFUSED)
        await ended(page)
        await page.get_by_role("tab", name="Safety").click()
        await expect(page.get_by_role("tabpanel")).to_contain_text("violence")
        await keep(page, "playground-safety")


@asynccontextmanager
async def window(browser: Browser, size: ViewportSize = SIZE, *, is_dark: bool = False) -> AsyncGenerator[Page]:
    """Open a window that remembers nothing."""
    scheme = "dark" if is_dark else "light"
    context = await browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    await context.add_init_script(WITHOUT_TITLES)
    yield await context.new_page()
    await context.close()


async def keep(page: Page, name: str) -> None:
    """Write what the window shows, in a palette: a screen has few colours, and needs a third of the bytes then."""
    await page.evaluate("() => document.fonts.ready")
    shown = Image.open(io.BytesIO(await page.screenshot(animations="disabled", caret="hide")))
    file = IMAGES / f"{name}.png"
    shown.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
    size = file.stat().st_size
    sys.stdout.write(f"{file.relative_to(REPOSITORY)}: {size:,} bytes\n")
    assert size < LARGEST, f"{file} is too large"


if __name__ == "__main__":
    asyncio.run(main())
