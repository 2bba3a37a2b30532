"""The playground's chat: what a person reads, and does with it."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from tests.app.playground.asking import answer, ask, ask_on, box, ended, open_new, turn
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser and the stand-in; the first test may have to install the browser."""

MARKDOWN = """## Dental care

The **Standard** plan pays 80 % [plan.pdf#page=3], implants later [dental.md]. Again: [plan.pdf#page=3].

| plan | pays |
|---|---|
| Standard | 80 % |

```python
paid = cost * 0.8
```
"""
IMPORT = "path => import(document.querySelector('script[src]').src.replace('app.js', path))"


@pytest.fixture
def page(shared_page: Page) -> Page:
    """The window that the tests of this file share, if they do not name another."""
    return shared_page


async def test_an_answer_is_busy_until_its_text_is_drawn(new_page: Page, built_in: RunningHost) -> None:
    page = new_page
    is_loaded = asyncio.Event()

    async def wait(route: Route) -> None:
        await is_loaded.wait()
        await route.continue_()

    await page.route("**/chat/answer.js", wait)
    said = await ask(page, built_in, "hi")  # which is answered at once, without a search
    await expect(said.get_by_role("button", name="Copy answer")).to_be_visible()
    await expect(said).to_have_attribute("aria-busy", "true")
    is_loaded.set()
    await expect(said).to_have_attribute("aria-busy", "false")
    await expect(said.locator(".answer")).not_to_be_empty()


