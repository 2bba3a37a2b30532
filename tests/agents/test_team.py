"""Who speaks when, and who sees what, by each pattern; against the scripted stand-in."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import replace

import pytest

from shared.agents.definitions import Pattern
from shared.agents.turns import agents_turn
from shared.chat_models import ModelEvent, ModelFinished, ModelRequest, ModelText, Room
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_types import FileText, ImagePart, Json, Message, PartHealth, RequestContext, Role
from shared.errors import Unavailable
from shared.events import AgentMessage, Thought, Usage
from tests.agents.teams import QUESTION, Office, agent, agents, asked, context, texts

THREE = ("Ada", "Ben", "Cleo")


def script(office: Office, **texts: str) -> None:
    for name, text in texts.items():
        with office.service.to(f"Be {name}."):
            office.service.reply(text)


async def test_all_of_a_concurrent_team_answer_at_once_and_none_sees_another(office: Office) -> None:
    everyone_asks = asyncio.Event()
    for name in THREE:
        with office.service.to(f"Be {name}."):
            office.service.reply(everyone_asks, f"I am {name}.")
    answering = asyncio.create_task(office.messages(agents(Pattern.CONCURRENT, *THREE)))
    await office.service.request_number(3)
    everyone_asks.set()
    messages = await answering
    assert sorted(texts(messages)) == [(name, f"I am {name}.") for name in THREE]
    assert {message.agent: message.position for message in messages} == {"Ada": 0, "Ben": 1, "Cleo": 2}
    assert [office.prompts(name) for name in THREE] == [[[f"user: {QUESTION}"]]] * 3


async def test_what_an_agent_thinks_is_a_thought_of_its_message_and_the_others_do_not_hear_it(office: Office) -> None:
    with office.service.to("Be Ada."):
        office.service.reply(office.service.chunk({"reasoning_content": "Let me see."}), "80 %.")
    script(office, Ben="Yes.")
    ada, ben = await office.messages(agents(Pattern.SEQUENTIAL, "Ada", "Ben"))
    assert (ada.text, ben.text) == ("80 %.", "Yes.")
    assert Thought("Reasoning", "Let me see.") in ada.thoughts
    assert "Reasoning" not in {thought.title for thought in ben.thoughts}
    assert "Let me see." not in str(office.prompts("Ben"))


async def test_a_message_comes_as_soon_as_its_agent_is_done(office: Office) -> None:
    ada_may = asyncio.Event()
    with office.service.to("Be Ada."):
        office.service.reply(ada_may, "Slow.")
    script(office, Ben="Fast.")
    turn = agents_turn(asked(), context(), None, office.parts(agents(Pattern.CONCURRENT, "Ada", "Ben")))
    async with aclosing(turn) as events:
        await anext(events)
        ben = await anext(events)
        ada_may.set()
        ada = await anext(events)
    assert isinstance(ben, AgentMessage)
    assert isinstance(ada, AgentMessage)
    assert (ben.agent, ben.position, ben.total_usage) == ("Ben", 1, None)
    assert (ada.agent, ada.position, ada.total_usage) == ("Ada", 0, Usage(14, 10))


class Crowd:
    """A model whose calls end in pairs, and that counts how many run."""

    takes_images = False
    takes_tools = False

    async def room(self) -> Room:
        return Room(1_500)

    def __init__(self) -> None:
        self.most = 0
        self._running = 0
        self._pair = asyncio.Barrier(2)

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        del request, context
        self._running += 1
        self.most = max(self.most, self._running)
        await self._pair.wait()
        self._running -= 1
        yield ModelText("Yes.")
        yield ModelFinished("stop")

    async def check(self) -> PartHealth:
        return PartHealth("test", ok=True, detail="")


async def test_no_more_model_calls_run_at_once_than_are_allowed(office: Office) -> None:
    crowd = Crowd()
    team = agents(Pattern.CONCURRENT, *(f"Agent {number}" for number in range(6)))
    messages = await replace(office, model=crowd).messages(team, concurrent_calls=2)
    assert {message.text for message in messages} == {"Yes."}
    assert crowd.most == 2


async def test_in_a_sequence_each_sees_what_was_said_before_with_its_authors_name(office: Office) -> None:
    script(office, Ada="80 %.", Ben="Only after a year.", Cleo="So: 80 %, after a year.")
    messages = await office.messages(agents(Pattern.SEQUENTIAL, *THREE))
    assert [message.agent for message in messages] == [*THREE]
    assert office.prompts("Ada") == [[f"user: {QUESTION}"]]
    assert office.prompts("Ben") == [[f"user: {QUESTION}", "user: Ada: 80 %."]]
    assert office.prompts("Cleo") == [[f"user: {QUESTION}", "user: Ada: 80 %.", "user: Ben: Only after a year."]]
    assert messages[-1].total_usage == Usage(21, 15)


async def test_a_group_takes_turns_in_order_and_everyone_hears_everyone(office: Office) -> None:
    for text in ("One.", "Two.", "Three.", "Four."):
        office.service.reply(text)
    messages = await office.messages(agents(Pattern.GROUP_CHAT, *THREE, max_rounds=4))
    assert texts(messages) == [("Ada", "One."), ("Ben", "Two."), ("Cleo", "Three."), ("Ada", "Four.")]
    heard = [f"user: {QUESTION}", "assistant: One.", "user: Ben: Two.", "user: Cleo: Three."]
    assert office.prompts("Ada")[-1] == heard


@pytest.mark.parametrize(
    ("last", "shown"),
    [
        ("Two.\n[[DONE]]", "Two."),
        ("Two. [[DONE]]\n", "Two."),
        ("Two.\n\n**[[DONE]]**", "Two."),
        ("**Two**\n`[[done]]`.", "**Two**"),
        ("Two.\n[[DONE]]\n\n[[DONE]]", "Two."),
        ("[[DONE]]", "(nothing to add)"),
    ],
)
async def test_a_group_is_done_when_an_agent_says_so_and_nobody_sees_the_marker(
    office: Office, last: str, shown: str
) -> None:
    office.service.reply("One, not [[DONE]] yet.")
    office.service.reply(last)
    messages = await office.messages(agents(Pattern.GROUP_CHAT, *THREE))
    assert texts(messages) == [("Ada", "One, not [[DONE]] yet."), ("Ben", shown)]


async def test_a_group_is_done_when_an_agent_repeats_itself(office: Office) -> None:
    for text in ("One.", "Two.", "One."):
        office.service.reply(text)
    assert len(await office.messages(agents(Pattern.GROUP_CHAT, "Ada", "Ben"))) == 3


@pytest.mark.parametrize("says_nothing", [True, False])
async def test_an_agent_of_a_group_that_failed_hears_all_the_next_time(office: Office, says_nothing: bool) -> None:
    office.service.reply() if says_nothing else office.service.fail(429)
    office.service.reply("Two.")
    office.service.reply("Three.\n[[DONE]]")
    messages = await office.messages(agents(Pattern.GROUP_CHAT, "Ada", "Ben"))
    assert [message.error is None for message in messages] == [False, True, True]
    assert office.prompts("Ben") == [[f"user: {QUESTION}"]]
    assert office.prompts("Ada")[-1] == [f"user: {QUESTION}", "user: Ben: Two."]


async def test_a_group_ends_when_all_of_it_have_failed_in_a_row(office: Office) -> None:
    office.service.reply("One.")
    office.service.fail(503, times=2)
    messages = await office.messages(agents(Pattern.GROUP_CHAT, "Ada", "Ben"))
    assert [message.error is None for message in messages] == [True, False, False]


async def test_a_group_may_have_as_many_rounds_as_can_be_set(office: Office) -> None:
    for number in range(50):
        office.service.reply(f"Number {number}.")
    assert len(await office.messages(agents(Pattern.GROUP_CHAT, "Ada", "Ben", max_rounds=50))) == 50


@pytest.mark.parametrize("arguments", ["", "{}", '{"reason": "Ben knows."}', "{"])
async def test_who_hands_over_has_no_message_and_the_next_one_answers(office: Office, arguments: str) -> None:
    with office.service.to("Be Ada."):
        office.service.call_tool("handoff_to_Ben_B", arguments)
    with office.service.to("Be Ben B."):
        office.service.reply("80 %.")
    (message,) = await office.messages(agents(Pattern.HANDOFF, "Ada", "Ben B", "Cleo"))
    assert (message.agent, message.text) == ("Ben B", "80 %.")
    assert [(thought.title, thought.description) for thought in message.thoughts] == [
        ("Handoff", "Ada handed over to Ben B.")
    ]
    assert message.total_usage == Usage(14, 10)
    assert office.prompts("Ben B") == [[f"user: {QUESTION}"]]
    offered = office.service.chats[0].body["tools"]
    assert "handoff_to_Cleo" in str(offered)
    assert "Be Cleo." in str(offered)


async def test_users_are_passed_on_to_names_of_any_script(office: Office) -> None:
    for function in ("handoff_to_2_________", "handoff_to_3____"):
        office.service.call_tool(function, {})
    office.service.reply("80 %.")
    (message,) = await office.messages(agents(Pattern.HANDOFF, "Аналитик", "Редактор", "評論家"))
    assert message.agent == "評論家"
    assert [thought.description for thought in message.thoughts] == [
        "Аналитик handed over to Редактор.",
        "Редактор handed over to 評論家.",
    ]


async def test_who_says_something_and_hands_over_is_heard_too(office: Office) -> None:
    call: Json = {"index": 0, "id": "1", "function": {"name": "handoff_to_Ben", "arguments": "{}"}}
    office.service.reply("Ben knows.", office.service.chunk({"tool_calls": [call]}), finish_reason="tool_calls")
    office.service.reply("80 %.")
    messages = await office.messages(agents(Pattern.HANDOFF, "Ada", "Ben"))
    assert texts(messages) == [("Ada", "Ben knows."), ("Ben", "80 %.")]
    assert office.prompts("Ben") == [[f"user: {QUESTION}", "user: Ada: Ben knows."]]


async def test_who_searches_and_hands_over_in_calls_of_one_id_hands_over(office: Office) -> None:
    calls: list[Json] = [
        {"index": place, "id": "same", "function": {"name": name, "arguments": '{"query": "dental"}'}}
        for place, name in enumerate(("search", "handoff_to_Ben"))
    ]
    with office.service.to("Be Ada."):
        office.service.reply(office.service.chunk({"tool_calls": calls}), finish_reason="tool_calls")
    with office.service.to("Be Ben."):
        office.service.reply("80 %.")
    messages = await office.messages(agents(Pattern.HANDOFF, agent("Ada", ("search",)), "Ben"))
    assert texts(messages) == [("Ben", "80 %.")]


async def test_who_also_hands_over_to_nobody_hands_over(office: Office) -> None:
    calls: list[Json] = [
        {"index": place, "id": f"call-{place}", "function": {"name": name, "arguments": "{}"}}
        for place, name in enumerate(("handoff_to_Nobody", "handoff_to_Ben"))
    ]
    with office.service.to("Be Ada."):
        office.service.reply(office.service.chunk({"tool_calls": calls}), finish_reason="tool_calls")
    with office.service.to("Be Ben."):
        office.service.reply("80 %.")
    assert texts(await office.messages(agents(Pattern.HANDOFF, "Ada", "Ben"))) == [("Ben", "80 %.")]


async def test_who_calls_what_it_was_not_offered_can_speak_again(office: Office) -> None:
    call: Json = {"index": 0, "id": "1", "function": {"name": "search", "arguments": '{"query": "dental"}'}}
    office.service.reply("One.", office.service.chunk({"tool_calls": [call]}), finish_reason="tool_calls")
    for text in ("Two.", "Three."):
        office.service.reply(text)
    messages = await office.messages(agents(Pattern.GROUP_CHAT, "Ada", "Ben", max_rounds=3))
    assert texts(messages) == [("Ada", "One."), ("Ben", "Two."), ("Ada", "Three.")]


async def test_who_comes_last_is_not_offered_to_hand_over(office: Office) -> None:
    office.service.call_tool("handoff_to_Ben", {}, call_id="a")
    office.service.call_tool("handoff_to_Ada", {}, call_id="b")
    office.service.reply("80 %.")
    (message,) = await office.messages(agents(Pattern.HANDOFF, "Ada", "Ben", max_rounds=3))
    assert (message.agent, message.text) == ("Ada", "80 %.")
    assert [thought.description for thought in message.thoughts] == [
        "Ada handed over to Ben.",
        "Ben handed over to Ada.",
    ]
    assert "tools" in office.service.chats[1].body
    assert "tools" not in office.service.chats[2].body


async def test_a_team_that_only_hands_on_ends_in_an_error_in_words(office: Office) -> None:
    for target in ("Ben", "Ada", "Ben"):
        office.service.call_tool(f"handoff_to_{target}", {})
    with pytest.raises(Unavailable, match="answered nothing"):
        await office.events(agents(Pattern.HANDOFF, "Ada", "Ben", max_rounds=3))


@pytest.mark.parametrize("pattern", Pattern)
async def test_a_team_of_one_answers_once(office: Office, pattern: Pattern) -> None:
    office.service.reply("Alone.")
    assert texts(await office.messages(agents(pattern, "Ada"))) == [("Ada", "Alone.")]
    assert "team" not in str(office.service.chats[0].body["messages"])


@pytest.mark.parametrize("pattern", Pattern)
async def test_an_agent_may_have_any_name_also_one_that_the_framework_uses(office: Office, pattern: Pattern) -> None:
    names = ("dispatcher", "aggregator", "input-conversation", "group_chat_orchestrator", "Zoë", "search")
    messages = await office.messages(agents(pattern, *(agent(name, ("search",)) for name in names)))
    assert {message.agent for message in messages} <= {*names}
    assert not any(message.error for message in messages)


@pytest.mark.parametrize("pattern", Pattern)
async def test_every_pattern_works_with_the_built_in_model(office: Office, pattern: Pattern) -> None:
    built_in = replace(office, model=ExtractiveModel())
    messages = await built_in.messages(agents(pattern, agent("Ada", ("search",)), agent("Ben", ("search",)), "Cleo"))
    assert "80 % of dental care. [plan.pdf#page=3]" in next(one.text for one in messages if one.agent == "Ada")
    assert not any(message.error for message in messages)


@pytest.mark.parametrize("pattern", Pattern)
async def test_the_conversation_with_its_files_and_images_reaches_every_agent(office: Office, pattern: Pattern) -> None:
    office.service.call_tool("handoff_to_Ben", {}) if pattern is Pattern.HANDOFF else office.service.reply("Seen.")
    earlier = (Message(Role.SYSTEM, "Be kind."), Message(Role.USER, "Hi"), Message(Role.ASSISTANT, "Hello"))
    last = Message(
        Role.USER, QUESTION, files=(FileText("note.txt", "My note."),), images=(ImagePart("image/png", b"\x89PNG"),)
    )
    request = replace(asked(), messages=(*earlier, last))
    await office.messages(agents(pattern, "Ada", "Ben", max_rounds=2), request)
    for name in ("Ada", "Ben"):
        (prompt,) = office.prompts(name)
        assert prompt[:3] == ["system: Be kind.", "user: Hi", "assistant: Hello"]
        assert "Name: note.txt\\n\\nMy note." in prompt[3]
        assert "data:image/png;base64,iVBORw==" in prompt[3]


async def test_ones_own_temperature_and_model_go_before_the_requests(office: Office) -> None:
    team = agents(Pattern.SEQUENTIAL, agent("Ada", temperature=0.0, model=office.service.other_model), agent("Ben"))
    await office.messages(team, asked(temperature=0.7, seed=42, language="fr"))
    first, second = (chat.body for chat in office.service.chats)
    assert (first["temperature"], first["model"], first["seed"]) == (0.0, office.service.other_model, 42)
    assert (second["temperature"], second["model"]) == (0.7, office.service.model)
    assert "tag fr" in str(first["messages"])


async def test_an_agent_is_told_who_it_is_and_who_the_others_are(office: Office) -> None:
    await office.messages(agents(Pattern.SEQUENTIAL, *THREE))
    for name, chat in zip(THREE, office.service.chats, strict=True):
        system = str(chat.body["messages"])
        assert f"Be {name}." in system
        assert f"You are {name}, one of a team that answers a user together: Ada, Ben, Cleo." in system
        assert "Today is " in system


async def test_a_source_of_an_earlier_answer_can_be_cited_again(office: Office) -> None:
    office.service.reply("80 % [earlier.pdf], says [invented.pdf].")
    request = asked("Sure?", Message(Role.ASSISTANT, "80 % [earlier.pdf]."))
    (said,) = await office.messages(agents(Pattern.SEQUENTIAL, "Ada"), request)
    assert said.thoughts[-1].description == ["invented.pdf"]


async def test_turns_at_the_same_time_do_not_mix(office: Office) -> None:
    async def turn(number: int) -> None:
        question = f"Question {number}?"
        team = agents(Pattern.SEQUENTIAL, f"A{number}x", f"B{number}x")
        script(office, **{f"A{number}x": f"First {number}."}, **{f"B{number}x": f"Second {number}."})
        messages = await office.messages(team, asked(question))
        assert texts(messages) == [(f"A{number}x", f"First {number}."), (f"B{number}x", f"Second {number}.")]
        assert office.prompts(f"B{number}x") == [[f"user: {question}", f"user: A{number}x: First {number}."]]

    await asyncio.gather(*(turn(number) for number in range(20)))
