"""What every history store keeps, whatever is behind it. A subclass gives `history`, empty for its owners.

Its `history_of_three` keeps three conversations of an owner at most, and no other test uses its `lone_history`.
"""

import asyncio
from contextlib import suppress
from typing import cast

import pytest

from shared.chat_types import Role
from shared.errors import NotFound
from shared.history import Edit, HistoryStore, Mode, StoredMessage, new_session_id
from shared.history.sharing import links_of, read_shared, share, stop_sharing
from tests.history.kept_chats import NO_IDS, ODD_OWNERS, Between, new_owner, said, started
from tests.history.list_contract import ListContract
from tests.history.message_contract import MessageContract


class HistoryContract(ListContract, MessageContract):
    async def test_what_is_anothers_is_not_there(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0))
        other = new_owner()
        await self.assert_not_found(history, other, chat)
        assert list(await history.conversations(other)) == []
        assert list(await history.messages(owner, chat)) == [said(0)]

    @pytest.mark.parametrize("chat", NO_IDS)
    async def test_what_no_store_gave_is_not_there(self, history: HistoryStore, chat: str) -> None:
        await self.assert_not_found(history, new_owner(), chat)

    @pytest.mark.parametrize("owner", ODD_OWNERS, ids=range(len(ODD_OWNERS)))
    async def test_any_owner_has_a_history_of_their_own(self, history: HistoryStore, owner: str) -> None:
        made = await history.create(owner, Mode.STANDARD, "t")
        await history.write(owner, made.id, [said(0)])
        assert [found.id for found in await history.conversations(owner)] == [made.id]
        assert list(await history.conversations(owner + " ")) == []
        await history.delete(owner, made.id)

    async def test_what_is_deleted_is_gone_and_the_rest_stays(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0))
        kept = await history.create(owner, Mode.STANDARD, "kept")
        await history.delete(owner, chat)
        assert list(await history.conversations(owner)) == [kept]
        await self.assert_not_found(history, owner, chat)

    async def test_writers_at_the_same_time_lose_nothing(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0))
        await asyncio.gather(*(history.write(owner, chat, [said(10 + n), said(50 + n)]) for n in range(12)))
        kept = await history.messages(owner, chat)
        assert kept[0] == said(0)
        assert {message.id for message in kept} == {f"id-{n}" for n in (0, *range(10, 22), *range(50, 62))}
        assert [found.message_count for found in await history.conversations(owner)] == [25]

    async def test_readers_see_a_write_whole_or_not_at_all(self, history: HistoryStore) -> None:
        owner, chat = await started(history)
        writing = asyncio.create_task(self.write_pairs(history, owner, chat))
        while not writing.done():
            await asyncio.sleep(0)  # a store may answer at once
            assert len(await history.messages(owner, chat)) % 2 == 0
        await writing
        assert len(await history.messages(owner, chat)) == 20

    async def test_readers_see_what_is_replaced_together_with_what_is_added(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0, "1"))

        async def write() -> None:
            for number in range(1, 20):
                await history.write(owner, chat, [said(0, f"{number + 1}"), said(number)])

        writing = asyncio.create_task(write())
        while not writing.done():
            await asyncio.sleep(0)  # a store may answer at once
            kept = await history.messages(owner, chat)
            assert kept[0].content == f"{len(kept)}"
        await writing

    async def test_a_delete_amid_writes_wins(self, history: HistoryStore) -> None:
        owner, chat = await started(history)
        writing = asyncio.create_task(self.write_pairs(history, owner, chat, times=100))
        while not writing.done():
            await asyncio.sleep(0)
            if len(await history.messages(owner, chat)) >= 4:
                break
        await history.delete(owner, chat)
        with pytest.raises(NotFound):
            await writing
        assert list(await history.conversations(owner)) == []

    async def test_a_shared_copy_is_what_was_said_until_it_is_no_longer_shared(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0), StoredMessage("t", Role.TOOL, "A secret", "now"), said(1))
        link = await share(history, owner, chat, "mine/")
        assert await links_of(history, owner, [chat, new_session_id()]) == [link, None]
        await history.write(owner, chat, [said(1, "Edited"), said(2)])
        copy, messages = await read_shared(history, link)
        assert [message.content for message in messages] == [said(0).content, said(1).content]
        assert (copy.id, copy.title) == (link, said(0).content)
        assert [one.id for one in await history.conversations(owner)] == [chat]
        assert {await share(history, owner, chat, "mine/") for _ in range(2)} == {link}
        assert [one.content for one in (await read_shared(history, link))[1]][1] == "Edited"
        await stop_sharing(history, owner, chat)
        for unknown in (link, chat, *NO_IDS):
            with pytest.raises(NotFound):
                await read_shared(history, unknown)
        with pytest.raises(NotFound):
            await share(history, new_owner(), chat, "mine/")
        await stop_sharing(history, owner, chat)

    async def test_a_copy_that_is_brought_up_to_date_keeps_its_link_as_long(self, lone_history: HistoryStore) -> None:
        history = lone_history
        owner, chat = await started(history, said(0))
        link = await share(history, owner, chat, "mine/")
        since = (await history.write(owner, chat, [said(1)])).last_updated
        assert await share(history, owner, chat, "mine/") == link
        await history.delete_older(since)
        await stop_sharing(history, owner, chat)
        with pytest.raises(NotFound):
            await read_shared(history, link)

    @pytest.mark.parametrize("call", range(1, 8))
    async def test_of_a_chat_that_is_stopped_while_it_is_shared_no_copy_stays(
        self, history: HistoryStore, call: int
    ) -> None:
        owner, chat = await started(history, said(0))
        links = {await share(history, owner, chat, "mine/")}
        stopped = Between(history, call, lambda: stop_sharing(history, owner, chat))
        with suppress(NotFound):
            links.add(await share(cast("HistoryStore", stopped), owner, chat, "mine/"))
        await stop_sharing(history, owner, chat)
        for link in links:
            with pytest.raises(NotFound):
                await read_shared(history, link)

    async def test_it_says_that_it_can_be_used(self, history: HistoryStore) -> None:
        health = await history.check()
        assert health.ok
        assert not health.needed

    async def write_pairs(self, history: HistoryStore, owner: str, chat: str, times: int = 1) -> None:
        """Write ten pairs of messages, and each of them as often as said."""
        for number in [*range(10)] * times:
            await history.write(owner, chat, [said(2 * number, "x" * 5_000), said(2 * number + 1)])
            await asyncio.sleep(0)  # a store may answer at once

    async def assert_not_found(self, history: HistoryStore, owner: str, chat: str) -> None:
        sentences: set[str] = set()
        for asked in (
            history.messages(owner, chat),
            history.write(owner, chat, [said(0)]),
            history.write(owner, chat, [said(0)], Edit("Title")),
            history.delete(owner, chat),
        ):
            with pytest.raises(NotFound) as raised:
                await asked
            sentences.add(raised.value.message)
        assert len(sentences) == 1
