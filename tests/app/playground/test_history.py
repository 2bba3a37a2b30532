"""The playground's list of chats, and chats that are opened again."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from shared.chat_types import Role
from shared.history import Mode, StoredMessage
from shared.history.sqlite_history import SqliteHistory
from shared.runs.folder_objects import FolderObjects
from tests.app.batches import until
from tests.app.conftest import NO_VECTORS, PASSAGES, TEAM, hosted
from tests.app.playground.asking import answer, ask, ask_on, box, choose, ended, turn
from tests.app.playground.conftest import window
from tests.app.test_answers import QUESTION
from tests.local.running_host import REPOSITORY, RunningHost, host_beside
from tests.runs.aging import age
from tests.small_index import write_index
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser and the stand-in; the first test may have to install the browser."""

WORDS = tuple(f"word{number} " for number in range(30))


@pytest.fixture
def page(shared_page: Page) -> Page:
    """The window that the tests of this file share, if they do not name another."""
    return shared_page


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    """The app with a history of its own, and a team."""
    own = tmp_path_factory.mktemp("history")
    (own / "agents.yaml").write_text(TEAM, encoding="utf-8")
    await write_index(own, PASSAGES)
    async with hosted(own, openai.settings | NO_VECTORS | {"AGENTS_FILE": str(own / "agents.yaml")}) as host:
        yield host