async def test_an_answer_is_markdown_whose_sources_are_numbered(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply(*(MARKDOWN[start : start + 5] for start in range(0, len(MARKDOWN), 5)))
    said = await ask(page, app)
    await ended(page)
    await expect(said.get_by_role("heading", name="Dental care")).to_be_visible()
    await expect(said.locator("strong")).to_have_text("Standard")
    await expect(said.get_by_role("cell")).to_have_text(["Standard", "80 %"])
    await expect(said.get_by_role("button", name="Source")).to_have_text(["1", "2", "1"])
    await expect(said.get_by_role("button", name="Source 2: dental.md", exact=True)).to_be_visible()
    await expect(said.locator("code .hljs-number")).to_have_text("0.8")


async def test_a_name_that_is_no_source_is_marked(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("It is so [nowhere.pdf], as [1] says [sic].")
    said = await ask(page, app)
    await expect(said).to_contain_text("It is so [nowhere.pdf] unverified, as [1] says [sic].")
    await expect(said.get_by_role("button", name="Source")).to_have_count(0)


HOSTILE = (
    '<img src="https://elsewhere.example/x.png" onerror="alert(1)"><script>alert(2)</script> '
    "[a](javascript:alert(3)) [b](data:text/html,x) ![c](https://elsewhere.example/y.png) <b>d</b>"
)
AS_TEXT = (
    '< img src="https[:]//elsewhere[.]example/x[.]png" onerror="alert(1)">< script>alert(2)</script> '
    "[a] (javascript[:]alert 3)) [b] (data[:]text/html,x) ! [c] (https[:]//elsewhere[.]example/y[.]png) <b>d</b>"
)


async def test_what_the_model_thinks_is_folded_away_above_the_answer_and_is_text(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply(openai.chunk({"reasoning_content": f"80 or 100? {HOSTILE}"}), "80 %.")
    said = await ask(page, app)
    await ended(page)
    thought = page.locator(".reasoning p")
    await expect(thought).to_be_hidden()
    await page.get_by_text("Reasoning", exact=True).first.click()
    await expect(thought).to_have_text(f"80 or 100? {AS_TEXT}")
    await expect(said.locator(".answer")).to_have_text("80 %.")


async def test_what_is_dangerous_in_an_answer_is_text(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply(f"So: {HOSTILE}\n\n```js\n</code><img src=x onerror=alert(4)>\n```\n")
    said = await ask(page, app)
    await ended(page)
    await expect(said).to_contain_text(f"So: {AS_TEXT}")
    assert await said.locator("img, script, b, [onerror]").count() == 0
    assert await said.get_by_role("link").count() == 0


async def test_stop_keeps_what_came_and_ends_the_models_work(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    before = len(openai.requests)
    openai.reply("Half of it", asyncio.Event())
    said = await ask(page, app)
    await expect(said).to_contain_text("Half of it")
    await page.get_by_role("button", name="Stop").click()
    await expect(said).to_contain_text("You stopped this answer.")
    await expect(said).to_contain_text("Half of it")
    asked = await openai.request_number(before + 1)
    async with asyncio.timeout(60):
        await asked.disconnected.wait()
    openai.reply("The whole.")
    await said.get_by_role("button", name="Try again").click()
    await expect(said).to_contain_text("The whole.")
    await expect(said).not_to_contain_text("Half of it")


async def test_an_edited_question_is_a_branch_and_the_other_one_stays(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply("80 %.")
    await ask(page, app)
    await ended(page)
    openai.call_tool("search_sources", {"search_queries": ["implants"]})
    openai.reply("After two years.")
    await ask_on(page, "And implants?")
    await ended(page)
    first = page.get_by_role("article").first
    openai.reply("Drei Monate.")
    await first.get_by_role("button", name="Edit").click()
    await first.get_by_label("Edited question").fill("Wie lang ist die Kündigungsfrist?")
    await page.keyboard.press("Enter")
    await expect(answer(page)).to_contain_text("Drei Monate.")
    await expect(page.get_by_role("article")).to_have_count(1)
    await expect(turn(page).get_by_role("group", name="Branches")).to_contain_text("2/2")
    sent = str(openai.chats[-1].body["messages"])
    assert "Kündigungsfrist" in sent
    assert "And implants?" not in sent
    await turn(page).get_by_role("button", name="Previous branch").click()
    await expect(page.get_by_role("article")).to_have_count(2)
    await expect(answer(page)).to_contain_text("After two years.")


async def test_try_again_on_a_whole_answer_adds_another(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("One answer.")
    await ask(page, app)
    await ended(page)
    openai.reply("Another answer.")
    await turn(page).get_by_role("button", name="Try again").click()
    await expect(answer(page)).to_contain_text("Another answer.")
    await turn(page).get_by_role("button", name="Previous branch").click()
    await expect(answer(page)).to_contain_text("One answer.")


async def test_an_answer_and_its_code_are_copied(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    openai.reply(MARKDOWN)
    said = await ask(page, app)
    await ended(page)
    await said.get_by_role("button", name="Copy", exact=True).click()
    await expect(said.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("() => navigator.clipboard.readText()") == "paid = cost * 0.8\n"
    await said.get_by_role("button", name="Copy answer").click()
    # Both buttons say "Copied" for a while.
    await page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('## Dental')")
    copied: str = await page.evaluate("() => navigator.clipboard.readText()")
    numbered = MARKDOWN.replace("[plan.pdf#page=3]", "[1]").replace("[dental.md]", "[2]")
    assert copied == f"{numbered.strip()}\n\nSources:\n[1] plan.pdf, page 3\n[2] dental.md\n"


async def test_a_followup_question_is_asked_with_one_click(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("80 %.\n<<What is paid for glasses?>>")
    await ask(page, app)
    openai.call_tool("search_sources", {"search_queries": ["glasses"]})
    openai.reply("Nothing is paid for glasses.")
    await page.get_by_role("button", name="What is paid for glasses?").click()
    await expect(answer(page)).to_contain_text("Nothing is paid for glasses.")
    await expect(page.get_by_role("article")).to_have_count(2)


async def test_enter_sends_and_shift_enter_begins_a_line(
    new_page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    page = new_page
    openai.reply("Yes.")
    await page.goto(app.url)
    await expect(box(page)).to_be_focused()
    low = await box(page).bounding_box()
    await page.keyboard.type("One")
    for line in ("two", "three"):
        await page.keyboard.press("Shift+Enter")
        await page.keyboard.type(line)
    high = await box(page).bounding_box()
    assert low
    assert high
    assert high["height"] > low["height"]
    await page.keyboard.press("Enter")
    await expect(turn(page)).to_contain_text("One\ntwo\nthree", use_inner_text=True)
    await expect(box(page)).to_have_value("")
    await expect(answer(page)).to_contain_text("Yes.")


async def test_the_page_follows_the_text_unless_the_reader_has_scrolled_up(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    lines, more, rest = "\n\n".join(f"Line {number}." for number in range(60)), asyncio.Event(), asyncio.Event()
    openai.reply(lines, more, "\n\nLater one.", rest, "\n\nThe end.")
    await ask(page, app)
    await expect(answer(page).get_by_text("Line 59.")).to_be_in_viewport()
    more.set()
    await expect(answer(page).get_by_text("Later one.", exact=True)).to_be_in_viewport()
    await page.get_by_role("region", name="Conversation").evaluate("element => element.scrollTo(0, 0)")
    await expect(answer(page).get_by_text("Line 1.", exact=True)).to_be_in_viewport()
    rest.set()
    await ended(page)
    await expect(answer(page).get_by_text("The end.", exact=True)).not_to_be_in_viewport()
    await page.get_by_role("button", name="New text below").click()
    await expect(answer(page).get_by_text("The end.", exact=True)).to_be_in_viewport()
    await expect(page.get_by_role("button", name="New text below")).to_be_hidden()


async def test_the_team_answers_with_the_name_of_each(new_page: Page, team: RunningHost, openai: OpenAIStandIn) -> None:
    page = new_page
    with openai.to("You are Alpha"):
        openai.reply("Yes.")
    with openai.to("You are Beta"):
        openai.fail(400, code="content_filter")
    await page.goto(team.url)
    await page.get_by_role("radio", name="Team").press(" ")
    await ask_on(page, QUESTION)
    await ended(page)
    await expect(answer(page).get_by_role("group", name="Alpha")).to_contain_text("Yes.")
    await expect(answer(page).get_by_role("group", name="Beta")).to_contain_text("failed")


async def test_the_shortcuts_are_told_and_do_what_they_say(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("Half", asyncio.Event())
    await ask(page, app)
    await expect(answer(page)).to_contain_text("Half")
    await page.keyboard.press("Escape")
    await expect(answer(page)).to_contain_text("You stopped this answer.")
    await page.get_by_role("region", name="Conversation").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Stop the answer")
    await page.keyboard.press("Escape")
    await page.get_by_role("region", name="Conversation").focus()
    await page.keyboard.press("/")
    await expect(box(page)).to_be_focused()
    await page.keyboard.press("Alt+n")
    await expect(page.get_by_role("article")).to_have_count(0)


READ_AT_EACH_SPLIT = """async ([text, path]) => {
  const { readEvents } = await (IMPORT)(path);
  const bytes = new TextEncoder().encode(text);
  const seen = new Set();
  for (let first = 0; first <= bytes.length; first++) {
    for (const second of [first, Math.min(first + 1, bytes.length)]) {
      const pieces = [bytes.slice(0, first), bytes.slice(first, second), bytes.slice(second)];
      const body = new ReadableStream({
        start(stream) { pieces.forEach(piece => stream.enqueue(piece)); stream.close(); },
      });
      const read = [];
      for await (const events of readEvents(body)) read.push(...events.map(event => event.data));
      seen.add(JSON.stringify(read));
    }
  }
  return [...seen].map(one => JSON.parse(one));
}""".replace("IMPORT", IMPORT)


EVENTS = [
    ("data: ü€𝄞\n\ndata:b\n\n", ["ü€𝄞", "b"]),
    ("data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", ["a", "b", "c"]),
    (": keep-alive\n\nevent: x\ndata: 1\nid\ndata: 2\n\n:\n\n", ["1\n2"]),
    ("\ufeffdata:  \u2028 two\n\n", [" \u2028 two"]),
    ("data: whole\n\ndata: cut", ["whole"]),
]


async def test_events_are_read_wherever_the_network_cuts_them(page: Page, app: RunningHost) -> None:
    await open_new(page, app)
    for text, data in EVENTS:
        assert await page.evaluate(READ_AT_EACH_SPLIT, [text, "api/sse.js"]) == [data], text


RENDER_AS_IT_GROWS = """async ([text, path]) => {
  const { AnswerRenderer } = await (IMPORT)(path);
  const sources = ["plan.pdf#page=3", "dental.md"].map(id => ({ id, title: id, url: "", text: "" }));
  const html = (renderer, text, isWhole) => {
    return renderer.render(text, sources, isWhole).map(block => block.unsafe).join("");
  };
  const growing = new AnswerRenderer();
  for (let end = 0; end < text.length; end++) html(growing, text.slice(0, end), false);
  const open = html(growing, text, false);
  return [open, html(growing, text, true), html(new AnswerRenderer(), text, true)];
}""".replace("IMPORT", IMPORT)
GROWING = (
    MARKDOWN
    + "\r\n1. One\n2. Two\n\n   - in it\n\n3. Three\n\nHeading\n===\n\n> quoted\n> on\n\n    code\n\n- [x] done\n"
    + "\nEnd.\n"
)


async def test_a_growing_text_is_drawn_as_the_whole_one(page: Page, app: RunningHost) -> None:
    await open_new(page, app)
    drawn: list[Any] = await page.evaluate(RENDER_AS_IT_GROWS, [GROWING, "chat/markdown.js"])
    assert drawn[0] == drawn[1] == drawn[2]
    assert '<h3 dir="auto">Heading</h3>' in drawn[0]


async def test_beside_an_answer_to_a_question_in_another_language_than_the_documents_is_what_would_find_more(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply("No lo sé.")
    said = await ask(page, app, "¿Cuántos días de vacaciones tengo después de cinco años?")
    await ended(page)
    await expect(said.get_by_text("Search by meaning can find more")).to_contain_text("EMBEDDINGS=local")
    openai.reply("I don't know.")
    said = await ask(page, app)
    await ended(page)
    await expect(said).to_contain_text("I don't know.")
    await expect(said.get_by_text("Search by meaning")).to_have_count(0)


async def test_where_no_language_model_answers_the_page_says_so_and_how_to_connect_one(
    new_page: Page, built_in: RunningHost
) -> None:
    page = new_page
    await page.goto(f"{built_in.url}/")
    said = page.get_by_text("No language model answers")
    await expect(said).to_contain_text("To connect one,")
    await expect(said.locator("code").first).to_contain_text("OPENAI_")
