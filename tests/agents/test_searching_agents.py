"""The search of an agent: the same as single chat's, however the model calls it."""

from typing import Any

import pytest

from shared.agents.definitions import Agents, Pattern
from shared.chat_types import Access, Json, Passage, RetrievalMode
from shared.core.sources import source_text
from shared.errors import BadRequest, Unavailable
from shared.events import AgentMessage, DataPoint, Usage
from tests.agents.teams import QUESTION, Office, agent, agents, asked

ALONE = agents(Pattern.CONCURRENT, agent("Ada", ("search",)))
PLAN = DataPoint("plan.pdf#page=3", "The Standard plan pays 80 % of dental care.")
IMPLANTS = DataPoint("dental.md", "Dental implants are paid after two years.")
LEAVE = DataPoint("leave.md", "Vacation is 30 days a year.")


def written(point: DataPoint) -> str:
    """The source as an agent is given it."""
    return source_text(Passage("1", point.text, point.sourcepage, point.sourcepage))


async def message_of(office: Office, team: Agents = ALONE, **overrides: Any) -> AgentMessage:
    (message,) = await office.messages(team, asked(**overrides))
    return message


def titles(message: AgentMessage) -> list[str]:
    return [thought.title for thought in message.thoughts]


async def test_a_model_searches_over_several_rounds_and_then_answers(office: Office) -> None:
    office.service.call_tool("search", {"query": "Standard plan"}, call_id="a")
    office.service.call_tool("search", {"query": " dental implants "}, call_id="b")
    office.service.reply("80 % [plan.pdf#page=3], implants later [dental.md].")
    message = await message_of(office, top=1)
    assert message.text == "80 % [plan.pdf#page=3], implants later [dental.md]."
    assert message.data_points == (PLAN, IMPLANTS)
    assert message.tool_inputs == ("Standard plan", "dental implants")
    assert titles(message) == ["Generated search query", "Results"] * 2
    assert message.finished
    assert (message.finished.reason, message.finished.usage) == ("stop", Usage(21, 15))
    assert office.prompts("Ada")[-1][-1] == f"tool: {written(IMPLANTS)}"
    assert "square brackets" in str(office.service.chats[0].body["messages"])


async def test_several_searches_of_one_round_are_all_done_and_a_source_is_shown_once(office: Office) -> None:
    calls: list[Json] = [
        {"index": place, "id": f"call-{place}", "function": {"name": "search", "arguments": f'{{"query":"{query}"}}'}}
        for place, query in enumerate(("dental", "dental implants"))
    ]
    office.service.reply(office.service.chunk({"tool_calls": calls}), finish_reason="tool_calls")
    office.service.reply("Well.")
    message = await message_of(office)
    assert set(message.data_points) == {IMPLANTS, PLAN}
    assert message.tool_inputs == ("dental", "dental implants")


async def test_text_before_a_search_is_part_of_the_message(office: Office) -> None:
    call: Json = {"index": 0, "id": "1", "function": {"name": "search", "arguments": '{"query":"dental"}'}}
    office.service.reply("Let me look.", office.service.chunk({"tool_calls": [call]}), finish_reason="tool_calls")
    office.service.reply("80 %.")
    assert (await message_of(office)).text == "Let me look.\n\n80 %."


NO_ARGUMENTS = ("", "{", "null", "[]", '"dental"', "[" * 5_000, '{"a":' * 5_000)
WRONG_ARGUMENTS = ("{}", '{"query": 5}', '{"search": "x"}', '{"query": "x", "top": 50}', '{"query": "\\ud800"}')


@pytest.mark.parametrize("arguments", [*NO_ARGUMENTS, *WRONG_ARGUMENTS])
async def test_arguments_that_make_no_sense_are_told_to_the_model_which_can_do_better(
    office: Office, arguments: str
) -> None:
    office.service.call_tool("search", arguments, call_id="a")
    office.service.call_tool("search", {"query": "dental"}, call_id="b")
    office.service.reply("80 %.")
    message = await message_of(office)
    assert (message.text, message.error) == ("80 %.", None)
    assert message.tool_inputs == ("dental",)
    told = office.prompts("Ada")[1][-1]
    assert told.startswith("tool: Error")
    assert "query" in told or "search" in told


