"""The tabs 'Sources' and 'Thoughts': what an answer is made from, the documents beside it, and how it came about."""

import json
import re
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from shared.chat_types import Passage
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.playground.asking import ended
from tests.app.playground.behind import ask, tab
from tests.app.playground.documents import pdf, write
from tests.local.running_host import RunningHost
from tests.playground.test_texts import table_of
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

DENTAL = "The Standard plan pays 80 percent of dental care."
MARKDOWN = (
    "# Glasses\n\nThe plan pays for **new glasses**:\n\n| plan | euros |\n|---|---|\n| Standard | 150 |\n\nNo more."
)
NOTICE_TABLE = "| who leaves | notice |\n|---|---|\n| after one year | 30 days |\n| after ten years | 90 days |"
NOTICE_TEXT = "Notice is a letter. It has to be signed by hand, or else it is void. An e-mail is no letter."
FILES = {
    "notice.md": f"# Notice\n\n{NOTICE_TABLE}\n\n{NOTICE_TEXT}".encode(),
    "plans/plan.pdf": pdf("The Basic plan pays nothing.", DENTAL, "The Plus plan pays for glasses and implants."),
    "glasses.md": MARKDOWN.encode(),
    "leave.html": b"<h1>Leave</h1><p>The plan grants <em>thirty days</em> of leave.</p><p>Ask early.</p>",
    "rates.csv": "plan;rate\nStandard plan;12 €\n".encode("cp1252"),
    "pension.docx": b"PK",
}
PASSAGES = [
    Passage("1", DENTAL, "plans/plan.pdf#page=2", "plans/plan.pdf"),
    Passage("2", MARKDOWN, "glasses.md", "glasses.md"),
    Passage("3", "The plan grants thirty days of leave.", "leave.html", "leave.html"),
    Passage("4", "Standard plan;12 €", "rates.csv", "rates.csv"),
    Passage("5", "The plan pays a pension from 67 on.", "pension.docx", "pension.docx"),
    Passage("7", NOTICE_TABLE, "notice.md", "notice.md"),
    Passage("8", NOTICE_TEXT, "notice.md", "notice.md"),
    Passage("6", "The plan has a page that is gone.", "gone.pdf#page=1", "gone.pdf"),
]
ANSWER = "It pays 80 percent of dental care. [plans/plan.pdf#page=2] There are glasses too [glasses.md][made-up.pdf]."


@pytest.fixture
def page(shared_page: Page) -> Page:
    """The window that the tests of this file share, if they do not name another."""
    return shared_page


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def library(tmp_path_factory: pytest.TempPathFactory, openai: OpenAIStandIn) -> AsyncGenerator[RunningHost]:
    folder = await write(tmp_path_factory.mktemp("library"), FILES, PASSAGES)
    async with hosted(folder, openai.settings | NO_VECTORS) as host:
        yield host


async def sources_of(page: Page, host: RunningHost, openai: OpenAIStandIn, text: str = ANSWER) -> Locator:
    """Ask, and open the sources of the answer."""
    openai.reply(text)
    await ask(page, host, "What does the Standard plan pay for dental care and glasses?")
    await ended(page)
    return await tab(page, "Sources")


async def opened(page: Page, host: RunningHost, openai: OpenAIStandIn, name: str, query: str) -> Locator:
    """The document of a source, opened from the list."""
    openai.reply("See there.")
    await ask(page, host, query)
    await ended(page)
    panel = await tab(page, "Sources")
    await panel.get_by_text("Found, not cited").click()
    await panel.get_by_role("button", name=name).first.click()
    return page.get_by_role("region", name="Document")


