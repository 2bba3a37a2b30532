"""Signing in to the playground, in each `AUTH_MODE`."""

from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.app.conftest import hosted
from tests.app.identity.conftest import FLOWS, REPORT, Key, start_chat, taking
from tests.app.playground.asking import answer, ask, ask_on, box, choose, ended
from tests.app.playground.conftest import PATIENCE, WIDE, watch, window
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.certificates import server_side
from tests.stand_ins.easy_auth import IN_FRONT, principal
from tests.stand_ins.entra import EntraStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser and the stand-ins; the first test may have to install the browser."""

REFUSED = "the server responded with a status of 401"


ASK = """async () => {
  const { request } = await import(document.querySelector("script[src]").src.replace("app.js", "api/http.js"));
  await request("/v1/models").catch(() => {});
}"""
"""Ask for something as the page does."""


def form(page: Page) -> Locator:
    return page.get_by_role("region", name="Sign in")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def with_keys(data_dir: Path) -> AsyncGenerator[RunningHost]:
    async with hosted(data_dir, taking(REPORT, FLOWS)) as host:
        yield host


async def signed_in(page: Page, url: str, key: Key) -> None:
    """Open an address of the page with a key."""
    await page.goto(url)
    await form(page).get_by_label("API key").fill(key.made[0])
    await page.keyboard.press("Enter")
    await expect(form(page)).to_be_hidden()


async def test_nobody_signs_in_where_the_app_asks_for_nothing(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url)
    await expect(page.get_by_role("main")).to_be_visible()
    await expect(form(page)).to_be_hidden()
    await expect(page.get_by_role("button", name="Sign out")).to_be_hidden()


async def test_a_key_lets_in_until_it_is_forgotten(page: Page, with_keys: RunningHost) -> None:
    await page.goto(with_keys.url)
    await form(page).get_by_label("API key").fill(REPORT.made[0])
    await page.keyboard.press("Enter")
    await expect(form(page)).to_be_hidden()
    await ask_on(page, QUESTION)
    await ended(page)
    await expect(page.get_by_role("link", name=QUESTION).first).to_be_visible()  # else the question may not be kept yet
    await page.reload()
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    await expect(form(page)).to_be_hidden()
    await expect(page.get_by_role("link", name=QUESTION).first).to_be_visible()
    kept = await page.evaluate("() => [JSON.stringify(localStorage), document.cookie, JSON.stringify(sessionStorage)]")
    assert [REPORT.made[0] in text for text in kept] == [False, False, True]
    await page.get_by_role("button", name="Sign out").click()
    await expect(form(page)).to_be_visible()
    await expect(page.get_by_role("link", name=QUESTION)).to_have_count(0)
    await form(page).get_by_label("API key").fill(REPORT.made[0])
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("link", name=QUESTION).first).to_be_visible()


SLOW = """
  const { setTimeout } = window;
  window.setTimeout = (run, after = 0, ...values) => setTimeout(run, after + 1_000, ...values);
  window.setTimeout(() => (window.isLate = true), 500);
