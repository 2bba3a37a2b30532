"""The playground's page and its files: what is sent, what browsers keep, what may run, and its frame."""

import gzip
import re
from pathlib import Path

import aiohttp
import pytest
from playwright.async_api import Page, Request, expect
from yarl import URL

from tests.app.conftest import hosted
from tests.app.playground.asking import ask, ended
from tests.local.running_host import REPOSITORY, RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser; the first test may have to install it."""

FIRST_PAINT = {"chat": 80_000, "on": 100_000}
"""Bytes that have come over the network when a question can be typed, by the page."""
LATE = ("marked.js", "purify.js", "katex.js", "highlight.js", "pdf.js", "pdf.worker.js", "msal.js", "swagger-ui.js")
STATIC = REPOSITORY / "shared" / "playground" / "static"


async def files_of(http: aiohttp.ClientSession, host: RunningHost, page: str = "/") -> str:
    """Return the address below which the page's files are."""
    async with http.get(f"{host.url}{page}") as response:
        found = re.search(r'src="(playground/[0-9a-f]{16})/', await response.text())
    assert found
    return f"{host.url}/{found[1]}"


ASKED_FOR = """
window.askedFor = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (document.querySelector("textarea:not([disabled], [readonly])")) {
      observer.disconnect();
      resolve(performance.getEntriesByType("resource").map((entry) => entry.name));
    }
  }).observe(document, { childList: true, subtree: true, attributes: true });
});
"""
"""What the page has asked for when a question can be typed. What comes later depends on how busy the machine is."""


@pytest.mark.parametrize(
    ("playground", "language", "box"),
    [("on", "ja", "質問を入力"), ("chat", "en", "Your question"), ("chat", "ar", "سؤالك")],
)
async def test_a_question_can_be_typed_before_many_bytes_have_come(
    page: Page, built_in: RunningHost, readers: RunningHost, playground: str, language: str, box: str
) -> None:
    host = readers if playground == "chat" else built_in
    done: list[Request] = []
    wanted = f"Object.defineProperty(navigator, 'languages', {{ get: () => ['en-US@posix', '{language}-CH', 'en'] }})"
    await page.add_init_script(wanted)
    page.on("requestfinished", lambda request: done.append(request))  # noqa: PLW0108 (Playwright marks handlers)
    await page.add_init_script(ASKED_FOR)
    await page.goto(host.url)
    await expect(page.get_by_role("textbox", name=box)).to_be_editable()
    assert await page.locator("html").get_attribute("lang") == language
    asked_for: list[str] = await page.evaluate("askedFor")
    await page.wait_for_load_state("networkidle")
    came = [request for request in done if request.url in asked_for or request.is_navigation_request()]
    loaded = [request for request in came if "/playground/" in request.url or request.is_navigation_request()]
    assert len(loaded) > 10
    for request in loaded:
        response = await request.response()
        assert response
        assert response.status == 307 or response.headers["content-encoding"] == "gzip"
    sizes = [await request.sizes() for request in came]
    assert sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes) < FIRST_PAINT[playground]
    assert not [request.url for request in came if request.url.endswith(LATE)]
    texts = {request.url.partition("/texts/")[2] for request in done if "/texts/" in request.url}
    assert texts == {f"{language}.js", *([f"workbench/{language}.js"] if playground == "on" else [])}


SENT = """
performance.getEntriesByType("resource").filter((entry) => /[.](js|css)$/.test(entry.name) && entry.transferSize).length
"""
"""How many files of the page came over the network, and not from what the browser keeps."""


async def test_a_second_visit_loads_no_file_again(page: Page, built_in: RunningHost) -> None:
    sent: list[int] = []
    for _ in range(2):
        await page.goto("about:blank")
        await page.goto(built_in.url)
        await expect(page.get_by_role("textbox", name="Your question")).to_be_editable()
        await page.wait_for_load_state("networkidle")
        sent.append(await page.evaluate(SENT))
    assert sent[0] > 10
    assert sent[1] == 0


