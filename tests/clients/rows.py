"""The clients that hold the chat of `situations.py`: how each is asked, and what it can do."""

import json
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.clients import ag_ui, ai_chat_protocol, ai_sdk, copilotkit, inspector, mcp, pages
from tests.clients.asking import Client
from tests.clients.openai_responses import respond
from tests.clients.situations import QUESTIONS, UNDER_GUARD, Kind, Shown, expected, model_stopped, script, seen
from tests.stand_ins.openai_service import OpenAIStandIn

FOLDER = Path(__file__).parent
PYTHON, OLDER = FOLDER / "python", FOLDER / "python_older"
DAY_FILE = FOLDER / "tried.txt"
"""The day on which the versions were chosen and all of them tried."""

WITH_LINKS, TEXT_ONLY = Kind(), Kind(links=False)

type Chat = Callable[[Any, str, Sequence[str]], Awaitable[list[Shown]]]
"""Asks the questions one after the other with a running program or a browser, and leaves the last at its first text."""


@dataclass(frozen=True, slots=True)
class Row:
    """A client."""

    title: str
    """As the table names it."""
    wire: str
    """The protocol."""
    package: str
    """Whose version is said, as its folder's lock file names it."""
    folder: Path
    """Where that file is."""
    chat: Chat
    """Holds a chat, with the program of `fixture` if it needs one."""
    kind: Kind = WITH_LINKS
    """What it can do."""
    fixture: str = ""
    """The fixture of the running program."""
    is_rare: bool = False
    """Whether only `make nightly` and `make newest` run it."""
    theirs: Mapping[str, str] = MappingProxyType({})
    """What the client itself does otherwise in a situation, with any backend."""

    @property
    def expected(self) -> dict[str, str]:
        """What has to be seen in each situation."""
        return expected(self.kind) | dict(self.theirs)

    @property
    def version(self) -> str:
        """Of the package that is installed."""
        if (lock := self.folder / "package-lock.json").exists():
            return json.loads(lock.read_text(encoding="utf-8"))["packages"][f"node_modules/{self.package}"]["version"]
        locked = tomllib.loads((self.folder / "uv.lock").read_text(encoding="utf-8"))["package"]
        return next(package["version"] for package in locked if package["name"] == self.package)


async def hold(row: Row, program: Any, openai: OpenAIStandIn, url: str, safe_url: str) -> dict[str, str]:
    """Let a client hold both chats, with the app and with the one under guard; return what is seen of them."""
    openai.requests.clear()
    script(openai, row.kind)
    shown = await row.chat(program, url, QUESTIONS)
    if row.kind.streams:
        await model_stopped(openai)
    return seen(openai, row.kind, shown, await row.chat(program, safe_url, UNDER_GUARD), url)


async def _program(client: Client | None, url: str, questions: Sequence[str], *, name: str) -> list[Shown]:
    """A Python client of `chats.py`."""
    assert client
    return [Shown(**one) for one in await client.give({"client": name, "url": url, "questions": questions})]


async def _completions(client: Client | None, url: str, questions: Sequence[str]) -> list[Shown]:
    """A client of Chat Completions that asks as its lines say."""
    assert client
    messages: list[dict[str, str]] = []
    shown: list[Shown] = []
    for question in questions:
        messages.append({"role": "user", "content": question})
        kind = "leave" if question == questions[-1] else "stream"
        told = await client.ask(f"{url}/v1", kind, {"model": "switchboard", "messages": list(messages)})
        notes = [note["url_citation"]["url"] for note in told.annotations or ()]
        shown.append(Shown(told.text, told.error.get("message", ""), notes))
        if told.text and not told.error:
            messages.append({"role": "assistant", "content": told.text})
    return shown


async def _stream_text(_: Client | None, url: str, questions: Sequence[str], *, api: str) -> list[Shown]:
    """A program with `streamText`, which shows what `onError` gets."""
    messages: list[dict[str, str]] = []
    shown: list[Shown] = []
    for question in questions:
        messages.append({"role": "user", "content": question})
        leaves = question == questions[-1]
        told = await respond(api, f"{url}/v1", model="switchboard", input=messages, leaveAfterText=leaves)
        parts: list[Any] = told["seen"]
        text = "".join(part["text"] for part in parts if part["type"] == "text-delta")
        error = "".join(part["error"]["message"] for part in parts if part["type"] == "error")
        shown.append(Shown(text, error, [part["url"] for part in parts if part["type"] == "source"]))
        if text and not error:
            messages.append({"role": "assistant", "content": text})
    return shown


