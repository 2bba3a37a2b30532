"""What every history store lists and finds: a part of `HistoryContract`."""

from contextlib import suppress
from copy import replace
from datetime import timedelta

import pytest

from shared.errors import NotFound, TooLarge
from shared.history import NEWEST, Edit, HistoryStore, ListPosition, Mode, Page, new_session_id
from shared.history.searching import find_chats
from tests.history.kept_chats import UNKNOWN_ID, new_owner, said, started


class ListContract:
    async def test_a_chat_of_a_session_has_its_id_and_starting_it_again_changes_nothing(
        self, history: HistoryStore
    ) -> None:
        owner, session = new_owner(), new_session_id()
        assert (await history.create(owner, Mode.STANDARD, "First", session)).id == session
        await history.write(owner, session, [said(0)])
        again = await history.create(owner, Mode.STANDARD, "Second", session)
        assert (again.title, again.message_count) == ("First", 1)
        assert [chat.id for chat in await history.conversations(owner)] == [session]

    async def test_a_session_of_another_owner_is_neither_seen_nor_written(self, history: HistoryStore) -> None:
        owner, other, session = new_owner(), new_owner(), new_session_id()
        await history.create(owner, Mode.STANDARD, "Mine", session)
        await history.write(owner, session, [said(0)])
        with suppress(NotFound):
            await history.create(other, Mode.STANDARD, "Theirs", session)
            await history.write(other, session, [said(1)])
        assert list(await history.messages(owner, session)) == [said(0)]
        assert [chat.title for chat in await history.conversations(owner)] == ["Mine"]

    async def test_chats_are_found_by_words_of_titles_and_texts_a_page_at_a_time(self, history: HistoryStore) -> None:
        owner, other = new_owner(), new_owner()
        texts = ("Wie groß ist der GARTEN?", "garden", "Der Garten ist GROSS.")
        made = [await history.create(owner, Mode.STANDARD, f"Title {number}") for number in range(3)]
        for chat, text in zip(made, texts, strict=True):
            await history.write(owner, chat.id, [said(0, text)])
        theirs = await history.create(other, Mode.STANDARD, "groß Garten")
        first, last = await find_chats(history, owner, ["gross", "garten"], Page(limit=1))
        assert ([chat.id for chat in first], last and last.id) == ([made[2].id], made[2].id)
        assert first[0].found == "Der Garten ist GROSS."
        rest = await find_chats(
            history, owner, ["gross", "garten"], Page(after=ListPosition(first[0].last_updated, first[0].id))
        )
        assert ([chat.id for chat in rest[0]], rest[1]) == ([made[0].id], None)
        by_both, _ = await find_chats(history, owner, ["title", "1", "gard"], NEWEST)
        assert [chat.id for chat in by_both] == [made[1].id]
        assert await find_chats(history, other, ["title"], NEWEST) == ([], None)
        assert [chat.id for chat in (await find_chats(history, other, ["garten"], NEWEST))[0]] == [theirs.id]

    async def test_chats_that_were_last_written_before_a_time_are_deleted_whoever_owns_them(
        self, lone_history: HistoryStore
    ) -> None:
        history = lone_history
        old, older = await started(history, said(0), said(1)), await started(history, said(0))
        written = (await history.write(*old, [said(2)])).last_updated
        new = await started(history, said(0))
        await history.delete_older(written)
        assert [message.content for message in await history.messages(*old)] == [said(n).content for n in range(3)]
        await history.delete_older(written + timedelta(microseconds=1))
        for gone in (old, older):
            with pytest.raises(NotFound):
                await history.messages(*gone)
            assert await history.conversations(gone[0]) == []
        assert list(await history.messages(*new)) == [said(0)]

    async def test_words_are_found_at_every_place_of_a_long_text(self, history: HistoryStore) -> None:
        word, long = "Gartenstraße", 64 * 1024
        texts = [f"{'x' * (long - cut)}{word}{'x' * long}" for cut in range(len(word) + 1)]
        owner, _ = await started(history, *(said(number, text) for number, text in enumerate(texts)))
        for text, number in zip(texts, range(9), strict=False):
            chat = await history.create(owner, Mode.STANDARD, f"{number}")
            await history.write(owner, chat.id, [said(0, text)])
        found, _ = await find_chats(history, owner, ["gartenstrasse"], NEWEST)
        assert len(found) == 10
        assert await find_chats(history, owner, ["gartenstrasse", "y"], NEWEST) == ([], None)

    async def test_a_new_conversation_is_empty_and_listed(self, history: HistoryStore) -> None:
        owner = new_owner()
        made = await history.create(owner, Mode.MULTI_AGENT, "Fliegende Fische 🐟")
        assert (made.title, made.mode, made.last_message, made.message_count) == (
            "Fliegende Fische 🐟",
            Mode.MULTI_AGENT,
            "",
            0,
        )
        assert made.last_updated.tzinfo is not None
        assert list(await history.conversations(owner)) == [made]
        assert list(await history.messages(owner, made.id)) == []

    async def test_a_title_replaces_the_one_before(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0))
        renamed = await history.write(owner, chat, [], Edit("Dental care"))
        assert (renamed.title, renamed.message_count) == ("Dental care", 1)
        written = await history.write(owner, chat, [said(1)])
        assert written.title == "Dental care"
        assert list(await history.conversations(owner)) == [written]

    async def test_a_pinned_chat_is_listed_alone_and_keeps_its_place(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0))
        before = await history.write(owner, chat, [])
        newer = await history.create(owner, Mode.MULTI_AGENT, "Newer")
        pinned = await history.write(owner, chat, [], Edit(pinned=True))
        assert pinned == replace(before, pinned=True) == await history.write(owner, chat, [], Edit(pinned=True))
        assert list(await history.conversations(owner)) == [newer, pinned]
        assert list(await history.conversations(owner, Page(pinned=True))) == [pinned]
        assert list(await history.conversations(owner, Page(Mode.MULTI_AGENT, pinned=True))) == []
        assert list(await history.conversations(new_owner(), Page(pinned=True))) == []
        place = ListPosition(pinned.last_updated, pinned.id)
        assert list(await history.conversations(owner, Page(after=place, pinned=True))) == []
        renamed = await history.write(owner, chat, [said(1)], Edit("New title"))
        assert (renamed.title, renamed.pinned) == ("New title", True)
        assert list(await history.conversations(owner)) == [renamed, newer]
        await history.write(owner, chat, [said(2)], Edit(pinned=False))
        assert list(await history.conversations(owner, Page(pinned=True))) == []
        await history.write(owner, chat, [], Edit(pinned=True))
        await history.delete(owner, chat)
        assert list(await history.conversations(owner, Page(pinned=True))) == []

    async def test_lists_are_newest_first_and_of_one_mode(self, history: HistoryStore) -> None:
        owner = new_owner()
        made = [await history.create(owner, mode, "t") for mode in (*Mode, *Mode)]
        await history.write(owner, made[0].id, [said(0)])
        assert [found.id for found in await history.conversations(owner)] == [made[n].id for n in (0, 3, 2, 1)]
        assert [found.id for found in await history.conversations(owner, Page(Mode.STANDARD))] == [
            made[0].id,
            made[2].id,
        ]
        assert [found.id for found in await history.conversations(owner, Page(Mode.MULTI_AGENT))] == [
            made[3].id,
            made[1].id,
        ]

    async def test_a_list_is_read_in_pages(self, history: HistoryStore) -> None:
        owner = new_owner()
        made = [await history.create(owner, mode, "t") for mode in (*Mode,) * 4]
        await history.create(new_owner(), Mode.STANDARD, "another's")
        newest = [chat.id for chat in reversed(made)]
        assert await self.pages(history, owner, None, 3) == [newest[:3], newest[3:6], newest[6:]]
        assert await self.pages(history, owner, None, 8) == [newest]
        of_one_mode = [chat.id for chat in reversed(made) if chat.mode is Mode.STANDARD]
        assert await self.pages(history, owner, Mode.STANDARD, 3) == [of_one_mode[:3], of_one_mode[3:]]

    async def test_a_page_goes_on_where_the_one_before_ended_whatever_happened_since(
        self, history: HistoryStore
    ) -> None:
        owner = new_owner()
        made = [await history.create(owner, Mode.STANDARD, "t") for _ in range(6)]
        last = (await history.conversations(owner, Page(limit=3)))[-1]
        assert last.id == made[3].id
        await history.delete(owner, last.id)
        await history.write(owner, made[5].id, [said(0)])
        rest = await history.conversations(owner, Page(limit=2, after=ListPosition(last.last_updated, last.id)))
        assert [chat.id for chat in rest] == [made[2].id, made[1].id]

    async def test_conversations_of_the_same_moment_are_all_listed(self, history: HistoryStore) -> None:
        owner = new_owner()
        made = await history.create(owner, Mode.STANDARD, "t")
        others = (UNKNOWN_ID.replace("5f0c", "0000"), "ffffffff" + UNKNOWN_ID[8:])
        found = [
            [chat.id for chat in await history.conversations(owner, Page(after=ListPosition(made.last_updated, other)))]
            for other in others
        ]
        assert found == [[made.id], []]

    async def test_an_owner_with_as_many_conversations_as_are_kept_starts_no_more_and_loses_none(
        self, history_of_three: HistoryStore
    ) -> None:
        history, owner = history_of_three, new_owner()
        session = new_session_id()
        made = [await history.create(owner, mode, "t") for mode in (Mode.STANDARD, Mode.MULTI_AGENT)]
        made.append(await history.create(owner, Mode.STANDARD, "t", session))
        for new in (None, new_session_id()):
            with pytest.raises(TooLarge, match="You have 3 chats, and no more can be kept"):
                await history.create(owner, Mode.STANDARD, "one too many", new)
        assert (await history.create(owner, Mode.STANDARD, "t", session)).id == session
        assert list(await history.conversations(owner)) == made[::-1]
        assert (await history.write(owner, made[0].id, [said(0)])).message_count == 1
        await history.create(new_owner(), Mode.STANDARD, "another's")
        await history.delete(owner, made[1].id)
        await history.create(owner, Mode.STANDARD, "again")
        assert len(await history.conversations(owner)) == 3

    async def pages(self, history: HistoryStore, owner: str, mode: Mode | None, limit: int) -> list[list[str]]:
        """The ids of all conversations, by page."""
        found: list[list[str]] = []
        after = None
        while page := await history.conversations(owner, Page(mode, limit, after)):
            found.append([chat.id for chat in page])
            after = ListPosition(page[-1].last_updated, page[-1].id)
        return found