async def test_nothing_from_elsewhere_or_from_a_text_may_run(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.get(f"{built_in.url}/") as response:
        assert (response.status, response.content_type) == (200, "text/html")
        policy, headers, html = response.headers["Content-Security-Policy"], response.headers, await response.text()
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules == {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "blob:", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "worker-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["dompurify", "playground"],
    }
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-cache"
    assert not re.findall(r"""<script(?![^>]* src=)(?![^>]*json)|<style|\son\w+=|https?://(?!login)""", html)


async def test_files_are_kept_for_ever_at_an_address_of_their_content(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    files = await files_of(http, built_in)
    async with http.get(f"{files}/app.js") as response:
        assert response.status == 200
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert response.headers["Vary"] == "Accept-Encoding"
    async with http.get(f"{built_in.url}/playground/0123456789abcdef/app.js") as response:
        assert response.status == 404
        assert "Reload the page" in (await response.json())["error"]
        assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [
        *[("gzip", True), ("br, gzip;q=0.5", True), ("*", True)],
        *[("identity", False), ("br, gzip;q=0", False), ("gzip;q=0, *", False), ("", False)],
    ],
)
async def test_files_are_packed_only_for_who_can_unpack_them(
    built_in: RunningHost, accepted: str, is_packed: bool
) -> None:
    async with aiohttp.ClientSession(auto_decompress=False, headers={"Accept-Encoding": accepted}) as http:
        async with http.get(f"{built_in.url}/") as response:
            html = await response.read()
        html = gzip.decompress(html) if is_packed else html
        found = re.search(rb'src="(playground/[0-9a-f]{16})/app.js', html)
        assert found
        async with http.get(f"{built_in.url}/{found[1].decode()}/app.js") as response:
            assert response.headers.get("Content-Encoding") == ("gzip" if is_packed else None)
            data = await response.read()
    assert (gzip.decompress(data) if is_packed else data) == (STATIC / "app.js").read_bytes()


@pytest.mark.parametrize("path", ["/", "/docs"])
async def test_a_page_that_has_not_changed_is_not_sent_again(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.get(built_in.url + path) as response:
        tag = response.headers["ETag"]
    for known, status in ((tag, 304), (f'"other", W/{tag}', 304), ('"other"', 200)):
        async with http.get(built_in.url + path, headers={"If-None-Match": known}) as response:
            assert response.status == status
            assert (await response.read() == b"") == (status == 304)


async def test_head_has_the_headers_of_get(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    files = await files_of(http, built_in)
    for url in (f"{built_in.url}/", f"{built_in.url}/docs", f"{files}/base.css"):
        async with http.get(url) as response:
            expected = {**response.headers}
        async with http.head(url) as response:
            assert response.status == 200
            assert await response.read() == b""
            got = {**response.headers}
        for name in ("Content-Type", "ETag", "Cache-Control", "Content-Security-Policy"):
            assert got.get(name) == expected.get(name)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "index.html",
        "types.d.ts",
        "vendor/vendor.json",
        "vendor/preact.LICENSE",
        "../static_files.py",
        "..%2Fstatic_files.py",
        "%2e%2e/%2e%2e/settings.py",
        "vendor/..%2f..%2f..%2f__init__.py",
        "..%5cstatic_files.py",
        "%2Fetc%2Fpasswd",
        "app.js%00",
        "app.js/",
        "APP.JS",
        "a" * 2000,
    ],
)
async def test_no_path_leads_to_another_file(built_in: RunningHost, http: aiohttp.ClientSession, path: str) -> None:
    files = await files_of(http, built_in)
    async with http.get(URL(f"{files}/{path}", encoded=True)) as response:
        assert response.status in {400, 404}
        assert b"import" not in await response.read()


@pytest.mark.parametrize(
    "settings", [{"PLAYGROUND": "off"}, {"WEBSITE_SITE_NAME": "in-azure"}], ids=["off", "in Azure"]
)
async def test_where_it_is_off_nothing_of_it_is_there(
    data_dir: Path, built_in: RunningHost, http: aiohttp.ClientSession, settings: dict[str, str]
) -> None:
    files = (await files_of(http, built_in)).removeprefix(built_in.url)
    async with hosted(data_dir, settings) as host:
        for path in ("", "/", "/docs", f"{files}/app.js", "/playground/begin"):
            async with http.get(host.url + path) as response:
                assert response.status == 404, path
                assert "PLAYGROUND=on" in (await response.json())["error"]
        async with http.get(f"{host.url}/openapi.json") as response:
            assert response.status == 200


async def test_the_address_ends_with_a_slash_as_its_files_need(page: Page, built_in: RunningHost) -> None:
    for address in (built_in.url.removesuffix("/api"), built_in.url, f"{built_in.url}/"):
        await page.goto(address)
        await expect(page).to_have_url(f"{built_in.url}/")
        await expect(page.get_by_role("main")).to_be_visible()


async def test_a_wrong_setting_is_named_on_the_page(
    page: Page, tmp_path_factory: pytest.TempPathFactory, expected_errors: list[str]
) -> None:
    expected_errors.append("responded with a status of 503")
    async with hosted(tmp_path_factory.mktemp("empty"), {"RAI_MODE": "enforced"}) as host:
        await ask(page, host)
        await expect(page.get_by_role("main")).to_contain_text("RAI_MODE")
        await page.goto("about:blank")  # before the host ends


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
async def test_the_page_has_the_systems_colours_until_others_are_chosen(
    page: Page, built_in: RunningHost, scheme: str, is_dark: bool
) -> None:
    async def looks_dark() -> bool:
        colours = await page.evaluate(
            "() => { const style = getComputedStyle(document.body); return [style.backgroundColor, style.color] }"
        )
        background, text = (sum(int(part) for part in re.findall(r"\d+", colour)) for colour in colours)
        return background < text

    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await page.goto(built_in.url)
    assert await looks_dark() == is_dark
    await page.goto(f"{built_in.url}/#/settings")
    await page.get_by_label("Colours").select_option("light")
    assert not await looks_dark()
    await page.get_by_label("Colours").select_option("dark")
    assert await looks_dark()
    await page.reload()
    await expect(page.get_by_label("Colours")).to_have_value("dark")
    assert await looks_dark()


async def test_all_tabs_stand_in_one_line_also_with_many_records_and_every_sign_is_drawn(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply(*(f"{number} " for number in range(1500)))
    await ask(page, app)
    await ended(page)
    await expect(page.get_by_role("tab", name="Wire")).to_have_text(re.compile(r"Wire \d(\.\d)?K"))
    assert await page.get_by_role("tablist").evaluate("strip => strip.scrollWidth <= strip.clientWidth")
    signs = await page.locator("svg.sign").evaluate_all(
        "all => all.map((one) => one.querySelectorAll('path, circle').length)"
    )
    assert len(signs) > 5
    assert all(signs)


async def test_on_a_phone_the_sides_are_drawers(narrow_page: Page, built_in: RunningHost) -> None:
    page = narrow_page
    await page.goto(built_in.url)
    await expect(page.get_by_role("textbox", name="Your question")).to_be_in_viewport()
    for name in ("Conversations", "Behind the answer"):
        drawer = page.get_by_role("complementary", name=name)
        await expect(drawer).to_be_hidden()
        await page.get_by_role("button", name=name).click()
        await expect(drawer).to_be_in_viewport()
        await page.keyboard.press("Escape")
        await expect(drawer).to_be_hidden()
    assert await page.evaluate("() => document.documentElement.scrollWidth") == 390