async def test_cited_sources_come_first_by_their_numbers_then_those_that_were_only_found(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    panel = await sources_of(page, library, openai)
    await expect(panel.get_by_role("heading", name="Cited", exact=True)).to_be_visible()
    cited = panel.get_by_role("list").filter(has=page.get_by_role("button", name="plans/plan.pdf")).first
    await expect(cited.get_by_role("button")).to_have_text(
        [re.compile(r"1\s*plans/plan.pdf, page 2"), re.compile("2.*glasses.md")]
    )
    await expect(cited.locator("strong").first).to_have_text(DENTAL)
    others = panel.get_by_role("button", name=re.compile("leave.html|rates.csv|pension.docx|gone.pdf|notice.md"))
    await expect(others.first).to_be_hidden()
    await panel.get_by_text("Also found, not cited").click()
    await expect(others.first).to_be_visible()
    note = panel.get_by_role("note")
    await expect(note).to_contain_text("Not verified")
    await expect(note.get_by_role("listitem")).to_have_text(["made-up.pdf"])


async def test_why_a_source_tells_its_rank_score_words_and_sentences(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    panel = await sources_of(page, library, openai)
    card = panel.get_by_role("listitem").filter(has=page.get_by_role("button", name="plans/plan.pdf")).first
    await card.get_by_text("Why this source").click()
    await expect(card.get_by_text(re.compile(r"\d of what was found"))).to_be_visible()
    await expect(card.get_by_role("term").filter(has_text="Score")).to_be_visible()
    words = card.locator("mark")
    await expect(words).to_have_text(["standard", "plan", "pay", "dental", "care"])
    await expect(card.get_by_text("It pays 80 percent of dental care.", exact=True)).to_be_visible()


async def test_a_citation_opens_the_page_of_the_pdf_with_the_passage_marked(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    await sources_of(page, library, openai)
    await page.get_by_role("button", name="Source 1: plans/plan.pdf#page=2").click()
    document = page.get_by_role("region", name="Document")
    await expect(document.get_by_role("textbox", name="Page")).to_have_value("2")
    marks = document.get_by_role("region", name="Page 2").locator("mark.passage")
    await expect(marks).to_have_text([DENTAL.rstrip(".")])
    drawn = await document.locator("canvas").evaluate(
        """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
            .data.some((value, index) => index % 4 < 3 && value < 128)"""
    )
    assert drawn, "the page is not empty"


async def test_two_passages_of_one_document_are_two_numbers_each_with_its_own_mark(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply(
        "It is 90 days after ten years [notice.md]. It is signed by hand [notice.md]. "
        "After one year it is 30 days [notice.md]."
    )
    await ask(page, library, "Who leaves after ten years: how many days is the notice, and is it a signed letter?")
    said = await ended(page)
    await expect(said.get_by_role("button", name="Source")).to_have_text(["1", "2", "1"])
    panel = await tab(page, "Sources")
    cards = panel.get_by_role("listitem").filter(has=page.get_by_role("button", name="notice.md"))
    marks = [
        "after ten years · 90 days",
        "after one year · 30 days",
        "It has to be signed by hand, or else it is void.",
    ]
    await expect(cards.locator("strong")).to_have_text(marks)
    await expect(cards.first).to_contain_text("who leaves · notice")
    await expect(cards.last).to_contain_text("Notice is a letter.")
    await page.reload()  # what is kept of the chat has the passages too
    document = page.get_by_role("region", name="Document")
    for at, row in (
        (0, "after ten years"),
        (1, "It has to be signed by hand, or else it is void"),
        (2, "after one year"),
    ):
        await said.get_by_role("button", name="Source").nth(at).click()
        await expect(document.locator("mark.cited").first).to_have_text(row)
        await expect(document.locator("mark.cited").first).not_to_have_css("color", "rgba(0, 0, 0, 0)")
        await expect(document.locator(":is(table, thead, tbody, tr) > mark")).to_have_count(0)
        other = "An e-mail is no letter" if at != 1 else "30 days"
        await expect(document.get_by_text(other)).to_be_visible()
        await expect(document.locator("mark.passage").filter(has_text=other)).to_have_count(0)


async def test_what_was_found_for_an_answer_that_cites_nothing_is_no_source_of_it(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    panel = await sources_of(page, library, openai, "I do not know.")
    await expect(panel.get_by_text("The answer cites none of what was found.")).to_be_visible()
    await expect(panel.get_by_role("button", name="plans/plan.pdf")).to_be_hidden()
    await expect(page.get_by_role("tab", name="Sources")).to_have_text("Sources")


@pytest.mark.nightly
async def test_pages_are_turned_and_words_are_found_on_others(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    document = await opened(page, library, openai, "plans/plan.pdf", "Standard dental care")
    await document.get_by_role("button", name="Next page").click()
    await expect(document.get_by_role("region", name="Page 3")).to_contain_text("Plus plan")
    await expect(document.get_by_role("button", name="Next page")).to_be_disabled()
    search = document.get_by_role("searchbox", name="Find in the document")
    await search.fill("Basic plan")
    await search.press("Enter")
    await expect(document.get_by_role("region", name="Page 1").locator("mark.found")).to_have_text(["Basic plan"])
    await search.fill("Zebrafish")
    await search.press("Enter")
    await expect(document.get_by_text("The document does not have these words.")).to_be_visible()


async def test_markdown_is_shown_as_it_is_meant_with_the_passage_marked(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    document = await opened(page, library, openai, "glasses.md", "new glasses euros")
    await expect(document.get_by_role("heading", name="Glasses", exact=True)).to_be_visible()
    await expect(document.get_by_role("cell", name="150").locator("mark")).to_be_visible()
    await document.get_by_role("button", name="All sources").click()
    await expect(page.get_by_role("tabpanel").get_by_role("button", name="glasses.md")).to_be_visible()


async def test_html_is_marked_where_the_passage_is_and_nowhere_else(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    document = await opened(page, library, openai, "leave.html", "thirty days of leave")
    await expect(document.get_by_role("heading", name="Leave", exact=True)).to_be_visible()
    marks = await document.locator("mark.passage").all_inner_texts()
    assert "".join(marks) == "The plan grants thirty days of leave"


@pytest.mark.nightly
async def test_a_text_in_another_encoding_is_shown_with_its_letters(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    document = await opened(page, library, openai, "rates.csv", "Standard plan rate 12")
    await expect(document.get_by_text("Standard plan;12 €")).to_be_visible()
    await expect(document.locator("mark.passage")).to_have_text("Standard plan;12")


async def test_of_an_office_document_the_passage_is_shown_and_the_file_can_be_saved(
    page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    document = await opened(page, library, openai, "pension.docx", "pension from 67")
    await expect(document.get_by_text("The plan pays a pension from 67 on.")).to_be_visible()
    async with page.expect_download() as saving:
        await document.get_by_role("button", name="Download").click()
    saved = await saving.value
    assert saved.suggested_filename == "pension.docx"
    assert (await saved.path()).read_bytes() == b"PK"


async def test_a_document_that_is_gone_is_told_and_its_passage_is_shown(
    page: Page, library: RunningHost, openai: OpenAIStandIn, expected_errors: list[str]
) -> None:
    expected_errors.append(re.escape("status of 404 (Not Found)"))
    document = await opened(page, library, openai, "gone.pdf", "page that is gone")
    await expect(document.get_by_role("alert")).to_contain_text("There is no such document")
    await expect(document.get_by_text("The plan has a page that is gone.")).to_be_visible()


async def test_thoughts_have_scores_and_the_prompt(new_page: Page, library: RunningHost, openai: OpenAIStandIn) -> None:
    page = new_page
    await sources_of(page, library, openai)
    panel = await tab(page, "Thoughts")
    first = panel.get_by_role("table").get_by_role("row").nth(1)
    await expect(first.get_by_role("cell")).to_have_text(
        ["1", re.compile(r"plan\.pdf#page=2|glasses"), re.compile(r"^\d+\.\d+$")]
    )
    prompt = panel.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Prompt"))
    await expect(prompt.get_by_text("square brackets").first).to_be_hidden()
    await prompt.get_by_text("system", exact=True).click()
    await expect(prompt.get_by_text("square brackets").first).to_be_visible()
    await page.add_init_script("Object.defineProperty(navigator, 'languages', { get: () => ['de'] })")
    await page.reload()
    german = table_of("workbench/de")
    await page.get_by_role("tab", name=german["thoughts.title"]["other"]).click()
    await expect(page.get_by_role("heading", name=german["thoughts.asked"]["other"])).to_be_visible()


@pytest.mark.nightly
async def test_a_thought_is_copied_as_json(page: Page, library: RunningHost, openai: OpenAIStandIn) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await sources_of(page, library, openai)
    panel = await tab(page, "Thoughts")
    await panel.get_by_role("button", name="Copy JSON of 'Results'").click()
    await expect(panel.get_by_text("Copied")).to_be_visible()
    copied = json.loads(await page.evaluate("navigator.clipboard.readText()"))
    assert copied["title"] == "Results"
    assert {"plans/plan.pdf#page=2", "glasses.md"} <= {found["sourcepage"] for found in copied["description"]}


@pytest.mark.nightly
async def test_on_a_phone_the_document_is_in_a_drawer(
    narrow_page: Page, library: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply(ANSWER)
    await ask(narrow_page, library, "What does the Standard plan pay for dental care and glasses?")
    await ended(narrow_page)
    await narrow_page.get_by_role("button", name="Source 1: plans/plan.pdf#page=2").click()
    marked = narrow_page.get_by_role("region", name="Page 2").locator("mark.passage")
    await expect(marked).to_be_visible()
    assert await narrow_page.evaluate("document.documentElement.scrollWidth") <= 390
