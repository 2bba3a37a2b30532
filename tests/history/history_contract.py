"""What every history store keeps, whatever is behind it. A subclass gives `history`, empty for its owners.

Its `history_of_three` keeps three conversations of an owner at most, and no other test uses its `lone_history`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from copy import replace
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import msgspec
import pytest

from shared.chat_types import Role
from shared.errors import NotFound, TooLarge
from shared.history import NEWEST, UNTITLED, Edit, HistoryStore, ListPosition, Mode, Page, StoredMessage, new_session_id
from shared.history.searching import find_chats
from shared.history.sharing import links_of, read_shared, share, stop_sharing

ODD_OWNERS = (
    "",
    "a/b\\c#d?e%",
    "user:'; DROP TABLE conversations; --",
    "📎" * 2_000,
    "\x00\x7f\u2028",
    "c-",
    "x" * 40_000,
)
UNKNOWN_ID = "5f0c3f7e-8f5b-4c39-9d55-6f1f6f0f4b1a"
NO_IDS = ("", "no-such-id", "../..", "' or 1 eq 1", "%00", "c-", UNKNOWN_ID, UNKNOWN_ID.upper(), "💬", "a" * 5_000)
ODD_TEXTS = (
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "\x00\x01\x1f\x7f\x85\u2028\ufeff\uffff",
    "",
    " \r\n\t ",
    "𝔘" * 40_000,
    "ü" * 100_000,
    "<a>&amp;]]>",
)


TITLE = "What does the Standard plan pay for new glasses after two…"


def said(number: int, content: str | None = None) -> StoredMessage:
    role = Role.ASSISTANT if number % 2 else Role.USER
    return StoredMessage(f"id-{number}", role, content or f"Message {number} 👋🏽", "02:15 PM")


def new_owner() -> str:
    return f"user:{uuid4()}"


class Between:
    """A store on which something else is done before one of its calls."""

    def __init__(self, history: HistoryStore, call: int, work: Callable[[], Awaitable[None]]) -> None:
        self._history, self._left, self._work = history, call, work

    def __getattr__(self, name: str) -> Any:
        async def called(*values: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                await self._work()
            return await getattr(self._history, name)(*values, **named)

        return called


class HistoryContract:
    async def started(self, history: HistoryStore, *messages: StoredMessage) -> tuple[str, str]:
        """A new owner with one conversation; their ids."""
        owner = new_owner()
        made = await history.create(owner, Mode.STANDARD, "Title")
        if messages:
            await history.write(owner, made.id, messages)
        return owner, made.id

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
        old, older = await self.started(history, said(0), said(1)), await self.started(history, said(0))
        written = (await history.write(*old, [said(2)])).last_updated
        new = await self.started(history, said(0))
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
        owner, _ = await self.started(history, *(said(number, text) for number, text in enumerate(texts)))
        for text, number in zip(texts, range(9), strict=False):
            chat = await history.create(owner, Mode.STANDARD, f"{number}")
            await history.write(owner, chat.id, [said(0, text)])
        found, _ = await find_chats(history, owner, ["gartenstrasse"], NEWEST)
        assert len(found) == 10
        assert await find_chats(history, owner, ["gartenstrasse", "y"], NEWEST) == ([], None)

    async def test_an_answers_context_comes_back_as_it_was(self, history: HistoryStore) -> None:
        context = msgspec.Raw(b'{"thoughts":[{"props":null}],"data_points":{"text":["\xc3\xbc"]}}')
        answer = StoredMessage("1", Role.ASSISTANT, "Yes.", "now", context=context)
        owner, chat = await self.started(history, answer)
        assert bytes((await history.messages(owner, chat))[0].context) == bytes(context)

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

    async def test_a_message_comes_back_with_all_its_fields(self, history: HistoryStore) -> None:
        whole = StoredMessage(
            "id",
            Role.TOOL,
            "found",
            "02:15 PM",
            agent_name="Researcher",
            agent_identifier="agent-1",
            tool_call=msgspec.Raw(b'{"name":"search","arguments":[1,null,{"deep":[0.5,"x"]}]}'),
            tool_call_id="call-1",
            finish_reason="length",
        )
        owner, chat = await self.started(history, whole, said(1))
        assert list(await history.messages(owner, chat)) == [whole, said(1)]

    async def test_a_write_tells_how_the_conversation_stands(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history)
        written = await history.write(owner, chat, [said(0), said(1, "The last one")])
        assert (written.id, written.title, written.message_count) == (chat, "Title", 2)
        assert written.last_message == "The last one"
        assert list(await history.conversations(owner)) == [written]

    async def test_messages_are_added_or_updated_by_their_ids(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, said(0), said(1))
        written = await history.write(owner, chat, [said(1, "Changed"), said(2)])
        assert list(await history.messages(owner, chat)) == [said(0), said(1, "Changed"), said(2)]
        assert (written.message_count, written.last_message) == (3, said(2).content)

    async def test_writing_the_same_again_changes_nothing(self, history: HistoryStore) -> None:
        messages = [said(number) for number in range(4)]
        owner, chat = await self.started(history, *messages)
        await history.write(owner, chat, messages)
        assert list(await history.messages(owner, chat)) == messages

    async def test_writing_nothing_leaves_everything(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, said(0))
        assert (await history.write(owner, chat, [])).message_count == 1
        owner, chat = await self.started(history)
        assert (await history.write(owner, chat, [])).last_message == ""

    async def test_a_title_replaces_the_one_before(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, said(0))
        renamed = await history.write(owner, chat, [], Edit("Dental care"))
        assert (renamed.title, renamed.message_count) == ("Dental care", 1)
        written = await history.write(owner, chat, [said(1)])
        assert written.title == "Dental care"
        assert list(await history.conversations(owner)) == [written]

    async def test_a_pinned_chat_is_listed_alone_and_keeps_its_place(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, said(0))
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

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    async def test_any_text_comes_back_whole(self, history: HistoryStore, text: str) -> None:
        owner, chat = await self.started(history, StoredMessage(text[:500], Role.USER, text, text[:20]))
        kept = await history.messages(owner, chat)
        assert [(message.id, message.content, message.timestamp) for message in kept] == [(text[:500], text, text[:20])]

    async def test_a_thousand_messages_are_read_back_whole(self, history: HistoryStore) -> None:
        messages = [said(number, f"{number} " + "ä𝄞" * 600) for number in range(1_000)]
        owner, chat = await self.started(history, *messages)
        assert list(await history.messages(owner, chat)) == messages
        assert [found.message_count for found in await history.conversations(owner)] == [1_000]

    async def test_the_newest_messages_are_read_alone(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history)
        for number in range(0, 12, 3):
            await history.write(owner, chat, [said(number + each) for each in range(3)])
        for newest in (1, 3, 4, 11, 12, 13):
            kept = await history.messages(owner, chat, newest)
            assert list(kept) == [said(number) for number in range(12)][-newest:]

    async def test_one_message_of_megabytes_is_read_back_whole(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, said(0, "𝄞" * 1_500_000))
        assert [message.content for message in await history.messages(owner, chat)] == ["𝄞" * 1_500_000]

    async def test_a_full_conversation_takes_no_more_and_loses_nothing(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, *(said(number) for number in range(999)))
        with pytest.raises(TooLarge, match="1,000 messages"):
            await history.write(owner, chat, [said(0, "Changed"), said(1_000), said(1_001)])
        assert (await history.messages(owner, chat))[0] == said(0)
        assert (await history.write(owner, chat, [said(1_000)])).message_count == 1_000
        with pytest.raises(TooLarge, match="8,388,608 bytes"):
            await history.write(owner, chat, [said(0, "x" * 9_000_000)])
        assert (await history.messages(owner, chat))[0] == said(0)

    async def test_a_preview_is_the_start_of_the_last_message(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history)
        assert (await history.write(owner, chat, [said(0, "x" * 500)])).last_message == "x" * 200 + "…"

    @pytest.mark.parametrize(
        ("title", "question", "expected"),
        [
            (UNTITLED, "How many\n vacation days? ", "How many vacation days?"),
            (UNTITLED, "What does the Standard plan pay for new glasses after two years of service?", TITLE),
            (UNTITLED, "👩‍👩‍👧‍👦" * 40, "👩‍👩‍👧‍👦" * 8 + "…"),
            (UNTITLED, " ", UNTITLED),
            ("Glasses", "How many vacation days?", "Glasses"),
        ],
    )
    async def test_a_chat_without_a_title_takes_the_words_of_its_first_question(
        self, history: HistoryStore, title: str, question: str, expected: str
    ) -> None:
        owner = new_owner()
        made = await history.create(owner, Mode.STANDARD, title)
        first = await history.write(owner, made.id, [said(1), said(0, question), said(2, "Something else?")])
        later = await history.write(owner, made.id, [said(4, "And glasses?")])
        assert [first.title, later.title] == [expected, expected]
        assert [chat.title for chat in await history.conversations(owner)] == [expected]

    async def test_what_is_taken_back_is_as_if_it_had_never_been_written(self, history: HistoryStore) -> None:
        owner = new_owner()
        made = await history.create(owner, Mode.STANDARD, UNTITLED)
        question, other = said(0, "How many days?"), said(2, "And glasses?")
        assert (await history.write(owner, made.id, [question])).title == "How many days?"
        taken = await history.write(owner, made.id, [], Edit(taken_back=[question]))
        assert replace(taken, last_updated=made.last_updated) == made
        assert list(await history.messages(owner, made.id)) == []
        again = await history.write(owner, made.id, [], Edit(taken_back=[question]))
        assert (again.title, again.message_count) == (UNTITLED, 0)
        await history.write(owner, made.id, [question])
        await history.write(owner, made.id, [other, said(3)])  # by another turn
        left = await history.write(owner, made.id, [said(5)], Edit(taken_back=[question]))
        assert list(await history.messages(owner, made.id)) == [other, said(3), said(5)]
        assert (left.title, left.message_count, left.last_message) == ("And glasses?", 3, said(5).content)
        assert list(await history.conversations(owner)) == [left]
        await history.write(owner, made.id, [], Edit("Named"))
        moved = await history.write(owner, made.id, [question], Edit(taken_back=[other]))
        assert (moved.title, moved.message_count, moved.last_message) == ("Named", 3, question.content)
        assert list(await history.messages(owner, made.id)) == [said(3), said(5), question]

    async def test_what_is_taken_back_amid_writes_is_gone_and_they_lose_nothing(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, said(0), said(1, "x" * 600_000))

        async def refused(number: int) -> None:
            question = said(number)
            await history.write(owner, chat, [question])
            await history.write(owner, chat, [], Edit(taken_back=[question]))

        turns = [history.write(owner, chat, [said(100 + number)]) for number in range(6)]
        await asyncio.gather(*turns, *(refused(10 + number) for number in range(6)))
        kept = {message.id for message in await history.messages(owner, chat)}
        assert kept == {f"id-{number}" for number in (0, 1, *range(100, 106))}
        assert [found.message_count for found in await history.conversations(owner)] == [8]

    async def test_an_answer_is_read_after_its_question_whatever_was_written_between(
        self, history: HistoryStore
    ) -> None:
        answers = [replace(said(number), answers=f"id-{of}") for number, of in ((5, 2), (7, 0), (9, 2), (11, 99))]
        owner, chat = await self.started(history, said(0), said(2), *answers)
        kept = [message.id for message in await history.messages(owner, chat)]
        assert kept == ["id-0", "id-7", "id-2", "id-5", "id-9", "id-11"]
        assert [message.id for message in await history.messages(owner, chat, 3)] == ["id-7", "id-9", "id-11"]

    async def test_what_is_anothers_is_not_there(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, said(0))
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
        owner, chat = await self.started(history, said(0))
        kept = await history.create(owner, Mode.STANDARD, "kept")
        await history.delete(owner, chat)
        assert list(await history.conversations(owner)) == [kept]
        await self.assert_not_found(history, owner, chat)

    async def test_writers_at_the_same_time_lose_nothing(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, said(0))
        await asyncio.gather(*(history.write(owner, chat, [said(10 + n), said(50 + n)]) for n in range(12)))
        kept = await history.messages(owner, chat)
        assert kept[0] == said(0)
        assert {message.id for message in kept} == {f"id-{n}" for n in (0, *range(10, 22), *range(50, 62))}
        assert [found.message_count for found in await history.conversations(owner)] == [25]

    async def test_readers_see_a_write_whole_or_not_at_all(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history)
        writing = asyncio.create_task(self.write_pairs(history, owner, chat))
        while not writing.done():
            await asyncio.sleep(0)  # a store may answer at once
            assert len(await history.messages(owner, chat)) % 2 == 0
        await writing
        assert len(await history.messages(owner, chat)) == 20

    async def test_readers_see_what_is_replaced_together_with_what_is_added(self, history: HistoryStore) -> None:
        owner, chat = await self.started(history, said(0, "1"))

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
        owner, chat = await self.started(history)
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
        owner, chat = await self.started(history, said(0), StoredMessage("t", Role.TOOL, "A secret", "now"), said(1))
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
        owner, chat = await self.started(history, said(0))
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
        owner, chat = await self.started(history, said(0))
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

    async def pages(self, history: HistoryStore, owner: str, mode: Mode | None, limit: int) -> list[list[str]]:
        """The ids of all conversations, by page."""
        found: list[list[str]] = []
        after = None
        while page := await history.conversations(owner, Page(mode, limit, after)):
            found.append([chat.id for chat in page])
            after = ListPosition(page[-1].last_updated, page[-1].id)
        return found

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
