"""Whose chats they are, through the running app: nobody else finds them."""

import aiohttp
import pytest

from tests.app.identity.conftest import QUESTION, ask, messages_of, start_chat
from tests.app.test_answers import body
from tests.local.running_host import RunningHost
from tests.stand_ins.easy_auth import encoded, principal
from tests.stand_ins.entra import ADA, BEN, OTHER_TENANT, TENANT

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in for the directory."""


async def chats_of(http: aiohttp.ClientSession, host: RunningHost, headers: dict[str, str]) -> set[str]:
    async with http.get(host.url + "/chat-history", headers=headers) as response:
        return {chat["id"] for chat in await response.json()}


async def test_nobody_finds_the_chats_of_other_users_or_of_other_tenants(
    behind_easy_auth: RunningHost, http: aiohttp.ClientSession
) -> None:
    host, ada = behind_easy_auth, principal(ADA)
    chat = await start_chat(http, host, ada)
    assert await messages_of(http, host, ada, chat) == 200
    assert chat in await chats_of(http, host, ada)
    no_tenant = {"X-MS-CLIENT-PRINCIPAL": encoded([("oid", f"{TENANT}/{ADA}")])}
    for other in (principal(BEN), principal(ADA, tenant=OTHER_TENANT), no_tenant):
        assert chat not in await chats_of(http, host, other)
        assert await messages_of(http, host, other, chat) == 404
        async with http.put(f"{host.url}/chat-history/{chat}", json={"messages": []}, headers=other) as response:
            assert response.status in (400, 404)
        async with http.delete(f"{host.url}/chat-history/{chat}", headers=other) as response:
            assert response.status == 404
    assert await messages_of(http, host, ada, chat) == 200


async def test_a_turn_is_recorded_only_in_a_chat_of_its_caller(
    behind_easy_auth: RunningHost, http: aiohttp.ClientSession
) -> None:
    host = behind_easy_auth
    chat = await start_chat(http, host, principal(ADA))
    for user, kept in ((BEN, 0), (ADA, 2)):
        sent = body(QUESTION, session_state={"conversation_id": chat})
        await ask(http, host, principal(user), sent)
        async with http.get(f"{host.url}/chat-history/{chat}/messages", headers=principal(ADA)) as response:
            assert len(await response.json()) == kept, user