@pytest.mark.parametrize("arguments", [*NO_ARGUMENTS, "[" * 100_000])
async def test_arguments_that_are_no_object_are_not_repeated_to_the_service(office: Office, arguments: str) -> None:
    office.service.call_tool("search", arguments)
    office.service.reply("80 %.")
    assert (await message_of(office)).text == "80 %."
    assert "'arguments': '{}'" in office.prompts("Ada")[1][-2]


@pytest.mark.parametrize(("query", "told"), [("", "empty"), (" \n", "empty"), ("y" * 1_001, "too long")])
async def test_a_query_without_words_or_end_is_told_to_the_model(office: Office, query: str, told: str) -> None:
    office.service.call_tool("search", {"query": query})
    office.service.reply("80 %.")
    message = await message_of(office)
    assert (message.text, message.tool_inputs) == ("80 %.", ())
    assert office.prompts("Ada")[1][-1].startswith(f"tool: Error: the query is {told}")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("launch", "launch"), ("functions.search", "functions_search"), ("søk 🙂", "s_k__"), ("x" * 5_000, "x" * 64)],
    ids=["unknown", "dotted", "unicode", "long"],
)
async def test_a_function_that_nobody_offered_is_told_to_the_model_by_a_name_that_services_take(
    office: Office, name: str, shown: str
) -> None:
    office.service.call_tool(name, {})
    office.service.reply("80 %.")
    assert (await message_of(office)).text == "80 %."
    assert office.prompts("Ada")[1][-1] == f'tool: Error: Requested function "{shown}" not found.'


@pytest.mark.parametrize("call_id", ["same", "", None, "i" * 41])
async def test_calls_get_ids_that_services_take_and_that_tell_them_apart(office: Office, call_id: str | None) -> None:
    calls: list[Json] = [
        {"index": place, "id": call_id, "function": {"name": "search", "arguments": f'{{"query":"{query}"}}'}}
        for place, query in enumerate(("Standard", "implants"))
    ]
    office.service.reply(office.service.chunk({"tool_calls": calls}), finish_reason="tool_calls")
    office.service.reply("Well.")
    message = await message_of(office, top=1)
    assert (message.text, message.tool_inputs) == ("Well.", ("Standard", "implants"))
    assert office.prompts("Ada")[1][-2:] == [f"tool: {written(PLAN)}", f"tool: {written(IMPLANTS)}"]


async def test_an_agent_without_tools_is_offered_none_and_cannot_search(office: Office) -> None:
    office.service.call_tool("search", {"query": "dental"})
    office.service.reply("80 %.")
    first, second = await office.messages(agents(Pattern.SEQUENTIAL, "Ada", "Ben"))
    assert isinstance(first.error, Unavailable)
    assert (second.text, second.data_points) == ("80 %.", ())
    assert not any("tools" in chat.body for chat in office.service.chats)


async def test_a_model_that_never_stops_calling_has_to_answer(office: Office) -> None:
    for number in range(6):
        office.service.call_tool("search", {"query": f"dental {number}"}, call_id=f"call-{number}")
    office.service.reply("80 %.")
    assert (await message_of(office)).text == "80 %."
    assert ["tools" in chat.body for chat in office.service.chats] == [True] * 6 + [False]


async def test_many_searches_of_one_round_have_an_end(office: Office) -> None:
    calls: list[Json] = [
        {"index": place, "id": f"call-{place}", "function": {"name": "search", "arguments": f'{{"query":"a{place}"}}'}}
        for place in range(30)
    ]
    office.service.reply(office.service.chunk({"tool_calls": calls}), finish_reason="tool_calls")
    office.service.reply("80 %.")
    message = await message_of(office)
    assert len(message.tool_inputs) == 20
    assert office.prompts("Ada")[1][-1] == "tool: Error: too many calls of search. Answer with what you have."