async def _use_chat(_: Client | None, url: str, questions: Sequence[str], *, version: str) -> list[Shown]:
    """A page with `useChat`."""
    steps = [{"do": "leave" if text == questions[-1] else "send", "text": text} for text in questions]
    return [_of_page(step) for step in await ai_sdk.chat(version, f"{url}/ai-sdk/chat", *steps)]


def _of_page(step: dict[str, Any]) -> Shown:
    message = step["message"]
    parts: list[Any] = message["parts"] if message["role"] == "assistant" else []
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    return Shown(text, step.get("error") or "", [part["url"] for part in parts if part["type"] == "source-url"])


async def _ag_ui(_: Client | None, url: str, questions: Sequence[str], *, version: str) -> list[Shown]:
    """An agent of AG-UI's own client."""
    return await _run_agent(version, f"{url}/ag-ui", questions)


async def _copilotkit(_: Client | None, url: str, questions: Sequence[str]) -> list[Shown]:
    """The agent of a page of CopilotKit, behind its runtime."""
    async with copilotkit.runtime(f"{url}/ag-ui") as agent:
        return await _run_agent(ag_ui.VERSIONS[-1], agent, questions)


async def _run_agent(version: str, url: str, questions: Sequence[str]) -> list[Shown]:
    steps = [ag_ui.step(text, leaves=text == questions[-1]) for text in questions]
    return [_of_run(run) for run in await ag_ui.run(version, url, *steps)]


def _of_run(run: ag_ui.Run) -> Shown:
    said = run.messages[-1]
    errors = [error["message"] for error in run.errors if error.get("code") != "abort"]  # that is the user's own
    error = "".join([*errors, (run.thrown or {}).get("message") or ""])
    sources = [source["url"] for sources in run.custom("sources") for source in sources["sources"]]
    return Shown(said["content"] if said["role"] == "assistant" else "", error, sources)


async def _ai_chat(_: Client | None, url: str, questions: Sequence[str], *, version: str, wire: str) -> list[Shown]:
    """Microsoft's client, streaming, as its sample shows what it throws."""
    messages: list[dict[str, Any]] = []
    shown: list[Shown] = []
    for question in questions:
        messages.append({"role": "user", "content": question})
        kind = "leave" if question == questions[-1] else "stream"
        outcome = await ai_chat_protocol.ask(f"{url}/{wire}/chat", kind, messages, version=version)
        deltas = [record["delta"] for record in outcome.records if record.get("delta")]
        text = "".join(delta.get("content") or "" for delta in deltas)
        thrown: Any = outcome.thrown or ""
        shown.append(Shown(text, thrown if isinstance(thrown, str) else thrown["message"]))
        if text and not outcome.thrown:
            messages.append({"role": "assistant", "content": text})
    return shown


async def _mcp(_: Client | None, url: str, questions: Sequence[str], *, kind: str) -> list[Shown]:
    """A program that calls the tool `ask`."""
    told = await mcp.run(f"{url}/mcp", kind, *(("ask", {"question": question}) for question in questions))
    return [_of_result(result) for result in told["steps"]]


async def _inspector(_: Client | None, url: str, questions: Sequence[str]) -> list[Shown]:
    """A person who calls the tool `ask`."""
    return [_of_result(await inspector.ask(f"{url}/mcp", question)) for question in questions]


def _of_result(result: dict[str, Any]) -> Shown:
    text = "\n".join(content["text"] for content in result["content"])
    if result.get("isError"):
        return Shown("", text)
    said, _, sources = text.partition("\n\nSources:")
    return Shown(said, "", [line.partition("]: ")[2] for line in sources.splitlines() if line.startswith("- [")])


async def _page(browser: pages.Pages, url: str, questions: Sequence[str], *, client: pages.PageClient) -> list[Shown]:
    """A person in front of a page."""
    return await browser.chat(client, url, questions)


def _python(title: str, wire: str, package: str, name: str, kind: Kind = WITH_LINKS, *, is_rare: bool = False) -> Row:
    return Row(title, wire, package, PYTHON, partial(_program, name=name), kind, "python_clients", is_rare)


CHAT, RESPONSES = "openai", "openai-responses"

