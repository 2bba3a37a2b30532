"""What a person sees in the pages of assistant-ui, CopilotKit and deep-chat, in a browser."""

import re
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.guarded import guarded
from tests.app.playground.conftest import PATIENCE
from tests.app.test_consent_clients import ASKED, EITHER, SAID, WRITTEN, Acting
from tests.browser import chromium
from tests.clients import pages as clients
from tests.clients.rows import PAGES, Row, hold
from tests.runs.acting import agents_file, crm
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.nightly,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("browser", "client_pages", "copilotkit"),
]
"""One loop with the stand-ins; each page is built for its first test."""

PAGE = pytest.mark.parametrize("client", [clients.ASSISTANT_UI, clients.COPILOTKIT], ids=["assistant-ui", "CopilotKit"])
CROSS_ORIGIN = {"CORS": "*"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser(openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[clients.Pages]:
    expect.set_options(timeout=PATIENCE)
    async with chromium() as running:
        yield clients.Pages(running, tmp_path_factory.mktemp("pages"), openai)


@pytest.mark.parametrize("row", PAGES, ids=[row.title for row in PAGES])
async def test_each_page_shows_answers_sources_and_the_sentences_of_errors(
    row: Row,
    data_dir: Path,
    openai: OpenAIStandIn,
    browser: clients.Pages,
    record_property: Callable[[str, object], None],
) -> None:
    env = CROSS_ORIGIN | ({"ERRORS_AS_MESSAGES": "semantic-kernel,ag-ui"} if row.kind.says_it else {})
    async with (
        hosted(data_dir, openai.settings | NO_VECTORS | env) as app,
        guarded(data_dir, openai, RAI_MODE="enforce", **env) as safe,
    ):
        told = await hold(row, browser, openai, app.url, safe.host.url)
    record_property("seen", told)
    assert told == row.expected


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def acting(openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Acting]:
    folder = tmp_path_factory.mktemp("acting")
    async with crm() as server:
        file = agents_file(folder, server.url)
        env = openai.settings | NO_VECTORS | CROSS_ORIGIN | {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}
        async with hosted(folder, env) as host:
            yield Acting(host, server, openai)


@PAGE
@EITHER
async def test_each_page_asks_for_consent_with_buttons(
    acting: Acting, browser: clients.Pages, client: clients.PageClient, approved: bool
) -> None:
    acting.will_ask()
    acting.model.reply(WRITTEN[approved])
    async with browser.opened(client, acting.host.url) as window:
        await window.ask(ASKED)
        decide = window.page.get_by_role("button", name="Approve" if approved else "Decline", exact=True)
        await expect(window.page.locator("section pre")).to_contain_text('name: "x"')
        assert acting.has_run(approved=False)
        await decide.click()
        said = re.compile(r"\s*".join(map(re.escape, SAID[approved].split())))  # pages make paragraphs of it
        await expect(window.page.locator(client.text).last).to_have_text(said)
        await expect(decide).to_have_count(0)
    assert acting.has_run(approved)


async def test_the_model_calls_what_copilotkits_page_can_do(
    data_dir: Path, openai: OpenAIStandIn, browser: clients.Pages
) -> None:
    openai.call_tool("show_note", {"text": "Dentist on Monday"})
    openai.reply("I noted it.")
    async with (
        hosted(data_dir, openai.settings | NO_VECTORS) as app,
        browser.opened(clients.COPILOTKIT, app.url, "Note") as window,
    ):
        await window.ask("Note that I see the dentist on Monday.")
        await expect(window.page.locator(clients.COPILOTKIT.text).last).to_have_text("I noted it.")
        await expect(window.page.get_by_role("complementary")).to_have_text("Dentist on Monday")
    assert "The note is shown." in str(openai.chats[-1].body["messages"])
