"""The pages of assistant-ui, CopilotKit and deep-chat in `samples/pages`: built, and used as a person uses them."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from playwright.async_api import Browser, Page, expect

from tests.app.playground.conftest import window
from tests.clients import copilotkit
from tests.clients.ai_chat_protocol import NODE
from tests.clients.situations import STOP, Shown, model_stopped
from tests.stand_ins.local_server import LocalServer
from tests.stand_ins.openai_service import OpenAIStandIn

FOLDER = Path(__file__).parent
PAGES = FOLDER.parents[2] / "samples" / "pages"
APP, RUNTIME = "http://127.0.0.1:7071/api", "http://127.0.0.1:4000/api/copilotkit"
"""The addresses in that code."""
NOTHING = ":not(*)"
MOUNT = 'import { createRoot } from "react-dom/client";\ncreateRoot(document.getElementById("root")).render(<App />);\n'
HTML = """<!doctype html><meta charset="utf-8"><title>Page</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css"><div id="root"></div><script type="module" src="page.js"></script>"""
READ = """([question, number, text, error, source]) => {
    const page = document.querySelector("deep-chat")?.shadowRoot ?? document
    const asked = page.querySelectorAll(question)[number - 1]
    if (!asked) return null
    const follows = (one) => asked.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING
    const shown = (selector) => [...page.querySelectorAll(selector)].filter(follows)
    const said = (selector) => shown(selector).map((one) => one.innerText.trim()).join("\\n").trim()
    const all = {text: said(text), error: said(error), sources: shown(source).map((one) => one.href)}
    return all.text || all.error ? all : null
}"""
"""What is shown below a question; null while there is neither text nor error."""


PACED = """(() => {
    const fetched = window.fetch
    window.fetch = async (...asked) => {
        const response = await fetched(...asked)
        if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response
        const drawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
        const decoder = new TextDecoder()
        const paced = new TransformStream({
            async transform(bytes, out) {
                for (const event of decoder.decode(bytes, { stream: true }).split(/(?<=\\n\\n)/)) {
                    out.enqueue(new TextEncoder().encode(event))
                    await drawn()
                }
            },
        })
        return new Response(response.body.pipeThrough(paced), response)
    }
})()"""
"""Gives a page each event of a stream by itself, as those of a model come, and never all in one piece."""


@dataclass(frozen=True, slots=True)
class PageClient:
    """A client's page, and the selectors of what a person sees in it."""

    package: str
    """What its code imports."""
    question: str
    """What the user asked."""
    text: str
    """The text of an answer."""
    send: str
    """The button that sends, and cannot be pressed before the page is ready."""
    stop: str
    """The button that is there while an answer is made."""
    error: str = NOTHING
    """The sentence of an error that is no text."""
    source: str = NOTHING
    """A link to a source."""
    has_runtime: bool = False
    """Whether the page asks CopilotKit's runtime, and not the app."""
    is_paced: bool = False
    """Whether it takes a stream that comes in one piece for an empty one, or for a whole one, as it happens."""
    route: str = "/ag-ui"
    """What of the app is asked."""


ASSISTANT_UI = PageClient(
    "@assistant-ui/react-ag-ui",
    question=".question",
    text=".answer p",
    send="button:text-is('Send')",
    stop="button:text-is('Stop')",
    error=".answer [role=alert]",
    source=".answer li a",
)
COPILOTKIT = PageClient(
    "@copilotkit/react-core/v2",
    question="[data-testid=copilot-user-message]",
    text="[data-testid=copilot-assistant-message]",
    send="[data-testid=copilot-send-button]",
    stop="[data-copilot-running=true] [data-testid=copilot-send-button]",
    has_runtime=True,
)
DEEP_CHAT = PageClient(
    "deep-chat",
    question=".user-message-text",
    text=".ai-message-text:not(.error-message-text)",
    send=".submit-button",
    stop="#stop-icon",
    error=".error-message-text",
    is_paced=True,
    route="/v1/responses",
)


