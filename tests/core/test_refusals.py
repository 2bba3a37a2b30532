"""Which turns begin again after a refusal, and without which messages."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from copy import replace

import pytest

from shared.chat_types import ChatRequest, Json, Message, Role, ToolCall
from shared.core.refusals import begin_without_refused, without_errors
from shared.errors import ContentFiltered, Unavailable, error_text, is_error_text
from shared.events import AgentWork, ChatEvent, CompletionStarted, Finished, TextDelta, ThoughtsAdded

STARTED = CompletionStarted("id", 1, "model")


def asked(*contents: str) -> ChatRequest:
    return ChatRequest(tuple(Message(Role.USER, content) for content in contents))


def answered(question: str, answer: str, *more: str) -> ChatRequest:
    messages = (Message(Role.USER, question), Message(Role.ASSISTANT, answer), *asked(*more).messages)
    return ChatRequest(messages)


class Turns:
    """Turns that are refused for the messages with these words, and remember what each was given."""

    def __init__(self, *refused: str, tells_which: bool = True) -> None:
        self.given: list[list[str]] = []
        self._refused = refused
        self._tells_which = tells_which

    async def begin(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        self.given.append([message.content for message in request.messages])
        yield STARTED
        places = [place for place, text in enumerate(self.given[-1]) if text in self._refused]
        if places:
            earlier = tuple(places[:1]) if places[0] < len(self.given[-1]) - 1 else ()
            results: Json = {"violence": {"filtered": True}}
            raise ContentFiltered(earlier=earlier if self._tells_which else None, results=results)
        yield TextDelta("Fine.")
        yield Finished("stop")


async def events_of(turns: Turns, request: ChatRequest) -> Sequence[ChatEvent]:
    async with aclosing(begin_without_refused(turns.begin, request)) as events:
        return [event async for event in events]


async def test_only_the_refused_question_is_left_out_and_the_answer_says_so() -> None:
    turns = Turns("bomb")
    events = await events_of(turns, asked("bomb", "Plus plan", "days?"))
    assert turns.given == [["bomb", "Plus plan", "days?"], ["Plus plan", "days?"]]
    assert [type(event) for event in events] == [CompletionStarted, TextDelta, ThoughtsAdded, Finished]


async def test_a_turn_begins_at_most_three_times_however_many_questions_are_refused() -> None:
    turns = Turns("bomb")
    await events_of(turns, asked(*["bomb"] * 500, "days?"))
    assert [len(given) for given in turns.given] == [501, 500, 1]


@pytest.mark.parametrize(
    "conversation", [("bomb",), ("days?", "bomb"), ("bomb", "bomb")], ids=["alone", "the last", "both"]
)
async def test_a_refused_question_is_told_to_the_caller(conversation: Sequence[str]) -> None:
    turns = Turns("bomb")
    with pytest.raises(ContentFiltered):
        await events_of(turns, asked(*conversation))
    assert turns.given[-1][-1] == "bomb"


async def test_without_a_word_of_which_message_is_refused_all_without_an_answer_are_left_out() -> None:
    turns = Turns("bomb", tells_which=False)
    await events_of(turns, asked("Plus plan", "bomb", "days?"))
    assert turns.given[1:] == [["days?"]]


async def test_a_turn_that_is_refused_after_its_first_words_does_not_begin_again() -> None:
    begun = 0

    async def refused_late(_: ChatRequest) -> AsyncGenerator[ChatEvent]:
        nonlocal begun
        begun += 1
        yield TextDelta("Fine")
        raise ContentFiltered(earlier=(0,))

    with pytest.raises(ContentFiltered):
        async with aclosing(begin_without_refused(refused_late, asked("bomb", "days?"))) as events:
            assert [event async for event in events] == []
    assert begun == 1


@pytest.mark.parametrize(
    ("request_", "says_so"),
    [
        (answered("bomb", "Boom.", "days?"), True),
        (asked("bomb"), False),
        (asked("days?", "bomb"), False),  # the second time the model is asked the last question alone
        (replace(answered("bomb", "Boom.", "days?"), single_turn=True), False),
    ],
    ids=["an answered question", "one question", "no answered question", "ask"],
)
async def test_a_refusal_by_the_models_service_says_if_an_earlier_message_may_be_the_reason(
    request_: ChatRequest, says_so: bool
) -> None:
    with pytest.raises(ContentFiltered) as raised:
        await events_of(Turns("bomb", tells_which=False), request_)
    assert ("an earlier message" in raised.value.message and "new chat" in raised.value.message) == says_so
    assert raised.value.results == {"violence": {"filtered": True}}


async def test_a_refusal_amid_an_answer_does_not_name_earlier_messages() -> None:
    async def refused_late(_: ChatRequest) -> AsyncGenerator[ChatEvent]:
        yield TextDelta("Fine")
        raise ContentFiltered

    with pytest.raises(ContentFiltered) as raised:
        async with aclosing(begin_without_refused(refused_late, answered("bomb", "Boom.", "days?"))) as events:
            assert [event async for event in events] == [TextDelta("Fine")]
    assert "earlier" not in raised.value.message


async def test_ask_has_no_earlier_messages_to_leave_out() -> None:
    turns = Turns("bomb")
    request = ChatRequest(asked("bomb", "days?").messages, single_turn=True)
    with pytest.raises(ContentFiltered):
        await events_of(turns, request)


def test_what_only_looks_like_an_error_stays() -> None:
    error = error_text(Unavailable("The model is down."), "1b2e")
    messages = (
        Message(Role.USER, error),
        Message(Role.ASSISTANT, "It was told (invocation 1b2e) and is mended."),
        Message(Role.USER, "days?"),
    )
    assert without_errors(ChatRequest(messages)).messages == messages
    assert is_error_text(error)
    assert not is_error_text("(invocation " + "x" * 100_000 + ")")


def test_an_empty_message_of_the_assistant_is_no_answer_but_a_call_of_a_tool_stays() -> None:
    call = Message(Role.ASSISTANT, "", (ToolCall("1", "weather", "{}"),))
    empty, question = Message(Role.ASSISTANT, " "), Message(Role.USER, "days?")
    assert without_errors(ChatRequest((question, empty, call, question))).messages == (question, call, question)


async def test_news_of_the_work_do_not_wait_for_the_first_words_and_do_not_keep_a_turn_from_beginning_again() -> None:
    news = AgentWork("Clerk", "searching")
    first_words = asyncio.Event()
    turns = Turns("bomb")

    async def begin(request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        yield news
        if len(turns.given) == 1:
            await first_words.wait()
        async for event in turns.begin(request):
            yield event

    async with aclosing(begin_without_refused(begin, asked("bomb", "days?"))) as events:
        assert await anext(events) == news
        assert await anext(events) == news, "the first turn was refused"
        first_words.set()
        rest = [type(event) async for event in events]
    assert rest == [CompletionStarted, TextDelta, ThoughtsAdded, Finished]
