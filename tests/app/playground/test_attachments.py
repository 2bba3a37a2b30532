"""Files beside a question in the playground: chosen, dropped and pasted."""

import json

import pytest
from playwright.async_api import FilePayload, Locator, Page, expect

from tests.app.openai_sdk import PIXEL
from tests.app.playground.asking import answer, ask_on, ended, open_new, turn
from tests.kinds import one_in
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser and the stand-in; the first test may have to install the browser."""

NOTES = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"The dentist is in Kiel.")
DROP = """(box, [kind, name, content]) => {
  const bytes = Uint8Array.from(atob(content), sign => sign.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], name, { type: "image/png" }));
  const options = { bubbles: true, cancelable: true, dataTransfer: data, clipboardData: data };
  const event = kind === "paste" ? new ClipboardEvent(kind, options) : new DragEvent(kind, options);
  box.dispatchEvent(event);
}"""
NOISE = """async () => {
  const canvas = new OffscreenCanvas(1700, 900);
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(1700, 900);
  for (let at = 0; at < image.data.length; at += 4) {
    image.data[at] = (at * 7919) % 251;
    image.data[at + 3] = 255;
  }
  pen.putImageData(image, 0, 0);
  const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
  const text = Array.from(bytes, byte => String.fromCharCode(byte)).join("");
  return btoa(text.padEnd(800_000, "\\0")); // a PNG may have anything after its end
}"""


@pytest.fixture
def page(shared_page: Page) -> Page:
    """The window that the tests of this file share, if they do not name another."""
    return shared_page


def attached(page: Page) -> Locator:
    return page.get_by_role("form", name="Ask").get_by_role("list", name="Attached files")


async def test_a_chosen_file_goes_to_the_model_with_the_questions_after_it(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    await open_new(page, app)
    async with page.expect_file_chooser() as choosing:
        await page.get_by_role("button", name="Attach files").click()
    await (await choosing.value).set_files([NOTES])
    await expect(attached(page)).to_contain_text("notes.txt")
    await expect(page.locator("[aria-live=polite]", has=page.get_by_role("list", name="Attached files"))).to_have_count(
        1
    )  # a screen reader tells it
    openai.reply("In Kiel [notes.txt].")
    await ask_on(page, "Where is the dentist?")
    await ended(page)
    assert "The dentist is in Kiel." in str(openai.chats[-1].body)
    await expect(turn(page).get_by_role("list", name="Attached files")).to_contain_text("notes.txt")
    await expect(attached(page)).to_have_count(0)
    await expect(answer(page)).not_to_contain_text("unverified")
    await page.get_by_role("button", name="Source 1: notes.txt").click()
    viewer = page.get_by_role("region", name="Document")
    await expect(viewer).to_contain_text("The dentist is in Kiel.")
    await expect(viewer).to_contain_text("It is attached to the conversation.")
    openai.call_tool("search_sources", {"search_queries": ["opening hours"]})
    openai.reply("At nine, in Kiel [notes.txt].")
    await ask_on(page, "When does it open?")
    await expect(answer(page)).to_contain_text("At nine, in Kiel")
    await expect(page.get_by_role("button", name="Source 1: notes.txt")).to_have_count(2)
    assert "The dentist is in Kiel." in str(openai.chats[-1].body)


@pytest.mark.parametrize("how", one_in(2, ["drop", "paste"]))
async def test_an_image_is_dropped_or_pasted(page: Page, app: RunningHost, openai: OpenAIStandIn, how: str) -> None:
    await open_new(page, app)
    await page.locator("#question").evaluate(DROP, [how, "dot.png", PIXEL])
    await expect(attached(page)).to_contain_text("dot.png")
    openai.reply("A dot.")
    await ask_on(page, "What is this?")
    await ended(page)
    assert PIXEL in json.dumps(openai.chats[-1].body["messages"])


async def test_a_large_image_is_made_smaller(page: Page, app: RunningHost, openai: OpenAIStandIn) -> None:
    await open_new(page, app)
    noise: str = await page.evaluate(NOISE)
    await page.locator("#question").evaluate(DROP, ["drop", "large.png", noise])
    await expect(attached(page)).to_contain_text("large.png")
    openai.reply("Noise.")
    await ask_on(page, "What is this?")
    await ended(page)
    sent = json.dumps(openai.chats[-1].body["messages"])
    assert (sent.count("data:image/jpeg;base64,"), len(sent) < 1_048_576) == (1, True)


async def test_what_cannot_be_sent_is_refused_in_a_sentence(new_page: Page, app: RunningHost) -> None:
    page = new_page
    await page.goto(app.url)
    alert = page.get_by_role("form", name="Ask").get_by_role("alert")
    files = page.get_by_label("Files", exact=True)
    await files.set_input_files([NOTES, FilePayload(name="film.mp4", mimeType="video/mp4", buffer=bytes(5_100_000))])
    await expect(alert).to_contain_text("film.mp4 was not attached")
    await expect(alert).to_contain_text("5,000 kB together")
    await expect(attached(page).get_by_role("listitem")).to_have_count(1)
    await files.set_input_files([NOTES] * 10)
    await expect(alert).to_contain_text("at most 10 files")
    await expect(attached(page).get_by_role("listitem")).to_have_count(10)
    await files.set_input_files([FilePayload(name="empty.txt", mimeType="text/plain", buffer=b"")])
    await attached(page).get_by_role("button", name="Remove notes.txt").first.click()
    await expect(attached(page).get_by_role("listitem")).to_have_count(9)


async def test_a_file_that_the_app_cannot_read_is_said_so(
    page: Page, app: RunningHost, expected_errors: list[str]
) -> None:
    expected_errors.append("status of 4")
    await open_new(page, app)
    broken = FilePayload(name="broken.pdf", mimeType="application/pdf", buffer=b"no PDF")
    await page.get_by_label("Files", exact=True).set_input_files([broken])
    await ask_on(page, "What is this?")
    await expect(answer(page).get_by_role("alert")).to_contain_text("broken.pdf")
