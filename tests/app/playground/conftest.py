"""A browser for the playground. Its windows fail a test by what a person would not see: errors, and calls elsewhere."""

import asyncio
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Dialog, Page, ViewportSize, expect

from tests.app.conftest import NO_VECTORS, hosted
from tests.browser import chromium
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

PATIENCE = 60_000
"""Milliseconds; a page appears in far less on an idle machine."""
WITHOUT_TITLES = """{
  const { fetch } = window;
  const none = () => Promise.resolve(Response.json({ choices: [] }));
  window.fetch = (...asked) => (String(asked[0]).endsWith("/v1/chat/completions") ? none() : fetch(...asked));
}"""
"""Answers the page's request for a chat's title with none: a test's scripts are for its own questions.

It is no route, with which a browser would keep no file.
"""
WIDE = ViewportSize(width=1280, height=900)
NARROW = ViewportSize(width=390, height=844)
ORGANISATION = """
name: {en: Contoso Answers, de: Contoso fragt}
color: "#0b6b58"
welcome: {en: Welcome to Contoso, de: Willkommen bei Contoso}
starters:
  - en: "What does the Standard plan pay?"
    de: "Was zahlt der Standard-Tarif?"
help_url: https://intranet.contoso.example/help
legal: "No legal advice: https://contoso.example/legal."
contact: ask@contoso.example
"""
_OWN_HOSTS = {"127.0.0.1", "localhost", ""}
"""The last is that of `data:` and `blob:`."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncGenerator[Browser]:
    expect.set_options(timeout=PATIENCE)
    async with chromium() as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def readers(openai: OpenAIStandIn, data_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app in front of the scripted model, with the page for readers and an organisation's texts."""
    file = data_dir / "page.yaml"
    await asyncio.to_thread(file.write_text, ORGANISATION, encoding="utf-8")
    settings = {"PLAYGROUND": "chat", "PAGE_FILE": str(file)}
    async with hosted(data_dir, openai.settings | NO_VECTORS | settings) as host:
        yield host


@pytest.fixture
def expected_errors() -> list[str]:
    """Patterns of console errors that a test expects: a browser logs each answer of 400 and above, for example."""
    return []


@pytest_asyncio.fixture(loop_scope="session")
async def new_page(browser: Browser, expected_errors: list[str]) -> AsyncGenerator[Page]:
    """A new window of 1280 by 900 pixels."""
    async with window(browser, expected_errors) as page:
        yield page


@pytest.fixture
def page(new_page: Page) -> Page:
    """A new window, except in files whose tests share one."""
    return new_page


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared_window(browser: Browser) -> AsyncGenerator[tuple[Page, list[str]]]:
    """A window that stays open for a file, and what has gone wrong in it."""
    async with _watched(browser, WIDE, WITHOUT_TITLES) as opened:
        yield opened


@pytest.fixture
def shared_page(shared_window: tuple[Page, list[str]], expected_errors: list[str]) -> Generator[Page]:
    """The window of a file's tests that need no more than a new chat: to load the page takes half a second."""
    page, faults = shared_window
    yield page
    found = [*faults]
    faults.clear()
    _check(found, expected_errors)


@pytest_asyncio.fixture(loop_scope="session")
async def narrow_page(browser: Browser, expected_errors: list[str]) -> AsyncGenerator[Page]:
    """The same on a phone, of 390 by 844 pixels."""
    async with window(browser, expected_errors, NARROW) as page:
        yield page


@asynccontextmanager
async def window(
    browser: Browser, expected_errors: list[str], size: ViewportSize = WIDE, script: str = WITHOUT_TITLES
) -> AsyncGenerator[Page]:
    """A window that remembers nothing.

    Fails at its end if a script logged an error or raised one, as it does where the security policy forbids something,
    if it opened a dialog, or if anything asked for an address elsewhere.
    """
    async with _watched(browser, size, script) as (page, faults):
        yield page
    _check(faults, expected_errors)


@asynccontextmanager
async def _watched(browser: Browser, size: ViewportSize, script: str) -> AsyncGenerator[tuple[Page, list[str]]]:
    context = await browser.new_context(viewport=size, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    faults = watch(context)
    await context.add_init_script(script)
    yield await context.new_page(), faults
    await context.close()


def _check(faults: list[str], expected_errors: list[str]) -> None:
    unexpected = [fault for fault in faults if not any(re.search(pattern, fault) for pattern in expected_errors)]
    assert unexpected == []


def watch(context: BrowserContext) -> list[str]:
    """Return the list to which the faults of all pages of this context are added."""
    faults: list[str] = []

    async def close(dialog: Dialog) -> None:
        faults.append(f"opened a dialog: {dialog.message}")
        await dialog.dismiss()

    context.on("weberror", lambda error: faults.append(f"raised: {error.error}"))
    context.on("console", lambda message: faults.append(f"logged: {message.text}") if message.type == "error" else None)
    context.on("dialog", close)
    context.on("request", lambda asked: None if _is_own(asked.url) else faults.append(f"asked for {asked.url}"))
    return faults


def _is_own(url: str) -> bool:
    return (urlsplit(url).hostname or "") in _OWN_HOSTS