@dataclass(frozen=True, slots=True)
class Window:
    """An open page."""

    client: PageClient
    page: Page

    async def ask(self, question: str) -> None:
        """Write a question, and send it."""
        await self.page.get_by_role("textbox").fill(question)
        await self.page.locator(self.client.send).click()

    async def begun(self, number: int) -> Shown:
        """Wait until something is shown below the question of this number."""
        client = self.client
        selectors = [client.question, number, client.text, client.error, client.source]
        seen = await self.page.wait_for_function(READ, arg=selectors)
        return Shown(**await seen.json_value())

    async def ended(self, number: int) -> Shown:
        """Wait until the answer to it is whole."""
        await self.begun(number)
        await expect(self.page.locator(self.client.stop)).to_have_count(0)
        return await self.begun(number)


@dataclass(frozen=True, slots=True)
class Pages:
    """A browser for them, where they are built, and the model that the app asks."""

    browser: Browser
    folder: Path
    model: OpenAIStandIn

    @asynccontextmanager
    async def opened(self, client: PageClient, url: str, *more: str) -> AsyncGenerator[Window]:
        """Open a page in front of an app, with these components of other samples beside the chat."""
        files = await self._built(client, *more)
        async with AsyncExitStack() as stack:
            addresses = {APP + client.route: url + client.route}
            if client.has_runtime:
                agent = await stack.enter_async_context(copilotkit.runtime(f"{url}/ag-ui"))
                addresses = {RUNTIME: agent.removesuffix("/agent/default/run")}
            server = await stack.enter_async_context(_Served(files, addresses))
            page = await stack.enter_async_context(window(self.browser, ["^logged: "]))
            if client.is_paced:
                await page.add_init_script(PACED)
            await page.goto(server.endpoint)
            yield Window(client, page)

    async def chat(self, client: PageClient, url: str, questions: Sequence[str]) -> list[Shown]:
        """Ask the questions one after the other, and stop the last answer at its first text."""
        async with self.opened(client, url) as window:
            shown: list[Shown] = []
            for number, question in enumerate(questions, start=1):
                await window.ask(question)
                if question == STOP:
                    await window.begun(number)
                    await window.page.locator(client.stop).click()
                    await model_stopped(self.model)
                shown.append(await window.ended(number))
            return shown

    async def _built(self, client: PageClient, *more: str) -> dict[str, str]:
        """Build a page unless it is built; return its files."""
        folder = self.folder / "-".join((client.package.replace("/", "-"), *more))
        if not folder.exists():
            code = "".join(_sample(client.package, f"function {name}(") for name in ("App", *more))
            beside = "".join(f"<{name} />" for name in more)
            code = code.replace("<Chat />", f"<>{beside}<Chat /></>")
            bundling = await asyncio.create_subprocess_exec(
                NODE, FOLDER / "build.mjs", folder, stdin=asyncio.subprocess.PIPE
            )
            await bundling.communicate(f"{code}{MOUNT}".encode())
            assert bundling.returncode == 0, f"{client.package}: its page in {PAGES.name} cannot be built"
        return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}


def _sample(*words: str) -> str:
    """The page that has these words."""
    pages = [page.read_text(encoding="utf-8") for page in PAGES.glob("*.jsx")]
    (code,) = (page for page in pages if all(word in page for word in words))
    return code


class _Served(LocalServer):
    """Serves a page, with the addresses of its code replaced by those that are there."""

    def __init__(self, files: Mapping[str, str], addresses: Mapping[str, str]) -> None:
        super().__init__()
        self._files = dict(files)
        for documented, actual in addresses.items():
            self._files["page.js"] = self._files["page.js"].replace(documented, actual)

    async def _serve(self, request: web.Request) -> web.Response:
        kind = {".js": "text/javascript", ".css": "text/css"}.get(Path(request.path).suffix, "text/html")
        return web.Response(
            text=self._files.get(request.path[1:], "" if "." in request.path else HTML), content_type=kind
        )