async def test_overrides_reach_the_search(office: Office) -> None:
    office.service.call_tool("search", {"query": "dental vacation"})
    office.service.reply("30 days.")
    message = await message_of(office, include_category="leave", top=1)
    assert message.data_points == (LEAVE,)
    props = message.thoughts[0].props
    assert props
    assert props["top"] == 1


@pytest.mark.parametrize(("access", "found"), [(Access("me"), 1), (Access("you", ("staff",)), 1), (Access("you"), 0)])
async def test_an_agent_finds_only_what_its_user_may_see(office: Office, access: Access, found: int) -> None:
    office.service.call_tool("search", {"query": "dental vacation"})
    office.service.reply("Well.")
    (message,) = await office.messages(ALONE, access=access)
    assert len(message.data_points) == found
    assert office.prompts("Ada")[1][-1] == (f"tool: {written(LEAVE)}" if found else "tool: (nothing was found)")


async def test_a_search_that_cannot_be_done_as_asked_is_the_agents_failure_and_no_fault_in_the_log(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    with office.service.to("Be Ada."):
        office.service.call_tool("search", {"query": "dental"})
    office.service.reply("80 %.")
    team = agents(Pattern.SEQUENTIAL, agent("Ada", ("search",)), "Ben")
    ada, ben = await office.messages(team, asked(retrieval_mode=RetrievalMode.VECTORS))
    assert isinstance(ada.error, BadRequest)
    assert ben.error is None
    assert not caplog.records


async def test_a_search_that_cannot_be_done_as_asked_is_the_requests_error_when_nobody_else_answers(
    office: Office,
) -> None:
    office.service.call_tool("search", {"query": "dental"})
    with pytest.raises(BadRequest):
        await office.events(ALONE, asked(retrieval_mode=RetrievalMode.VECTORS))


async def test_a_message_shows_the_sources_that_it_cites_of_what_others_found(office: Office) -> None:
    with office.service.to("Be Ada."):
        office.service.call_tool("search", {"query": QUESTION})
        office.service.reply("80 % [plan.pdf#page=3], and later more [dental.md].")
    with office.service.to("Be Ben."):
        office.service.reply("80 % [plan.pdf#page=3], says [invented.pdf].")
    ada, ben = await office.messages(agents(Pattern.SEQUENTIAL, agent("Ada", ("search",)), "Ben"))
    assert set(ada.data_points) == {PLAN, IMPLANTS}
    assert ben.data_points == (PLAN,)
    assert titles(ben) == ["Unverified citations"]
    assert ben.thoughts[0].description == ["invented.pdf"]


async def test_what_an_agent_found_earlier_in_a_discussion_stays_its_source(office: Office) -> None:
    with office.service.to("Be Ada."):
        office.service.call_tool("search", {"query": "Standard plan"})
        office.service.reply("80 % [plan.pdf#page=3].")
        office.service.reply("As I said [plan.pdf#page=3].\n[[DONE]]")
    office.service.reply("Are you sure?")
    team = agents(Pattern.GROUP_CHAT, agent("Ada", ("search",)), "Ben")
    first, _, last = await office.messages(team, asked(top=1))
    assert first.data_points == last.data_points == (PLAN,)
    assert (titles(first), titles(last)) == (["Generated search query", "Results"], [])
    assert (last.tool_inputs, len(office.prompts("Ada")[-1])) == ((), 5)


async def test_a_message_that_neither_a_source_nor_another_agent_supports_is_marked(office: Office) -> None:
    team = agents(Pattern.SEQUENTIAL, agent("Ada", ("search",)), agent("Ben", ("search",)))
    for said in ("It pays 85 % of it.", "So 85 % it is."):
        office.service.call_tool("search", {"query": "dental"})
        office.service.reply(said)
    ada, ben = await office.messages(team, asked())
    assert ada.finished
    assert ben.finished
    assert (ada.finished.is_unsupported, "Unsupported answer" in titles(ada)) == (True, True)
    assert (ben.finished.is_unsupported, "Unsupported answer" in titles(ben)) == (False, False)  # Ada has said it
    office.service.call_tool("search", {"query": "dental"})
    office.service.reply("It pays 80 %.")
    supported = await message_of(office)
    assert supported.finished
    assert not supported.finished.is_unsupported
