"""The tab 'Team': lanes while the agents work, what they cost, and what they say."""

import asyncio
import re

import pytest
from playwright.async_api import Page, expect

from tests.app.playground.asking import ended
from tests.app.playground.behind import ask, tab
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

ALPHA, BETA = "You are Alpha", "You are Beta"


@pytest.fixture
def page(shared_page: Page) -> Page:
    """The window that the tests of this file share, if they do not name another."""
    return shared_page


async def test_each_agent_has_a_lane_that_shows_what_it_does_now(
    page: Page, team: RunningHost, openai: OpenAIStandIn
) -> None:
    beta_may = asyncio.Event()
    with openai.to(ALPHA):
        openai.reply("It pays 80 %.")
    with openai.to(BETA):
        openai.reply("Wait. ", beta_may, "I agree.")
    await ask(page, team, team=True)
    panel = await tab(page, "Team")
    lanes = panel.get_by_role("list", name="Agents").get_by_role("listitem")
    await expect(lanes).to_have_text([re.compile(r"Alpha\s*done.*12 tokens"), re.compile(r"Beta\s*writes")])
    beta_may.set()
    await ended(page)
    await expect(lanes.nth(1)).to_have_text(re.compile(r"Beta\s*done.*12 tokens.*\d m?s"))
    await expect(lanes.nth(1).get_by_role("img")).to_have_accessible_name(re.compile("Beta: waits, thinks, writes"))
    await expect(panel.get_by_text(re.compile("24 tokens together"))).to_be_visible()


async def test_an_agent_that_fails_says_why_and_the_others_go_on(
    page: Page, team: RunningHost, openai: OpenAIStandIn
) -> None:
    with openai.to(ALPHA):
        openai.fail(400)
    with openai.to(BETA):
        openai.reply("I can.")
    await ask(page, team, team=True)
    await ended(page)
    panel = await tab(page, "Team")
    lanes = panel.get_by_role("list", name="Agents").get_by_role("listitem")
    await expect(lanes.nth(0)).to_contain_text("failed")
    await expect(lanes.nth(0).locator(".bad")).to_contain_text("model")
    await expect(lanes.nth(1)).to_contain_text("done")


async def test_agents_that_search_show_their_query(new_page: Page, built_in: RunningHost) -> None:
    page = new_page
    await ask(page, built_in, "What does the Standard plan pay for dental care?", team=True)
    await ended(page)
    panel = await tab(page, "Team")
    lanes = panel.get_by_role("list", name="Agents").get_by_role("listitem")
    await expect(lanes).to_have_count(3)
    await expect(lanes.nth(0)).to_contain_text(re.compile("Researcher.*done.*searched for “", re.DOTALL))
