"""Shared chats over HTTP: who signs in reads the copy, and nobody shares what is another's."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from shared.chat_types import Caller
from shared.history import owner_of
from shared.history.sqlite_history import SqliteHistory
from tests.app.identity.conftest import FLOWS, REPORT, start_chat
from tests.local.running_host import RunningHost

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONTEXT = {
    "data_points": {"text": ["STAFF.md: secret", "mine/a.pdf: secret"], "citations": ["STAFF.md", "mine/a.pdf"]},
    "thoughts": [{"title": "secret", "description": "secret"}],
}
ANSWER = "For teeth [STAFF.md], as you wrote [mine/a.pdf] in [attached.pdf]."
SAID: list[dict[str, Any]] = [
    {"id": "1", "role": "user", "content": "Teeth?", "context": {"playground": {"files": [{"name": "attached.pdf"}]}}},
    {"id": "2", "role": "tool", "content": "secret", "toolCallId": "c"},
    {"id": "3", "role": "assistant", "content": ANSWER, "timestamp": "10:30", "context": CONTEXT, "toolCall": "secret"},
]


async def sent(
    http: aiohttp.ClientSession, method: str, url: str, headers: dict[str, str], sent: Any = None
) -> tuple[int, Any]:
    async with http.request(method, url, headers=headers, json=sent) as response:
        return response.status, await response.json() if response.status != 204 else None


async def test_a_shared_chat_is_read_by_who_signs_in_until_it_is_shared_no_longer_or_deleted(
    with_keys: RunningHost, http: aiohttp.ClientSession
) -> None:
    own, other, stranger = FLOWS.bearer, REPORT.bearer, dict[str, str]()
    chat = f"{with_keys.url}/chat-history/{await start_chat(http, with_keys, own)}"
    assert (await sent(http, "POST", f"{chat}/share", own))[0] == 400
    await sent(http, "PUT", chat, own, {"messages": SAID})
    for method in ("POST", "DELETE"):
        assert (await sent(http, method, f"{chat}/share", other))[0] == 404
    status, link = await sent(http, "POST", f"{chat}/share", own)
    assert (status, link["url"]) == (201, f"{with_keys.url}/shared/{link['id']}")

    status, copy = await sent(http, "GET", link["url"], other)
    assert (status, copy["title"], "secret" in str(copy)) == (200, "Teeth?", False)
    assert [(one["role"], one["content"], one["citations"]) for one in copy["messages"]] == [
        ("user", "Teeth?", []),
        ("assistant", ANSWER, ["STAFF.md"]),
    ]
    assert (await sent(http, "GET", link["url"], stranger))[0] == 401

    assert (await sent(http, "DELETE", f"{chat}/share", own))[0] == 204
    assert (await sent(http, "GET", link["url"], own))[0] == 404
    _, again = await sent(http, "POST", f"{chat}/share", own)
    assert again["id"] != link["id"]
    assert (await sent(http, "DELETE", chat, own))[0] == 204
    assert (await sent(http, "GET", again["url"], own))[0] == 404


async def test_a_copy_whose_chat_is_gone_by_its_age_can_still_be_withdrawn(
    with_keys: RunningHost, rights_dir: Path, http: aiohttp.ClientSession
) -> None:
    own = FLOWS.bearer
    name = await start_chat(http, with_keys, own)
    chat = f"{with_keys.url}/chat-history/{name}"
    await sent(http, "PUT", chat, own, {"messages": SAID})
    _, link = await sent(http, "POST", f"{chat}/share", own)
    await SqliteHistory(rights_dir / "history.sqlite").delete(owner_of(Caller(key=FLOWS.name)), name)
    assert (await sent(http, "GET", link["url"], own))[0] == 200
    await sent(http, "DELETE", f"{chat}/share", own)
    assert (await sent(http, "GET", link["url"], own))[0] == 404


async def test_where_nobody_signs_in_nothing_is_shared(unsigned: RunningHost, http: aiohttp.ClientSession) -> None:
    chat = f"{unsigned.url}/chat-history/{await start_chat(http, unsigned, {})}"
    for method, url in (("POST", f"{chat}/share"), ("DELETE", f"{chat}/share"), ("GET", f"{unsigned.url}/shared/1")):
        status, refused = await sent(http, method, url, {})
        assert (status, "AUTH_MODE" in refused["error"]) == (403, True)