def chats(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Conversations")


def answer_kept(page: Page) -> AbstractAsyncContextManager[object]:
    """Wait for the request that writes an answer; the question is written by one before it, which may end later."""
    return page.expect_response(
        lambda answered: answered.request.method == "PUT" and '"role":"assistant"' in (answered.request.post_data or "")
    )


async def asked(
    page: Page, app: RunningHost, openai: OpenAIStandIn, question: str, said: str = "80 %.", title: str = ""
) -> None:
    """Ask in a new chat, and wait until it is listed, by its title or the question, and its answer is kept."""
    openai.reply(said)
    async with answer_kept(page):
        await ask(page, app, question)
        await ended(page)
    await expect(chats(page).get_by_role("link", name=title or question)).to_have_attribute("aria-current", "page")


async def test_a_chat_has_an_address_that_survives_a_reload_with_branches_and_sources(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    await asked(page, app, openai, QUESTION, "80 % [plan.pdf#page=3].\n<<What is paid for glasses?>>")
    openai.reply("90 %.")
    await turn(page).get_by_role("button", name="Edit").click()
    await page.get_by_label("Edited question").fill("What does the Plus plan pay?")
    async with answer_kept(page):
        await page.keyboard.press("Enter")
        await expect(turn(page)).to_contain_text("What does the Plus plan pay?")
        await ended(page)
    address = page.url
    assert "#/chat/" in address
    await page.reload()
    assert page.url == address
    await expect(turn(page)).to_contain_text("What does the Plus plan pay?")
    await expect(answer(page)).to_contain_text("90 %.")
    await turn(page).get_by_role("button", name="Previous branch").click()
    await expect(answer(page).get_by_role("button", name="Source 1: plan.pdf#page=3")).to_be_visible()
    await expect(page.get_by_role("button", name="What is paid for glasses?")).to_be_visible()


async def test_a_teams_chat_is_opened_with_the_messages_of_each(
    new_page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    page = new_page
    for name in ("Alpha", "Beta"):
        with openai.to(f"You are {name}"):
            openai.reply(f"I am {name}.")
    await page.goto(f"{app.url}#/")
    await page.get_by_role("radio", name="Team").press(" ")
    async with answer_kept(page):
        await ask_on(page, "Who are you?")
        await ended(page)
    await page.reload()
    for name in ("Alpha", "Beta"):
        await expect(answer(page).get_by_role("group", name=name)).to_contain_text(f"I am {name}.")
    await expect(page.get_by_role("radio", name="Team")).to_be_checked()


async def test_chats_are_found_renamed_and_deleted(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    await asked(page, app, openai, "How long is the notice?")
    await asked(page, app, openai, "Are implants paid?")
    await chats(page).get_by_label("Search chats").fill("NOTICE")
    await expect(chats(page).get_by_role("link")).to_have_text(["How long is the notice?"])
    await chats(page).get_by_label("Search chats").fill("")
    await choose(page, "Are implants paid?", "Rename")
    await page.get_by_label("New title").fill("Teeth")
    await page.keyboard.press("Enter")
    await expect(chats(page).get_by_role("link", name="Teeth")).to_be_visible()
    await page.reload()
    await expect(chats(page).get_by_role("link", name="Teeth")).to_be_visible()
    await choose(page, "Teeth", "Delete")
    await expect(page.get_by_role("button", name="Keep")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(chats(page).get_by_role("button", name="Actions for Teeth")).to_be_focused()
    await choose(page, "Teeth", "Delete")
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(chats(page).get_by_role("link", name="Teeth")).to_have_count(0)
    await expect(page.get_by_role("article")).to_have_count(0)
    await expect(page).to_have_url(f"{app.url}/#/")


async def test_all_chats_are_deleted_at_once_after_a_question(
    page: Page, app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    await asked(page, app, openai, "Who pays for braces?")
    await page.goto(f"{app.url}/#/settings")
    await page.get_by_role("button", name="Delete all my chats").click()
    await expect(page.get_by_role("button", name="Keep")).to_be_focused()
    await page.get_by_role("button", name="Delete for good").click()
    await expect(chats(page).get_by_role("status")).to_have_text("Your chats will be listed here.")
    await expect(page).to_have_url(f"{app.url}/#/")
    async with http.get(f"{app.url}/chat-history") as response:
        assert await response.json() == []


@pytest.mark.nightly
async def test_a_chat_is_found_by_a_word_of_its_answer_among_300(
    new_page: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = new_page
    own = tmp_path_factory.mktemp("many")
    await write_index(own, PASSAGES)
    history = SqliteHistory(own / "history.sqlite")
    for number in range(300):  # the app looks at 100 a page: the oldest stands on the third
        chat = await history.create("anonymous", Mode.STANDARD, f"Chat {number}")
        said = "Braces are paid." if number else "Orthodontics is paid."
        messages = [StoredMessage("1", Role.USER, "Paid?", ""), StoredMessage("2", Role.ASSISTANT, said, "")]
        await history.write("anonymous", chat.id, messages)
    async with hosted(own, {}) as host:
        await page.goto(host.url)
        await expect(chats(page).get_by_role("link")).to_have_count(100)
        await chats(page).get_by_label("Search chats").fill("orthodontics")
        await expect(chats(page).get_by_role("link")).to_have_text(["Chat 0Orthodontics is paid."])
        await chats(page).get_by_role("link").click()
        await expect(answer(page)).to_contain_text("Orthodontics is paid.")
        await page.goto("about:blank")  # before the app ends, which the page would notice


async def test_a_chat_is_exported_as_markdown_and_as_json(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    question = "What is paid for <b>crowns</b>: 80 % / 90 %?"
    await asked(page, app, openai, question, "**80 %** [plan.pdf#page=3], see [other.pdf].")
    saved: list[str] = []
    for kind, ending in (("Markdown", "md"), ("JSON", "json")):
        await choose(page, question, "Export")
        async with page.expect_download() as saving:
            await chats(page).get_by_role("button", name=kind).press("Enter")
        download = await saving.value
        assert re.fullmatch(
            rf"What is paid for b crowns b 80 90 \d{{4}}-\d\d-\d\d\.{ending}", download.suggested_filename
        )
        saved.append((await download.path()).read_text(encoding="utf-8"))
        await expect(chats(page).get_by_role("link", name=question)).to_be_visible()
    markdown, chat = saved[0], json.loads(saved[1])
    assert markdown.startswith("# What is paid for \\<b\\>crowns\\</b\\>: 80 % / 90 %?\n\n")
    assert "\n## Question\n\n> What is paid for \\<b>crowns\\</b>: 80 % / 90 %?\n" in markdown
    assert "\n## Answer\n\n**80 %** \\[1\\], see [other.pdf].\n" in markdown
    assert f"\n### Cited\n\n1. [plan.pdf, page 3](<{app.url}/content/plan.pdf#page=3>)\n\n   > " in markdown
    assert markdown.endswith(f"\n### Also found, not cited\n\n- [dental.md](<{app.url}/content/dental.md>)\n")
    assert (chat["title"], [one["role"] for one in chat["messages"]]) == (question, ["user", "assistant"])
    assert chat["messages"][1]["context"]["data_points"]["citations"] == ["plan.pdf#page=3", "dental.md"]


@pytest.mark.nightly
async def test_a_pinned_chat_stands_first_also_beyond_the_page_that_is_loaded(
    new_page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    page = new_page
    await asked(page, app, openai, "Which chat is pinned?")
    await asked(page, app, openai, "Which chat is newer?")
    await page.route("**/chat-history?limit=100", lambda route: route.continue_(url=route.request.url[:-2]))
    await page.reload()
    pinned = chats(page).get_by_role("region", name="Pinned").get_by_role("link")
    old = chats(page).get_by_role("link", name="Which chat is pinned?")
    await expect(chats(page).get_by_role("link")).to_have_text(["Which chat is newer?"])
    await chats(page).get_by_role("button", name="Show older chats").click()
    await expect(old).to_be_visible()
    await choose(page, "Which chat is pinned?", "Pin")
    await expect(pinned).to_have_text(["Which chat is pinned?"])
    await expect(chats(page).get_by_role("button", name="Actions for Which chat is pinned?")).to_be_focused()
    await page.reload()
    await expect(chats(page).get_by_role("link")).to_have_text(["Which chat is pinned?", "Which chat is newer?"])
    await choose(page, "Which chat is pinned?", "Unpin")
    await expect(pinned).to_have_count(0)
    await expect(old).to_have_count(1)
    await page.reload()
    await expect(chats(page).get_by_role("link")).to_have_text(["Which chat is newer?"])


async def test_an_answer_goes_on_while_another_chat_is_open(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    await asked(page, app, openai, "First?", "The first.")
    more = asyncio.Event()
    openai.reply("Half", more, " and whole.")
    await ask(page, app, "Second?")
    await expect(answer(page)).to_contain_text("Half")
    await chats(page).get_by_role("link", name="First?").click()
    await expect(answer(page)).to_contain_text("The first.")
    await chats(page).get_by_role("link", name="Second?").click()
    await expect(answer(page)).to_contain_text("Half")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    more.set()
    await expect(answer(page)).to_contain_text("Half and whole.")


async def test_what_is_typed_stays_with_its_chat(new_page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    page = new_page
    await asked(page, app, openai, "Draft one?")
    await box(page).fill("Half a question")
    await chats(page).get_by_role("button", name="New chat").click()
    await expect(box(page)).to_have_value("")
    await box(page).fill("Another half")
    await chats(page).get_by_role("link", name="Draft one?").click()
    await expect(box(page)).to_have_value("Half a question")
    await page.reload()
    await expect(box(page)).to_have_value("Half a question")
    await chats(page).get_by_role("button", name="New chat").click()
    await expect(box(page)).to_have_value("Another half")


async def test_a_question_without_an_answer_can_be_asked_again(
    page: Page, app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with http.post(f"{app.url}/chat-history", json={}) as response:
        chat = (await response.json())["id"]
    asked = {"messages": [{"id": "1", "role": "user", "content": "Lost?"}]}
    async with http.put(f"{app.url}/chat-history/{chat}", json=asked) as response:
        assert response.status == 200
    await page.goto(f"{app.url}/#/chat/{chat}")
    await expect(answer(page)).to_contain_text("This question has no answer yet.")
    openai.reply("Found.")
    await answer(page).get_by_role("button", name="Try again").click()
    await expect(answer(page)).to_contain_text("Found.")
    await expect(page.get_by_role("article")).to_have_count(1)


async def test_a_chat_of_another_client_can_be_read(page: Page, app: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.post(f"{app.url}/chat-history", json={"title": "From elsewhere"}) as response:
        made = await response.json()
    messages = [
        {"id": "1", "role": "system", "content": "Be brief."},
        {"id": "2", "role": "user", "content": "One?"},
        {"id": "3", "role": "assistant", "content": "*First* answer."},
        {"id": "4", "role": "user", "content": "Two?"},
        {"id": "5", "role": "assistant", "content": "Second answer."},
    ]
    async with http.put(f"{app.url}/chat-history/{made['id']}", json={"messages": messages}) as response:
        assert response.status == 200
    await page.goto(f"{app.url}/#/chat/{made['id']}")
    await expect(page.get_by_role("article")).to_have_count(2)
    await expect(page.get_by_role("article").first.locator("em")).to_have_text("First")
    await expect(answer(page)).to_contain_text("Second answer.")


async def test_a_chat_that_is_not_there_is_said_so(page: Page, app: RunningHost, expected_errors: list[str]) -> None:
    expected_errors.append("status of 404")
    await page.goto(f"{app.url}/#/chat/00000000-0000-4000-8000-000000000000")
    problem = page.get_by_role("main").get_by_role("alert")
    await expect(problem).to_contain_text("There is no such chat.")
    await problem.get_by_role("button", name="New chat").click()
    await expect(page.get_by_role("heading", name="Ask about the documents")).to_be_visible()


async def test_where_no_chats_are_kept_the_page_says_so_and_answers(
    new_page: Page, openai: OpenAIStandIn, data_dir: Path, expected_errors: list[str]
) -> None:
    page = new_page
    expected_errors.append("status of 404")
    async with hosted(data_dir, openai.settings | NO_VECTORS | {"HISTORY_BACKEND": "off"}) as host:
        openai.reply("80 %.")
        said = await ask(page, host)
        await expect(said).to_contain_text("80 %.")
        await expect(chats(page).get_by_role("status")).to_contain_text("HISTORY_BACKEND")
        openai.call_tool("search_sources", {"search_queries": ["implants"]})
        openai.reply("Two years.")
        await expect(await ask_on(page, "And implants?")).to_contain_text("Two years.")
        await page.goto("about:blank")  # before the app ends, which the page would notice


async def test_a_page_that_is_loaded_again_in_mid_answer_shows_the_whole_of_it_and_so_does_another(
    new_page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    page = new_page
    go_on = asyncio.Event()
    openai.requests.clear()
    openai.reply("80 % ", "is ", go_on, "paid [plan.pdf#page=3].")
    async with page.expect_response(
        lambda answered: answered.request.method == "PUT" and '"role":"user"' in (answered.request.post_data or "")
    ):
        await ask(page, app, QUESTION)
    await expect(answer(page)).to_contain_text("80 % is")
    await page.reload()
    await expect(answer(page)).to_contain_text("80 % is")
    other = await page.context.new_page()
    await other.goto(page.url)
    await expect(answer(other)).to_contain_text("80 % is")
    async with answer_kept(page):
        go_on.set()
        for each in (page, other):
            await ended(each)
            await expect(answer(each)).to_contain_text("80 % is paid")
            await expect(answer(each).get_by_role("button", name="Source 1: plan.pdf#page=3")).to_be_visible()
    assert len(openai.chats) == 1
    await other.reload()
    await expect(answer(other)).to_contain_text("80 % is paid")
    await other.close()


async def test_an_answer_that_is_stopped_stops_in_the_app_and_what_came_stays(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply("80 % ", asyncio.Event())
    await ask(page, app, QUESTION)
    await expect(answer(page)).to_contain_text("80 %")
    async with (
        answer_kept(page),
        page.expect_response(lambda answered: answered.request.method == "DELETE") as stopping,
    ):
        await page.get_by_role("button", name="Stop").click()
    assert (await stopping.value).status == 204
    await openai.settled()
    await page.reload()
    await expect(answer(page)).to_contain_text("80 %")
    await expect(answer(page)).to_contain_text("You stopped this answer.")


@pytest.mark.nightly
@pytest.mark.parametrize("expected_errors", [["Failed to load resource"]])
@pytest.mark.parametrize("now", [WORDS, ("Other words.",)], ids=["same", "other"])
async def test_an_answer_that_a_killed_app_has_cut_off_goes_on_by_itself_once_the_app_is_back(
    new_page: Page, tmp_path: Path, openai: OpenAIStandIn, now: tuple[str, ...]
) -> None:
    page = new_page
    await write_index(tmp_path, PASSAGES)
    env = openai.settings | NO_VECTORS | {"DATA_DIR": str(tmp_path)}
    store = FolderObjects(tmp_path / "batches")
    first = RunningHost(REPOSITORY, env, ("--port", "0"))

    async def is_kept() -> bool:
        pieces = [await store.read(name) async for name in store.names() if "/journal/" in name]
        return any(piece and WORDS[9].strip().encode() in piece.data for piece in pieces)

    try:
        await asyncio.to_thread(first.wait_for, "Switchboard is ready")
        openai.reply(*WORDS[:10], asyncio.Event())
        async with page.expect_response("**/chat-history/*"):  # the question is kept
            await ask(page, first, QUESTION)
        await expect(answer(page)).to_contain_text(WORDS[9].strip())
        await until(is_kept)
        other = await page.context.new_page()
        await other.goto(page.url)
        await expect(answer(other)).to_contain_text(WORDS[9].strip())
    finally:
        first.process.kill()
        await asyncio.to_thread(first.wait)
    for each in (page, other):
        await expect(answer(each)).to_contain_text("The connection is lost. Trying again")
        await expect(answer(each)).to_contain_text(WORDS[9].strip())
    await age(store)
    openai.reply(*now)
    async with host_beside(env=env) as second:
        await page.context.route(
            f"{first.url}/**", lambda route: route.continue_(url=route.request.url.replace(first.url, second.url))
        )
        for each in (page, other):
            await ended(each)
            await expect(answer(each).locator(".answer")).to_have_text("".join(now).strip())
        await page.goto(page.url.replace(first.url, second.url))
        await expect(answer(page).locator(".answer")).to_have_text("".join(now).strip())
        await other.close()
        await page.goto("about:blank")  # before the app ends, which the page would notice


async def test_the_model_writes_the_title_after_the_first_answer_and_without_it_the_question_stays(
    browser: Browser, app: RunningHost, openai: OpenAIStandIn
) -> None:
    async with window(browser, ["status of 400"], script="") as page:
        with openai.to("### Task:"):
            openai.reply('"Implants in the Standard plan."\n\nIt says so.')
        await asked(page, app, openai, "What about implants?", title="Implants in the Standard plan")
        await expect(chats(page).get_by_role("link", name="Implants in the Standard plan", exact=True)).to_be_visible()
        openai.reply("Later.")
        await ask_on(page, "When?")
        await ended(page)
        task = "Question: What about implants?\\n\\nAnswer: 80 %."
        assert sum(task in str(chat.body) for chat in openai.chats) == 1, "a title is written once"
        with openai.to("### Task:"):
            openai.fail(400)
        async with page.expect_response("**/v1/chat/completions"):
            await asked(page, app, openai, "What about glasses?")
        await expect(chats(page).get_by_role("link", name="What about glasses?", exact=True)).to_be_visible()
