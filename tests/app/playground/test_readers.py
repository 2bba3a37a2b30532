"""The page for readers, `PLAYGROUND=chat`, in every language: the organisation's words, none of the workbench's."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from shared.errors import NotConfigured
from shared.playground.page_file import read_page
from tests.app.conftest import hosted
from tests.app.playground.asking import answer, ask, ask_on, box, ended, open_new
from tests.app.playground.conftest import NARROW, ORGANISATION, PATIENCE, WIDE, WITHOUT_TITLES, watch, window
from tests.app.playground.test_accessibility import RUN
from tests.app.test_answers import QUESTION
from tests.browser import axe
from tests.local.running_host import RunningHost
from tests.playground.test_texts import TABLES, table_of
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

STARTER = "What does the Standard plan pay?"
ANSWER = "It pays **80 %** [plan.pdf#page=3]. Implants come later [dental.md]."
READ = "element => element.querySelector(':scope > :not([aria-hidden])').textContent"
"""What a screen reader reads that goes through the text of an element, and not by its name alone."""
BY_DAY = ("ar", "de", "ja")
"""Written from the right, the longest, and without spaces; other tests have English, and test_texts.py all."""
LANGUAGES = [
    table if table in BY_DAY else pytest.param(table, marks=pytest.mark.nightly) for table in TABLES if "/" not in table
]
OF_THE_WORKBENCH = re.compile(
    r"\b(wire|overrides?|thoughts|compare|retrieval|embeddings?|docs/|make |[A-Z]+_[A-Z_]+|top_p|yaml)\b", re.IGNORECASE
)


async def spoken_in(browser: Browser, language: str) -> Page:
    context = await browser.new_context(locale=language, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    await context.add_init_script(WITHOUT_TITLES)
    return await context.new_page()


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_reader_meets_none_of_the_workbenchs_words_and_all_in_their_language(
    browser: Browser, readers: RunningHost, openai: OpenAIStandIn, language: str
) -> None:
    page = await spoken_in(browser, language)
    faults = watch(page.context)
    await page.goto(readers.url)
    await expect(page.get_by_label(table_of(language)["composer.question"]["other"], exact=True)).to_be_focused()
    root = page.locator("html")
    await expect(root).to_have_attribute("lang", language)
    await expect(root).to_have_attribute("dir", "rtl" if language == "ar" else "ltr")
    await expect(page.locator("#question")).to_have_css("direction", "rtl" if language == "ar" else "ltr")
    await expect(page.get_by_role("tab")).to_have_count(0)
    await expect(page.locator(".panel")).to_have_count(0)  # the first screen is the question
    openai.reply(ANSWER)
    await page.locator("#question").fill(QUESTION)
    await page.keyboard.press("Enter")
    await expect(page.locator(".reply")).to_have_attribute("aria-busy", "false")
    await page.locator(".cite").first.click()
    await expect(page.locator(".viewer h2")).to_be_focused()
    for place in ("#/", "#/documents", "#/settings"):
        await page.goto(f"{readers.url}/{place}")
        await expect(page.get_by_role("heading", level=1)).to_have_count(1)
        text = await page.locator("body").inner_text()
        assert not OF_THE_WORKBENCH.search(text), (place, text)
        assert not re.search(r"\b[a-z]+\.[a-z]+[A-Z]\w*\b", text), "a key without its text"
    assert not [fault for fault in faults if "net::" not in fault and "404" not in fault]
    await page.context.close()


@pytest.mark.parametrize("language", ["de", "ja", "ar"])
async def test_what_went_wrong_is_told_in_the_readers_language_and_the_apps_sentence_is_folded_away(
    browser: Browser, readers: RunningHost, openai: OpenAIStandIn, language: str
) -> None:
    page = await spoken_in(browser, language)
    await page.goto(readers.url)
    openai.fail(401)
    await page.locator("#question").fill(QUESTION)
    await page.keyboard.press("Enter")
    told = page.locator(".reply").get_by_role("alert")
    await expect(told).to_contain_text(table_of(language)["error.unavailable"]["other"])
    await expect(told.get_by_text("invocation")).to_be_hidden()
    await told.locator("summary").click()
    await expect(told.get_by_text("invocation")).to_be_visible()
    await page.context.close()


async def test_the_organisation_speaks_on_its_page(
    shared_page: Page, readers: RunningHost, openai: OpenAIStandIn
) -> None:
    page = shared_page
    await open_new(page, readers)
    await expect(page).to_have_title("Contoso Answers")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome to Contoso")
    await expect(page.get_by_role("link", name="Help")).to_have_attribute(
        "href", "https://intranet.contoso.example/help"
    )
    await expect(page.get_by_role("link", name="contoso.example/legal", exact=True)).to_be_visible()
    await expect(page.get_by_role("link", name="ask@contoso.example")).to_have_attribute(
        "href", "mailto:ask@contoso.example"
    )
    colour = await page.locator(":root").evaluate("root => getComputedStyle(root).getPropertyValue('--brand')")
    assert colour == "rgb(11 107 88)"
    openai.reply(ANSWER)
    await page.get_by_role("button", name=STARTER, exact=True).click()
    await ended(page)
    await expect(page).to_have_title(re.compile("What does the Standard plan pay.* – Contoso Answers"))


WRONG = [
    ("nam: x", "line 1: `nam`"),
    ("name: {}", "line 1: `name`"),
    ("\ncolor: red", "line 2: `color`"),
    ("help_url: javascript:alert(1)", "`help_url`"),
    ("logo: none.png", "`logo` should be an image"),
    ("starters: [a, b, c, d, e, f, g]", "`starters`"),
    ("- x", "should be a mapping"),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=[text.strip() for text, _ in WRONG])
async def test_a_wrong_file_is_a_sentence_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "page.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(NotConfigured) as refused:
        read_page(file)
    assert says in refused.value.message
    assert refused.value.message.startswith("page.yaml")


async def test_a_logo_becomes_a_part_of_the_page(tmp_path: Path) -> None:
    file = tmp_path / "page.yaml"
    (tmp_path / "logo.svg").write_text("<svg/>")
    file.write_text(f"{ORGANISATION}\nlogo: logo.svg\n", encoding="utf-8")
    assert read_page(file).logo == "data:image/svg+xml;base64,PHN2Zy8+"


async def test_a_wrong_file_is_told_and_the_page_is_there(
    page: Page, tmp_path: Path, expected_errors: list[str]
) -> None:
    expected_errors.append("503")
    file = tmp_path / "page.yaml"
    file.write_text("colour: red", encoding="utf-8")
    async with hosted(tmp_path / "data", {"PAGE_FILE": str(file)}) as host:
        await ask(page, host)
        await expect(page.get_by_role("main")).to_contain_text("page.yaml, line 1")
        await page.goto("about:blank")


async def test_a_source_takes_the_focus_and_escape_goes_back_to_its_number(
    shared_page: Page, readers: RunningHost, openai: OpenAIStandIn, expected_errors: list[str]
) -> None:
    page = shared_page
    expected_errors += ["404", "net::ERR"]
    openai.reply(ANSWER)
    await ask(page, readers, QUESTION)
    said = await ended(page)
    number = said.get_by_role("button", name="Source 2: dental", exact=True)
    await expect(said.get_by_role("button", name="Source 1: plan, page 3", exact=True)).to_be_visible()
    await number.focus()
    await page.keyboard.press("Enter")
    heading = page.get_by_role("complementary", name="Sources").get_by_role("heading", name="Source 2, dental")
    await expect(heading).to_be_focused()
    assert await heading.evaluate(READ) == "Source 2, dental"
    await page.keyboard.press("Escape")
    await expect(number).to_be_focused()
    await expect(page.get_by_role("complementary", name="Sources")).to_have_count(0)
    await said.get_by_role("button", name="2 sources").click()
    await expect(page.get_by_role("heading", name="Sources", exact=True)).to_be_focused()
    await page.get_by_role("button", name="Close").click()
    await expect(said.get_by_role("button", name="2 sources")).to_be_focused()


async def test_on_a_phone_what_is_behind_a_drawer_cannot_be_reached(
    browser: Browser, readers: RunningHost, openai: OpenAIStandIn
) -> None:
    async with window(browser, ["404"], NARROW) as page:
        openai.reply(ANSWER)
        await ask(page, readers, QUESTION)
        said = await ended(page)
        await said.get_by_role("button", name="Source 1").click()
        await expect(page.locator(".viewer h2")).to_be_focused()
        assert await page.locator("main").evaluate("main => main.inert")
        await page.keyboard.press("Escape")
        await expect(said.get_by_role("button", name="Source 1")).to_be_focused()
        await page.get_by_role("button", name="Conversations").click()
        await expect(page.get_by_role("button", name="New chat")).to_be_focused()
        assert await page.locator("main").evaluate("main => main.inert")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Conversations")).to_be_focused()
        await page.set_viewport_size({"width": 320, "height": 568})
        assert await page.evaluate("document.documentElement.scrollWidth") == 320


async def test_single_keys_are_no_shortcuts_once_they_are_switched_off(page: Page, readers: RunningHost) -> None:
    await page.goto(f"{readers.url}/#/settings")
    await page.get_by_label("Single keys are shortcuts").uncheck()
    await page.goto(f"{readers.url}/#/")
    await page.reload()
    await page.get_by_role("region", name="Conversation").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.keyboard.press("/")
    await expect(box(page)).not_to_be_focused()


async def test_on_paper_are_the_whole_chat_and_its_sources_alone(
    page: Page, readers: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply("\n\n".join(f"Line {number}." for number in range(80)) + " [plan.pdf#page=3]")
    await ask(page, readers, QUESTION)
    await ended(page)
    await answer(page).locator(".cite").focus()
    await page.keyboard.press("Shift")  # the focus is seen from here on
    await page.emulate_media(media="print")
    await expect(answer(page).locator(".cite")).to_have_css("outline-style", "none")
    for hidden in (page.locator(".side"), box(page), answer(page).get_by_role("button", name="Copy answer")):
        await expect(hidden).to_be_hidden()
    await expect(answer(page).locator(".on-paper li")).to_have_text(["plan, page 3"])
    asked = await page.get_by_role("heading", level=2, name=QUESTION).bounding_box()
    assert asked
    assert asked["x"] < 20, "a question begins where a line begins"
    last = await answer(page).get_by_text("Line 79.").bounding_box()
    assert last
    height = await page.evaluate("document.documentElement.scrollHeight")
    assert 900 < last["y"] < height, "all of it is on the paper, not only what the window shows"


async def test_an_answer_is_copied_formatted_and_as_a_text_with_numbers_and_sources(
    shared_page: Page, readers: RunningHost, openai: OpenAIStandIn
) -> None:
    page = shared_page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    openai.reply(f"{ANSWER}\n\n|a|b|\n|-|-|\n|1|2|")
    await ask(page, readers, QUESTION)
    said = await ended(page)
    await expect(said.get_by_role("table")).to_be_visible()  # what draws it is loaded with the first answer
    await said.get_by_role("button", name="Copy answer").click()
    await expect(said.get_by_role("button", name="Copied")).to_be_visible()
    plain, formatted = await page.evaluate(
        """async () => {
          const [item] = await navigator.clipboard.read();
          return Promise.all(["text/plain", "text/html"].map(async (type) => (await item.getType(type)).text()));
        }"""
    )
    assert "It pays **80 %** [1]. Implants come later [2]." in plain
    assert plain.endswith("Sources:\n[1] plan, page 3\n[2] dental\n")
    assert "<strong>80 %</strong>" in formatted
    assert "[1]" in formatted
    assert "<table" in formatted
    assert "<li>dental</li>" in formatted
    assert "button" not in formatted
    assert "plan.pdf" not in formatted


async def test_axe_finds_nothing_at_all(page: Page, readers: RunningHost, openai: OpenAIStandIn) -> None:
    script = axe()
    openai.reply(f"## Dental\n\n{ANSWER}\n\n### More\n\n|a|b|\n|-|-|\n|1|2|")
    await page.goto(readers.url)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await page.evaluate(script)
    assert await page.evaluate(RUN) == []
    await ask_on(page, QUESTION)
    said = await ended(page)
    assert await page.evaluate(RUN) == []
    for width, is_forced in ((1280, True), (640, False), (320, False)):  # 640 is 200 % of 1280
        await page.emulate_media(forced_colors="active" if is_forced else "none")
        await page.set_viewport_size({"width": width, "height": 568})
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        assert await page.evaluate(RUN) == [], (width, is_forced)
    await page.set_viewport_size(WIDE)
    await said.get_by_role("button", name="2 sources").click()
    await expect(page.get_by_role("heading", name="Cited")).to_be_visible()
    assert await page.evaluate(RUN) == []
    for place in ("documents", "settings"):
        await page.goto(f"{readers.url}/#/{place}")
        await expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_visible()
        assert await page.evaluate(RUN) == [], place