ROWS = (
    *(
        Row(
            f"`useChat` of AI SDK {major}",
            "ai-sdk",
            f"ai-{major}",
            FOLDER / "ai_sdk",
            partial(_use_chat, version=f"ai-{major}"),
            is_rare=major != "7",
        )
        for major in "567"
    ),
    *(
        Row(
            "`@ag-ui/client`, which assistant-ui and CopilotKit use",
            "ag-ui",
            version,
            FOLDER / "ag_ui",
            partial(_ag_ui, version=version),
            is_rare=version != ag_ui.VERSIONS[-1],
        )
        for version in ag_ui.VERSIONS
    ),
    Row(
        "CopilotKit's runtime",
        "ag-ui",
        "@copilotkit/runtime",
        FOLDER / "copilotkit",
        _copilotkit,
        is_rare=True,
    ),
    _python("Agent Framework, `AGUIChatClient`", "ag-ui", "agent-framework-ag-ui", "agent-framework-ag-ui", TEXT_ONLY),
    Row("OpenAI for npm", CHAT, "openai", FOLDER / "openai", _completions, fixture="npm_openai"),
    _python("OpenAI for Python", CHAT, "openai", "openai"),
    Row("LangChain", CHAT, "langchain-openai", PYTHON, _completions, TEXT_ONLY, "langchain"),
    _python(
        "Agent Framework, `OpenAIChatCompletionClient`",
        CHAT,
        "agent-framework-openai",
        "agent-framework-chat",
        TEXT_ONLY,
    ),
    Row(
        "`streamText` of AI SDK, with `.chat`",
        CHAT,
        "@ai-sdk/openai",
        FOLDER / "openai_responses",
        partial(_stream_text, api="aiSdkChat"),
        is_rare=True,
    ),
    _python("OpenAI Agents SDK", CHAT, "openai-agents", "agents-chat", TEXT_ONLY, is_rare=True),
    Row(
        "LlamaIndex",
        CHAT,
        "llama-index-llms-openai-like",
        OLDER,
        partial(_program, name="llama-index"),
        fixture="older_python_clients",
        is_rare=True,
    ),
    Row(
        "Semantic Kernel",
        CHAT,
        "semantic-kernel",
        OLDER,
        partial(_program, name="semantic-kernel"),
        TEXT_ONLY,
        "older_python_clients",
        is_rare=True,
    ),
    *(
        Row(
            f"Open WebUI's server{mode}",
            wire,
            "open-webui",
            FOLDER / "open_webui",
            partial(_program, name=name),
            fixture="open_webui",
            is_rare=True,
        )
        for mode, wire, name in (("", CHAT, "open-webui"), (", Responses", RESPONSES, "open-webui-responses"))
    ),
    _python("OpenAI for Python, Responses", RESPONSES, "openai", "openai-responses"),
    _python("Agent Framework, `OpenAIChatClient`", RESPONSES, "agent-framework-openai", "agent-framework"),
    Row(
        "`streamText` of AI SDK",
        RESPONSES,
        "@ai-sdk/openai",
        FOLDER / "openai_responses",
        partial(_stream_text, api="aiSdk"),
        is_rare=True,
    ),
    _python("LangChain, Responses", RESPONSES, "langchain-openai", "langchain", is_rare=True),
    _python("OpenAI Agents SDK, Responses", RESPONSES, "openai-agents", "agents", TEXT_ONLY, is_rare=True),
    *(
        Row(
            "`@microsoft/ai-chat-protocol`",
            wire,
            version,
            FOLDER,
            partial(_ai_chat, version=version, wire=wire),
            TEXT_ONLY,
            is_rare=wire == "ai-chat",
        )
        for version, wire in (("20240610", "ai-chat"), ("20240814", "ai-chat-2024-05-29"))
    ),
    *(
        Row(
            f"MCP, `{package}`",
            "mcp",
            package,
            FOLDER / "mcp",
            partial(_mcp, kind=kind),
            Kind(remembers=False, streams=False),
            is_rare=kind != "modern",
        )
        for kind, package in (("sdk", "@modelcontextprotocol/sdk"), ("modern", "@modelcontextprotocol/client"))
    ),
    Row(
        "MCP's inspector, its command line",
        "mcp",
        "@modelcontextprotocol/inspector",
        FOLDER / "inspector",
        _inspector,
        Kind(remembers=False, streams=False),
        is_rare=True,
    ),
)

PAGES = tuple(
    Row(title, wire, package, pages.FOLDER, partial(_page, client=client), kind)
    for title, wire, package, client, kind in (
        ("assistant-ui, its page", "ag-ui", "@assistant-ui/react", pages.ASSISTANT_UI, WITH_LINKS),
        ("CopilotKit, its page", "ag-ui", "@copilotkit/react-core", pages.COPILOTKIT, Kind(links=False, says_it=True)),
        ("deep-chat, its page", RESPONSES, "deep-chat", pages.DEEP_CHAT, TEXT_ONLY),
    )
)
"""Those that a person uses in a browser: `make nightly` runs them."""