"""
"""A page that is busy: what it puts off until it has been drawn comes a second later."""


async def test_nothing_takes_the_focus_from_who_signs_in_at_once(page: Page, with_keys: RunningHost) -> None:
    await page.add_init_script(SLOW)
    await page.goto(with_keys.url)
    field = form(page).get_by_label("API key")
    await field.focus()
    await page.wait_for_function("() => window.isLate")
    await page.keyboard.type(REPORT.made[0])
    await expect(field).to_have_value(REPORT.made[0])


async def test_a_wrong_key_is_refused_in_a_sentence_and_stays_typed(
    page: Page, with_keys: RunningHost, expected_errors: list[str]
) -> None:
    expected_errors.append(REFUSED)
    await page.goto(with_keys.url)
    field = form(page).get_by_label("API key")
    await field.fill("sb-wrong")
    await form(page).get_by_role("button", name="Use this key").click()
    await expect(form(page).get_by_role("alert")).to_contain_text("not one of the app's keys")
    await expect(field).to_have_value("sb-wrong")
    await field.fill("schlüssel")
    await page.keyboard.press("Enter")
    await expect(form(page).get_by_role("alert")).to_contain_text("special letters")
    await field.fill(f"  Bearer {REPORT.made[0]} ")
    await page.keyboard.press("Enter")
    await expect(form(page)).to_be_hidden()


SAID = [
    {"id": "1", "role": "user", "content": "How long is the notice?"},
    {
        "id": "2",
        "role": "assistant",
        "content": "**Three months** [Kündigung.md], as in [mine/letter.md].",
        "context": {"data_points": {"text": [], "citations": ["Kündigung.md", "mine/letter.md"]}},
    },
]


async def test_a_shared_chat_is_read_with_another_key_and_with_none_until_it_is_shared_no_longer(
    browser: Browser, with_keys: RunningHost, http: aiohttp.ClientSession
) -> None:
    chat = f"{with_keys.url}/chat-history/{await start_chat(http, with_keys, FLOWS.bearer)}"
    async with http.put(chat, headers=FLOWS.bearer, json={"messages": SAID, "title": "My notice"}) as response:
        assert response.ok
    async with window(browser, []) as page, window(browser, ["404"]) as other:
        await signed_in(page, f"{with_keys.url}/", FLOWS)
        await choose(page, "My notice", "Share")
        asked = page.get_by_role("group", name="Share My notice")
        await expect(asked.get_by_role("button", name="Make the link")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(asked.get_by_label("Link", exact=True)).to_be_focused()
        link = await asked.get_by_label("Link", exact=True).input_value()

        await other.goto(link)
        await expect(form(other)).to_be_visible()
        await expect(other.get_by_role("heading", name="Shared chat")).to_be_visible()
        await expect(other.get_by_text("Three months")).to_have_count(0)
        await signed_in(other, link, REPORT)
        await expect(other.get_by_role("heading", name="How long is the notice?")).to_be_visible()
        await expect(other.get_by_role("paragraph").filter(has_text="How long is the notice?")).to_be_visible()
        said = other.get_by_role("group", name="Answer")
        await expect(said).to_contain_text("Three months")
        # Its owner's document is not called unverified.
        await expect(said.locator(".answer")).to_contain_text("as in [mine/letter.md].")
        async with other.expect_download() as saved:
            await said.get_by_role("button", name="Source 1: Kündigung.md").click()
        assert (await saved.value).suggested_filename == "Kündigung.md"

        await page.keyboard.press("Escape")
        await page.goto(f"{with_keys.url}/#/settings")
        mine = page.get_by_role("list", name="Chats that you share").get_by_role("listitem")
        await expect(mine).to_have_count(1)
        await expect(mine.get_by_role("link", name="My notice")).to_have_attribute("href", link)
        await page.goto(f"{with_keys.url}/#/")
        await choose(page, "My notice", "Share")
        await expect(asked).to_contain_text("This chat is shared.")
        await expect(asked.get_by_role("button", name="Bring the link up to date")).to_be_visible()
        await asked.get_by_role("button", name="Stop sharing").click()
        await expect(asked.get_by_role("status")).to_contain_text("is not shared")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Actions for My notice")).to_be_focused()
        await other.reload()
        await expect(other.get_by_role("alert")).to_contain_text("no such shared chat")
        await choose(page, "My notice", "Share")
        await asked.get_by_role("button", name="Make the link").click()
        await expect(asked.get_by_label("Link", exact=True)).to_be_focused()
        await page.goto(f"{with_keys.url}/#/settings")
        await mine.get_by_role("button", name="Stop sharing: My notice").click()
        await expect(mine).to_have_count(0)
        async with http.get(f"{with_keys.url}/chat-history?shared=true", headers=FLOWS.bearer) as response:
            assert await response.json() == []
        async with http.get(f"{chat}/share", headers=FLOWS.bearer) as response:
            assert response.status == 204


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def behind_easy_auth(data_dir: Path) -> AsyncGenerator[RunningHost]:
    async with hosted(data_dir, IN_FRONT) as host:
        yield host


async def test_behind_easy_auth_an_expired_session_is_renewed_in_a_second_tab(
    page: Page, behind_easy_auth: RunningHost, expected_errors: list[str]
) -> None:
    expected_errors.append(REFUSED)
    asked: list[str] = []

    async def sign_in(route: Route) -> None:
        """What the platform does: it sets a cookie, and its proxy then sends the user's headers."""
        asked.append(route.request.url)
        await page.context.set_extra_http_headers(principal())
        await route.fulfill(content_type="text/html", body="<title>Signed in</title>")

    await page.context.route("**/.auth/login/aad?*", sign_in)
    await page.goto(behind_easy_auth.url)
    await page.evaluate(ASK)
    await form(page).get_by_role("button", name="I have signed in").click()
    await expect(form(page).get_by_role("alert")).to_contain_text("not signed in yet")
    async with page.context.expect_page() as opened:
        await form(page).get_by_role("link", name="Sign in").click()
    tab = await opened.value
    await expect(tab).to_have_title("Signed in")
    assert parse_qs(urlsplit(asked[0]).query) == {"post_login_redirect_uri": ["/api/"]}
    await tab.close()
    await form(page).get_by_role("button", name="I have signed in").click()
    await expect(form(page)).to_be_hidden()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def trusted(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[tuple[EntraStandIn, Path]]:
    """The directory, by https; and the certificate that the app has to trust."""
    tls, trusted = server_side(tmp_path_factory.mktemp("tls"))
    async with EntraStandIn(tls) as entra:
        yield entra, trusted


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def with_tokens(trusted: tuple[EntraStandIn, Path], data_dir: Path) -> AsyncGenerator[RunningHost]:
    entra, certificate = trusted
    async with hosted(data_dir, entra.settings | {"SSL_CERT_FILE": str(certificate)}) as host:
        yield host


@pytest_asyncio.fixture(loop_scope="session")
async def trusting_page(browser: Browser, expected_errors: list[str]) -> AsyncGenerator[Page]:
    """A window that takes the directory's certificate."""
    context = await browser.new_context(viewport=WIDE, ignore_https_errors=True)
    context.set_default_timeout(PATIENCE)
    faults = watch(context)
    yield await context.new_page()
    await context.close()
    assert [fault for fault in faults if not any(text in fault for text in expected_errors)] == []


async def test_microsofts_library_signs_in_and_the_page_comes_back_to_its_place(
    trusting_page: Page, with_tokens: RunningHost
) -> None:
    page = trusting_page
    await page.goto(f"{with_tokens.url}/#/settings")
    await form(page).get_by_role("button", name="Sign in with Microsoft").click()
    await expect(page.get_by_role("button", name="Sign out")).to_have_attribute("title", "Ada Lovelace")
    await expect(form(page)).to_be_hidden()
    await expect(page).to_have_url(f"{with_tokens.url}/#/settings")
    await page.reload()
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await expect(form(page)).to_be_visible()


async def test_what_was_asked_before_the_sign_in_is_typed_again_after_it(
    trusting_page: Page, with_tokens: RunningHost
) -> None:
    page = trusting_page
    await ask(page, with_tokens)
    await expect(answer(page)).to_contain_text("Sign in first.")
    await form(page).get_by_role("button", name="Sign in with Microsoft").click()
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    await expect(box(page)).to_have_value(QUESTION)
    await page.keyboard.press("Enter")
    await expect(answer(page)).to_contain_text("80 % of dental care")


async def test_a_pasted_token_is_taken_and_one_that_has_expired_is_refused_in_a_sentence(
    page: Page, with_tokens: RunningHost, trusted: tuple[EntraStandIn, Path], expected_errors: list[str]
) -> None:
    expected_errors.append(REFUSED)
    entra, _ = trusted
    await page.goto(with_tokens.url)
    await form(page).get_by_text("Use an access token instead").click()
    field = form(page).get_by_label("Access token")
    await field.fill(entra.token(exp=1_000_000_000))
    await page.keyboard.press("Enter")
    await expect(form(page).get_by_role("alert")).to_contain_text("The token has expired")
    await field.fill(entra.token())
    await page.keyboard.press("Enter")
    await expect(form(page)).to_be_hidden()


async def test_the_page_may_connect_to_the_directory_and_nowhere_else(
    with_tokens: RunningHost, trusted: tuple[EntraStandIn, Path], http: aiohttp.ClientSession
) -> None:
    async with http.get(f"{with_tokens.url}/") as response:
        policy = response.headers["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["connect-src"] == f"'self' {trusted[0].authority}"


async def test_a_refused_sign_in_says_why(
    trusting_page: Page, with_tokens: RunningHost, trusted: tuple[EntraStandIn, Path]
) -> None:
    trusted[0].deny()
    await trusting_page.goto(with_tokens.url)
    await form(trusting_page).get_by_role("button", name="Sign in with Microsoft").click()
    await expect(form(trusting_page).get_by_role("alert")).to_contain_text("The user has cancelled.")
