"""Consent on the page: what an agent wants to do is asked by words and values, and decided by keyboard, also later."""

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.playground.asking import answer, ask_on, box, ended
from tests.app.playground.behind import ask, tab
from tests.app.playground.test_accessibility import findings
from tests.browser import axe
from tests.local.running_host import RunningHost
from tests.runs.acting import Crm, agents_file, crm
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

AGENTS = """\
  - {name: Clerk, instructions: You are Clerk., tools: [crm.*]}
  - {name: Writer, instructions: You are Writer.}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server() -> AsyncGenerator[Crm]:
    async with crm("Cancel an order for good.") as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def acting(
    tmp_path_factory: pytest.TempPathFactory, server: Crm, openai: OpenAIStandIn
) -> AsyncGenerator[RunningHost]:
    """The app with an agent that acts, alone and in a team."""
    folder: Path = tmp_path_factory.mktemp("acting")
    file = await asyncio.to_thread(lambda: agents_file(folder, server.url, agents=AGENTS))
    env = {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}
    async with hosted(folder, openai.settings | NO_VECTORS | env) as host:
        yield host


def card(page: Page) -> Locator:
    """The question for consent."""
    return page.get_by_role("group", name="Clerk asks for your consent")


def calls(page: Page) -> Locator:
    return answer(page).get_by_role("list", name="Calls of tools").get_by_role("listitem")


async def test_a_call_is_allowed_by_keyboard_after_a_reload(
    page: Page, acting: RunningHost, server: Crm, openai: OpenAIStandIn
) -> None:
    openai.call_tool("crm_look", {"number": 7})
    openai.call_tool("crm_drop", {"name": "7 \u202ednim <b>x</b>"})
    await ask(page, acting, "Cancel order 7.")
    await expect(card(page)).to_be_focused()
    await expect(page.get_by_role("complementary", name="Conversations")).to_contain_text("Cancel order 7.")
    await expect(card(page)).to_have_accessible_description(
        re.compile(r"^Cancel an order for good\. name 7 .*crm\.drop")
    )
    await expect(card(page).get_by_role("row", name="name")).to_contain_text(r"7 \u{202e}dnim <b>x</b>")
    await page.reload()
    await expect(card(page)).to_be_focused()
    assert server.dropped == []
    assert await findings(page, axe()) == []
    openai.reply("Order 7 is cancelled.")
    for key in ("Tab", "f", "i", "n", "e", "Tab"):
        await page.keyboard.press(key)
    await expect(page.get_by_role("button", name="Yes, do it")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(answer(page)).to_contain_text("Order 7 is cancelled.")
    await ended(page)
    await expect(box(page)).to_be_focused()
    assert len(server.dropped) == 1
    await page.reload()
    await expect(calls(page)).to_contain_text(["crm.look", "crm.drop"])
    await calls(page).nth(0).locator("summary").press("Enter")
    await expect(calls(page).nth(0)).to_contain_text("order 7 is open")
    await calls(page).nth(1).locator("summary").press("Enter")
    await expect(calls(page).nth(1)).to_contain_text("is dropped")


async def test_a_call_of_a_team_is_refused_and_another_is_left_by_a_new_question(
    page: Page, acting: RunningHost, server: Crm, openai: OpenAIStandIn
) -> None:
    before = [*server.dropped]
    with openai.to("You are Clerk"):
        openai.call_tool("crm_drop", {"name": "8"})
    await ask(page, acting, "Cancel order 8.", team=True)
    await expect(card(page)).to_be_visible()
    panel = await tab(page, "Team")
    lanes = panel.get_by_role("list", name="Agents").locator("> li")
    await expect(lanes).to_contain_text(["waits for consent", "waits"])
    await expect(lanes.nth(0)).to_contain_text("crm.drop")
    with openai.to("You are Clerk"):
        openai.reply("It stays.")
    with openai.to("You are Writer"):
        openai.reply("Nothing was done.")
    await card(page).get_by_role("button", name="No, do not").press("Enter")
    await expect(answer(page).get_by_role("group", name="Writer")).to_contain_text("Nothing was done.")
    await ended(page)
    await expect(answer(page).get_by_role("group", name="Clerk", exact=True)).to_contain_text(
        "refused: it was not done"
    )
    with openai.to("You are Clerk"):
        openai.call_tool("crm_drop", {"name": "9"})
    await ask_on(page, "Cancel order 9.")
    await expect(card(page)).to_be_visible()
    with openai.to("You are Clerk"):
        openai.reply("Hello.")
    with openai.to("You are Writer"):
        openai.reply("Hello, too.")
    await ask_on(page, "Hello.")
    await ended(page)
    left = page.get_by_role("article").nth(1)
    await expect(left).to_contain_text("not decided, since the chat went on: it was not done")
    assert server.dropped == before


async def test_whoever_follows_a_link_decides_on_the_page_of_the_approval(
    page: Page, acting: RunningHost, server: Crm, openai: OpenAIStandIn
) -> None:
    openai.call_tool("crm_drop", {"name": "10"})
    await ask(page, acting, "Cancel order 10.")
    await expect(card(page)).to_be_visible()
    other = await page.context.new_page()
    found: list[Any] = []
    async with asyncio.timeout(60):  # on a busy machine the end of an answer does not wait for what is stored with it
        while not found:
            found = (await (await other.request.get(f"{acting.url}/approvals")).json())["approvals"]
    await other.goto(f"{acting.url}#/approvals/{found[0]['id']}")
    await expect(card(other)).to_contain_text("crm.drop")
    assert await findings(other, axe()) == []
    openai.reply("Order 10 is cancelled.")
    await card(other).get_by_role("button", name="Yes, do it").click()
    await expect(card(other)).to_contain_text("allowed and done")
    await page.bring_to_front()
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await expect(answer(page)).to_contain_text("Order 10 is cancelled.")
    await other.goto(f"{acting.url}/#/approvals")
    await expect(other.get_by_role("main")).to_contain_text("Nothing waits for your consent.")
    assert server.dropped[-1] == "10"
