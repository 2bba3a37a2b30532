"""Links to sources for clients on other origins: they lead to the app and open there, in a real browser too."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, Page, expect

from tests.app.conftest import hosted
from tests.browser import chromium
from tests.local.running_host import RunningHost
from tests.stand_ins.local_server import LocalServer

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
"""One loop with the browser and the hosts; the first test may have to install the browser."""

ASKED = {"model": "switchboard", "messages": [{"role": "user", "content": "Wie lang ist die Kündigungsfrist?"}]}
DOCUMENT = "Die Kündigungsfrist beträgt drei Monate."
NAME = "K%C3%BCndigung.md"
FORGED = {
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "10.0.0.1",
    "X-Original-Host": "evil.example",
    "Forwarded": "host=evil.example;proto=https",
}


async def link_in_answer(http: aiohttp.ClientSession, host: RunningHost, **headers: str) -> str:
    """The URL of the one source of an answer."""
    async with http.post(f"{host.url}/v1/chat/completions", json=ASKED, headers=headers) as response:
        message = (await response.json())["choices"][0]["message"]
    (url,) = {one["url_citation"]["url"] for one in message["annotations"]}
    assert url in {one["url"] for one in message["context"]["citations"]}
    return url


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"PUBLIC_URL": "https://chat.contoso.com/rag/"}, "https://chat.contoso.com/rag"),
        ({"WEBSITE_HOSTNAME": "contoso.azurewebsites.net"}, "https://contoso.azurewebsites.net/api"),
        (
            {"PUBLIC_URL": "https://chat.contoso.com/rag", "WEBSITE_HOSTNAME": "contoso.azurewebsites.net"},
            "https://chat.contoso.com/rag",
        ),
    ],
)
async def test_links_lead_to_the_known_name_whatever_a_request_says(
    data_dir: Path, http: aiohttp.ClientSession, environment: dict[str, str], url: str
) -> None:
    async with hosted(data_dir, environment) as host:
        assert await link_in_answer(http, host) == f"{url}/content/{NAME}"
        assert await link_in_answer(http, host, Host="localhost:1", **FORGED) == f"{url}/content/{NAME}"
        async with http.get(f"{host.url}/swagger.json", headers=FORGED) as response:
            swagger = await response.json()
        assert f"{swagger['schemes'][0]}://{swagger['host']}{swagger['basePath']}" == url


async def test_without_one_they_lead_to_where_the_request_was_sent(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    assert await link_in_answer(http, built_in) == f"{built_in.url}/content/{NAME}"
    assert await link_in_answer(http, built_in, Host="localhost:1") == f"http://localhost:1/api/content/{NAME}"
    assert await link_in_answer(http, built_in, **FORGED) == f"{built_in.url}/content/{NAME}"


class Chat(LocalServer):
    """The page of a front end on another origin: it asks, shows the source as a link, and can read the document."""

    @property
    def origin(self) -> str:
        """Its name differs from the app's, so that the two are of different sites too."""
        return self.endpoint.replace("127.0.0.1", "localhost")

    async def _serve(self, request: web.Request) -> web.Response:  # noqa: ARG002 (every address has the page)
        return web.Response(text='<!doctype html><a target="_blank">the source</a>', content_type="text/html")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser() -> AsyncGenerator[Browser]:
    async with chromium() as running:
        yield running


ASK = """async ([url, asked]) => {
    const headers = {"content-type": "application/json", "authorization": "Bearer any"}
    const answer = await fetch(`${url}/v1/chat/completions`, {method: "POST", headers, body: JSON.stringify(asked)})
    const message = (await answer.json()).choices[0].message
    document.querySelector("a").href = message.annotations[0].url_citation.url
}"""
READ = """async () => {
    try { return await (await fetch(document.querySelector("a").href)).text() } catch (error) { return error.name }
}"""


async def shows_the_document(opened: Page, link: str) -> None:
    await opened.wait_for_url(link)
    await expect(opened.locator("body")).to_have_text(DOCUMENT)


async def test_a_page_of_another_origin_opens_and_reads_what_is_cited(browser: Browser, data_dir: Path) -> None:
    os.utime(data_dir / "content" / "Kündigung.md", (0, 0))  # so that browsers cache it for years
    async with Chat() as chat, Chat() as stranger, hosted(data_dir, {"CORS": chat.origin}) as host:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(chat.origin)
        await page.evaluate(ASK, [host.url, ASKED])
        async with context.expect_page() as opening:
            await page.get_by_role("link", name="the source").click()
        link = f"{host.url}/content/{NAME}"
        await shows_the_document(await opening.value, link)
        assert await page.evaluate(READ) == DOCUMENT

        await page.goto(stranger.origin)
        await page.evaluate("link => { document.querySelector('a').href = link }", link)
        assert await page.evaluate(READ) == "TypeError"
        async with context.expect_page() as opening:
            await page.get_by_role("link", name="the source").click()
        await shows_the_document(await opening.value, link)
        await context.close()


HEADERS_OF = """async url => {
    const {status, headers} = await fetch(url)
    return [status, ...["link", "retry-after", "www-authenticate"].map(name => headers.get(name))]
}"""


async def test_a_page_of_another_origin_reads_where_a_list_goes_on_and_how_long_to_wait(
    browser: Browser, data_dir: Path, http: aiohttp.ClientSession
) -> None:
    limited = {"LIMIT_CALLER_REQUESTS_PER_MINUTE": "3"}
    async with Chat() as chat, hosted(data_dir, limited | {"CORS": chat.origin}) as host:
        for title in ("One", "Two"):
            sent = {"mode": "standard", "title": title}
            async with http.post(f"{host.url}/chat-history", json=sent) as response:
                assert response.status == 201
        page = await browser.new_page()
        await page.goto(chat.origin)
        status, link, *_ = await page.evaluate(HEADERS_OF, f"{host.url}/chat-history?limit=1")
        assert (status, link[:9], link[-10:]) == (200, "<?limit=1", 'rel="next"')
        wait: str | None = None
        for _ in range(12):  # no wait of more than a minute is asked for: requests count up to 5 seconds longer
            status, _, wait, _ = await page.evaluate(HEADERS_OF, f"{host.url}/chat-history?limit=1")
            assert status == 429
            if wait is not None:
                break
            await asyncio.sleep(0.5)
        assert wait
        assert 1 <= int(wait) <= 60
        await page.close()


async def test_a_page_of_another_origin_reads_how_to_sign_in(browser: Browser, data_dir: Path) -> None:
    signing_in = {"AUTH_MODE": "api-key", "API_KEYS": f"page:{'0' * 64}"}
    async with Chat() as chat, hosted(data_dir, signing_in | {"CORS": chat.origin}) as host:
        page = await browser.new_page()
        await page.goto(chat.origin)
        assert await page.evaluate(HEADERS_OF, f"{host.url}/v1/models") == [401, None, None, "Bearer"]
        await page.close()
