"""What the playground says when something fails: a sentence, a way to go on, and nothing that was typed is lost."""

from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.app.conftest import hosted
from tests.app.guarded import BAD, guarded
from tests.app.identity.conftest import REPORT, taking
from tests.app.playground.asking import answer, ask, ask_on, box, ended, turn
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser and the stand-in; the first test may have to install the browser."""


def problem(page: Page) -> Locator:
    return answer(page).get_by_role("alert")


async def try_again(page: Page) -> None:
    await problem(page).get_by_role("button", name="Try again").click()


async def test_a_model_that_is_down_is_a_sentence_beside_a_retry(
    shared_page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    page = shared_page
    openai.fail(401)
    await ask(page, app)
    await expect(problem(page)).to_contain_text("The model's service")
    await expect(problem(page).get_by_text("invocation")).to_be_hidden()
    await problem(page).get_by_text("Details").click()
    await expect(problem(page).get_by_text("invocation")).to_be_visible()
    await expect(turn(page)).to_contain_text(QUESTION)
    openai.reply("80 %.")
    await try_again(page)
    await expect(answer(page)).to_contain_text("80 %.")
    await expect(problem(page)).to_have_count(0)
    await expect(page.get_by_role("article")).to_have_count(1)


async def test_a_refused_question_can_be_edited_and_is_not_sent_again(
    page: Page, openai: OpenAIStandIn, data_dir: Path, expected_errors: list[str]
) -> None:
    expected_errors.append("status of 400")
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard:
        await ask(page, under_guard.host, f"A {BAD}?")
        await expect(problem(page)).to_contain_text("You can edit the question.")
        await openai.caught_up()  # the refused turn may have asked the model
        openai.reply("It is fine.")
        await ask_on(page, "Hello?")
        await expect(answer(page)).to_contain_text("It is fine.")
        assert BAD not in str(openai.chats[-1].body)
        await page.goto("about:blank")  # before the app ends, which the page would notice


async def test_a_filter_amid_the_text_keeps_what_came(
    shared_page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    page = shared_page
    openai.reply("Half of it", finish_reason="content_filter")
    await ask(page, app)
    await expect(problem(page)).to_contain_text("The content filter")
    await expect(answer(page)).to_contain_text("Half of it")


async def test_a_busy_model_is_asked_again_after_the_time_that_it_says(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.fail(429, headers={"Retry-After": "5"})
    await page.clock.install()
    await ask(page, app)
    again = problem(page).get_by_role("button", name="Try again")
    await expect(again).to_be_disabled()
    await expect(problem(page)).to_contain_text("Wait")
    await page.clock.run_for(6_000)
    await expect(again).to_be_enabled()
    await page.clock.resume()
    openai.reply("80 %.")
    await again.click()
    await expect(answer(page)).to_contain_text("80 %.")


async def test_a_stream_that_is_cut_off_keeps_its_text_beside_a_retry(
    shared_page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    page = shared_page
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half of it"}}]}\n\n', cut=True)
    await ask(page, app)
    await expect(problem(page)).to_be_visible()
    await expect(answer(page)).to_contain_text("Half of it")
    openai.reply("The whole.")
    await try_again(page)
    await expect(answer(page)).to_contain_text("The whole.")


CUT_OFF = """data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}

data: {"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}

data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Half of it"}

data: {"type":"TEXT_MESSAGE_CONT"""


async def test_a_connection_that_ends_amid_the_answer_leaves_the_text_and_a_sentence(
    page: Page, app: RunningHost, expected_errors: list[str]
) -> None:
    expected_errors += ["net::ERR_", "404"]  # the app, which never got the question, is asked how it goes on
    await page.route("**/ag-ui", lambda route: route.fulfill(content_type="text/event-stream", body=CUT_OFF))
    await ask(page, app)
    await expect(problem(page)).to_contain_text("The connection ended before the answer did.")
    await expect(answer(page)).to_contain_text("Half of it")
    await page.unroute_all()
    await page.route("**/ag-ui", lambda route: route.abort("connectionrefused"))
    await try_again(page)
    await expect(problem(page)).to_contain_text("The app did not answer.")
    await expect(turn(page)).to_contain_text(QUESTION)


async def test_a_reader_who_is_offline_is_told_so(
    page: Page, app: RunningHost, openai: OpenAIStandIn, expected_errors: list[str]
) -> None:
    expected_errors.append("net::ERR_INTERNET_DISCONNECTED")
    await page.goto(app.url)
    await expect(page.get_by_label("Your question")).to_be_editable()
    await page.wait_for_load_state("networkidle")  # until then the page loads parts of itself
    await page.context.set_offline(True)
    await ask_on(page, QUESTION)
    await expect(problem(page)).to_contain_text("You are offline.")
    await page.context.set_offline(False)
    openai.reply("80 %.")
    await try_again(page)
    await expect(answer(page)).to_contain_text("80 %.")


async def test_a_sign_in_that_has_expired_is_renewed_and_the_question_asked_again(
    page: Page, data_dir: Path, expected_errors: list[str]
) -> None:
    expected_errors.append("status of 401")
    async with hosted(data_dir, taking(REPORT)) as host:
        await page.goto(host.url)
        form = page.get_by_role("region", name="Sign in")
        await form.get_by_label("API key").fill(REPORT.made[0])
        await page.keyboard.press("Enter")
        await expect(form).to_be_hidden()
        refusal = {"error": {"code": "not_signed_in", "message": "Your sign-in has expired."}}
        await page.route("**/ag-ui", lambda route: route.fulfill(status=401, json=refusal))
        await ask_on(page, QUESTION)
        await expect(form).to_be_visible()
        await expect(problem(page)).to_contain_text("Your question is kept here.")
        await page.unroute_all()
        await form.get_by_label("API key").fill(REPORT.made[0])
        await expect(form.get_by_label("API key")).to_have_value(REPORT.made[0])
        await form.get_by_role("button", name="Use this key").click()
        await expect(form).to_be_hidden()
        await try_again(page)
        await ended(page)
        await expect(problem(page)).to_have_count(0)
        await page.goto("about:blank")  # before the app ends, which the page would notice


@pytest.mark.nightly
async def test_what_is_too_long_to_send_stays_typed_beside_the_limit(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    await page.goto(app.url)
    await page.evaluate("() => { window.pasted = 'word '.repeat(220_000); }")
    await box(page).focus()
    await page.evaluate("() => document.execCommand('insertText', false, window.pasted)")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("form", name="Ask").get_by_role("alert")).to_contain_text("a request takes 1,049 kB")
    assert len(await box(page).input_value()) == 1_100_000
    await expect(page.get_by_role("article")).to_have_count(0)
    openai.reply("80 %.")
    await box(page).fill(QUESTION)
    await page.keyboard.press("Enter")
    await expect(answer(page)).to_contain_text("80 %.")
