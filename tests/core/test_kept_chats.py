"""Which requests get a kept conversation, and whose."""

import asyncio
from copy import replace
from pathlib import Path

import pytest

from shared.chat_types import Caller, ChatRequest, ChatState, Json, Message, RequestContext, Role
from shared.core.context_window import HISTORY_TOKENS
from shared.core.kept_chats import resume
from shared.history import HistoryStore, Mode, NoHistory, StoredMessage, owner_of
from shared.history.sqlite_history import SqliteHistory

ANNA, BEN = Caller("anna", tenant="t"), Caller("ben", tenant="t")
QUESTION = Message(Role.USER, "And can I carry them over?")
SAID = (
    StoredMessage("1", Role.USER, "How many vacation days?", "now"),
    StoredMessage("2", Role.ASSISTANT, "30 days.", "now"),
)


@pytest.fixture
def history(tmp_path: Path) -> SqliteHistory:
    return SqliteHistory(tmp_path / "history.sqlite")


def asked(state: Json = None, *, has_state: bool = True) -> ChatRequest:
    named = state if isinstance(state, str) else None
    return ChatRequest((QUESTION,), chat=ChatState(state, has_session_state=has_state, conversation_id=named))


async def resumed(history: HistoryStore, request: ChatRequest, caller: Caller = ANNA) -> ChatRequest:
    context = RequestContext("id-1", asyncio.get_running_loop().time() + 60, caller)
    return await resume(request, context, history, Mode.STANDARD)


async def kept(history: SqliteHistory, *messages: StoredMessage) -> str:
    chat = await history.create(owner_of(ANNA), Mode.STANDARD, "T")
    await history.write(owner_of(ANNA), chat.id, messages)
    return chat.id


@pytest.mark.parametrize("has_state", [True, False], ids=["null", "none"])
async def test_a_first_message_without_a_state_gets_a_chat_of_its_callers(
    history: SqliteHistory, *, has_state: bool
) -> None:
    request = await resumed(history, asked(has_state=has_state))
    (chat,) = await history.conversations(owner_of(ANNA))
    assert request.chat == ChatState.kept(chat.id)
    assert request.messages == (QUESTION,)
    assert await history.conversations(owner_of(BEN)) == []


async def test_a_message_with_the_state_gets_what_was_said_before(history: SqliteHistory) -> None:
    request = await resumed(history, asked(await kept(history, *SAID)))
    assert [message.content for message in request.messages] == [
        "How many vacation days?",
        "30 days.",
        QUESTION.content,
    ]
    assert request.chat.regenerates is False  # also if it is the last question once more


async def test_the_state_of_another_caller_gives_nothing_and_tells_nothing(history: SqliteHistory) -> None:
    chat = await kept(history, *SAID)
    assert await resumed(history, asked(chat), BEN) == asked(chat)
    unknown = "5f0c3f7e-8f5b-4c39-9d55-6f1f6f0f4b1a"
    assert await resumed(history, asked(unknown), BEN) == asked(unknown)
    assert await history.conversations(owner_of(BEN)) == []


async def test_a_long_chat_comes_back_as_far_as_a_prompt_takes_it(history: SqliteHistory) -> None:
    long = [StoredMessage(str(number), Role.USER, "word " * 1_000, "now") for number in range(100)]
    request = await resumed(history, asked(await kept(history, *long)))
    assert 1 < len(request.messages) < len(long)
    assert sum(len(message.content) for message in request.messages) <= 4 * HISTORY_TOKENS


@pytest.mark.parametrize(
    "request_",
    [
        asked({"any": "JSON"}),
        replace(asked(), single_turn=True),
        ChatRequest((QUESTION, Message(Role.ASSISTANT, "Yes."), QUESTION)),
    ],
    ids=["a state of the client's own", "ask", "a whole conversation"],
)
async def test_who_keeps_the_conversation_gets_none(history: SqliteHistory, request_: ChatRequest) -> None:
    assert await resumed(history, request_) == request_
    assert await history.conversations(owner_of(ANNA)) == []


@pytest.mark.parametrize("state", [None, "5f0c3f7e-8f5b-4c39-9d55-6f1f6f0f4b1a"])
async def test_without_a_history_or_with_a_broken_one_the_question_is_answered_alone(
    tmp_path: Path, state: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    assert await resumed(NoHistory(), asked(state)) == asked(state)
    assert not caplog.records
    broken = SqliteHistory(tmp_path)  # a folder is no file of a history
    assert await resumed(broken, asked(state)) == asked(state)
    assert "id-1: answered without its chat" in caplog.text
