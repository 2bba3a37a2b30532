"""The app in each mode of signing in, with documents that are for one caller or another."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from local.api_key_command import new_key
from shared.chat_types import Passage
from tests.app.conftest import hosted
from tests.app.test_answers import body
from tests.local.running_host import RunningHost
from tests.small_index import write_index
from tests.stand_ins.easy_auth import IN_FRONT, principal
from tests.stand_ins.entra import ADA, BEN, STAFF, EntraStandIn

QUESTION = "What does the plan pay for teeth?"
EVERY_DOCUMENT = {"ADA", "BEN", "STAFF", "BOARD", "NOBODY", "ALL", "NONE"}
FORGED = {
    **principal(BEN),
    "X-MS-CLIENT-PRINCIPAL-NAME": "ben@example.com",
    "X-MS-CLIENT-PRINCIPAL-IDP": "aad",
    "X-MS-TOKEN-AAD-ID-TOKEN": "a.b.c",
}
QUESTIONS = [
    "/chat",
    "/chat/stream",
    "/ask",
    "/ai-chat-2024-05-29/chat",
    "/semantic-kernel/chat/stream",
    "/multi-agent-chat/batch",
    "/multi-agent-chat/stream",
    "/v1/chat/completions",
    "/v1/responses",
    "/ag-ui",
    "/ag-ui/multi-agent-chat/stream",
    "/ai-sdk/chat",
    "/ai-sdk/multi-agent-chat/stream",
]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def rights_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents that all answer the question, each for somebody else; its text says for whom."""
    folder = tmp_path_factory.mktemp("rights")
    whose: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "ADA": ((ADA,), ()),
        "BEN": ((BEN,), ()),
        "STAFF": ((), (STAFF,)),
        "BOARD": ((), ("board",)),
        "NOBODY": ((), ()),
        "ALL": (("all",), ("all",)),
        "NONE": (("none",), ("none",)),
    }
    text = "The plan pays for teeth: secret of {}."
    passages = [
        Passage(name, text.format(name), f"{name}.md", f"{name}.md", name.lower(), *rights)
        for name, rights in whose.items()
    ]
    await write_index(folder, passages)
    return folder


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def entra() -> AsyncGenerator[EntraStandIn]:
    async with EntraStandIn() as entra:
        yield entra


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def with_tokens(entra: EntraStandIn, rights_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app that takes tokens, enforces rights, and gets the platform's headers too."""
    environment = entra.settings | {"ACCESS_CONTROL": "enforced", "WEBSITE_AUTH_ENABLED": "True"}
    async with hosted(rights_dir, environment) as host:
        yield host


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def behind_easy_auth(rights_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app behind App Service Authentication, which lets in several tenants."""
    async with hosted(rights_dir, IN_FRONT) as host:
        yield host


@dataclass(frozen=True)
class Key:
    """An API key, as its caller and as the setting has it."""

    name: str
    groups: tuple[str, ...] = ()
    made: tuple[str, str] = field(default_factory=new_key)

    @property
    def bearer(self) -> dict[str, str]:
        """The header with it."""
        return {"Authorization": f"Bearer {self.made[0]}"}

    @property
    def entry(self) -> str:
        """Its entry in `API_KEYS`."""
        return ":".join((self.name, self.made[1], *self.groups))


def taking(*keys: Key) -> dict[str, str]:
    """The environment of an app that takes these keys."""
    return {"AUTH_MODE": "api-key", "API_KEYS": ",".join(key.entry for key in keys)}


REPORT, FLOWS = Key("report"), Key("flows", (STAFF,))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def with_keys(rights_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app that takes keys, enforces rights, and gets the platform's headers too."""
    environment = taking(REPORT, FLOWS) | {"ACCESS_CONTROL": "enforced", "WEBSITE_AUTH_ENABLED": "True"}
    environment |= {"FEEDBACK_READERS": STAFF}
    async with hosted(rights_dir, environment) as host:
        yield host


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def unsigned(rights_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app that lets everybody in, and still gets the platform's headers."""
    async with hosted(rights_dir, {"WEBSITE_AUTH_ENABLED": "True"}) as host:
        yield host


def overrides(**given: Any) -> dict[str, Any]:
    return body(QUESTION, context={"overrides": {"top": 50, **given}})


def sent_to(path: str, chat: dict[str, Any]) -> dict[str, Any]:
    """Return a chat request, with its context, as the route takes it."""
    match path.split("/")[1:]:
        case ["v1", "responses"]:
            return {**chat, "input": chat["messages"]}
        case ["ag-ui", *_]:
            return {**chat, "context": [], "forwardedProps": chat["context"]}
        case ["ai-sdk", *_]:
            return {**chat, "messages": [{"role": "user", "parts": [{"type": "text", "text": QUESTION}]}]}
        case _:
            return chat


def seen_in(answer: str) -> set[str]:
    return {name for name in EVERY_DOCUMENT if f"secret of {name}" in answer}


async def ask(
    http: aiohttp.ClientSession, host: RunningHost, headers: dict[str, str], sent: dict[str, Any] | None = None
) -> tuple[int, str]:
    async with http.post(host.url + "/chat", json=sent or overrides(), headers=headers) as response:
        return response.status, await response.text()


async def start_chat(http: aiohttp.ClientSession, host: RunningHost, headers: dict[str, str]) -> str:
    sent = {"mode": "standard", "title": "Mine"}
    async with http.post(host.url + "/chat-history", json=sent, headers=headers) as response:
        assert response.status == 201
        return (await response.json())["id"]


async def messages_of(http: aiohttp.ClientSession, host: RunningHost, headers: dict[str, str], chat: str) -> int:
    async with http.get(f"{host.url}/chat-history/{chat}/messages", headers=headers) as response:
        return response.status
