"""What every history store keeps of messages: a part of `HistoryContract`."""

import asyncio
from copy import replace

import msgspec
import pytest

from shared.chat_types import Role
from shared.errors import TooLarge
from shared.history import UNTITLED, Edit, HistoryStore, Mode, StoredMessage
from tests.history.kept_chats import ODD_TEXTS, TITLE, new_owner, said, started


class MessageContract:
    async def test_an_answers_context_comes_back_as_it_was(self, history: HistoryStore) -> None:
        context = msgspec.Raw(b'{"thoughts":[{"props":null}],"data_points":{"text":["\xc3\xbc"]}}')
        answer = StoredMessage("1", Role.ASSISTANT, "Yes.", "now", context=context)
        owner, chat = await started(history, answer)
        assert bytes((await history.messages(owner, chat))[0].context) == bytes(context)

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
        owner, chat = await started(history, whole, said(1))
        assert list(await history.messages(owner, chat)) == [whole, said(1)]

    async def test_a_write_tells_how_the_conversation_stands(self, history: HistoryStore) -> None:
        owner, chat = await started(history)
        written = await history.write(owner, chat, [said(0), said(1, "The last one")])
        assert (written.id, written.title, written.message_count) == (chat, "Title", 2)
        assert written.last_message == "The last one"
        assert list(await history.conversations(owner)) == [written]

    async def test_messages_are_added_or_updated_by_their_ids(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0), said(1))
        written = await history.write(owner, chat, [said(1, "Changed"), said(2)])
        assert list(await history.messages(owner, chat)) == [said(0), said(1, "Changed"), said(2)]
        assert (written.message_count, written.last_message) == (3, said(2).content)

    async def test_writing_the_same_again_changes_nothing(self, history: HistoryStore) -> None:
        messages = [said(number) for number in range(4)]
        owner, chat = await started(history, *messages)
        await history.write(owner, chat, messages)
        assert list(await history.messages(owner, chat)) == messages

    async def test_writing_nothing_leaves_everything(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0))
        assert (await history.write(owner, chat, [])).message_count == 1
        owner, chat = await started(history)
        assert (await history.write(owner, chat, [])).last_message == ""

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    async def test_any_text_comes_back_whole(self, history: HistoryStore, text: str) -> None:
        owner, chat = await started(history, StoredMessage(text[:500], Role.USER, text, text[:20]))
        kept = await history.messages(owner, chat)
        assert [(message.id, message.content, message.timestamp) for message in kept] == [(text[:500], text, text[:20])]

    async def test_a_thousand_messages_are_read_back_whole(self, history: HistoryStore) -> None:
        messages = [said(number, f"{number} " + "ä𝄞" * 600) for number in range(1_000)]
        owner, chat = await started(history, *messages)
        assert list(await history.messages(owner, chat)) == messages
        assert [found.message_count for found in await history.conversations(owner)] == [1_000]

    async def test_the_newest_messages_are_read_alone(self, history: HistoryStore) -> None:
        owner, chat = await started(history)
        for number in range(0, 12, 3):
            await history.write(owner, chat, [said(number + each) for each in range(3)])
        for newest in (1, 3, 4, 11, 12, 13):
            kept = await history.messages(owner, chat, newest)
            assert list(kept) == [said(number) for number in range(12)][-newest:]

    async def test_one_message_of_megabytes_is_read_back_whole(self, history: HistoryStore) -> None:
        owner, chat = await started(history, said(0, "𝄞" * 1_500_000))
        assert [message.content for message in await history.messages(owner, chat)] == ["𝄞" * 1_500_000]

    async def test_a_full_conversation_takes_no_more_and_loses_nothing(self, history: HistoryStore) -> None:
        owner, chat = await started(history, *(said(number) for number in range(999)))
        with pytest.raises(TooLarge, match="1,000 messages"):
            await history.write(owner, chat, [said(0, "Changed"), said(1_000), said(1_001)])
        assert (await history.messages(owner, chat))[0] == said(0)
        assert (await history.write(owner, chat, [said(1_000)])).message_count == 1_000
        with pytest.raises(TooLarge, match="8,388,608 bytes"):
            await history.write(owner, chat, [said(0, "x" * 9_000_000)])
        assert (await history.messages(owner, chat))[0] == said(0)

    async def test_a_preview_is_the_start_of_the_last_message(self, history: HistoryStore) -> None:
        owner, chat = await started(history)
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
        owner, chat = await started(history, said(0), said(1, "x" * 600_000))

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
        owner, chat = await started(history, said(0), said(2), *answers)
        kept = [message.id for message in await history.messages(owner, chat)]
        assert kept == ["id-0", "id-7", "id-2", "id-5", "id-9", "id-11"]
        assert [message.id for message in await history.messages(owner, chat, 3)] == ["id-7", "id-9", "id-11"]
