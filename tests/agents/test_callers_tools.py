"""Tools that the caller brings, in single chat through an agent that has tools of its own."""

from copy import replace

from shared.agents.definitions import Pattern
from shared.agents.turns import agents_turn
from shared.chat_types import ChatRequest, ToolCall, ToolChoice
from shared.core.fold import Answer, fold
from tests.agents.teams import Office, agent, agents, context
from tests.core.test_callers_tools import CALL, STEPS, WITH_TOOLS, script, sent


async def single(office: Office, request: ChatRequest) -> Answer:
    """The answer of an agent that searches."""
    ada = agent("Ada", ("search",))
    return await fold(agents_turn(request, context(), ada, office.parts(agents(Pattern.CONCURRENT, ada))))


async def test_an_agent_has_them_beside_its_own_and_goes_on_with_their_results(office: Office) -> None:
    office.service.call_tool("search", {"query": "dental"}, call_id="s1")
    script(office.service, ToolCall("s2", "search", '{"query": "weather"}'), CALL)
    answer = await single(office, WITH_TOOLS)
    assert (answer.calls, answer.finished.reason) == ((CALL,), "tool_calls")
    assert len(office.service.chats) == 2  # nothing was called, nor the model asked, after the caller's tool
    assert [tool["function"]["name"] for tool in sent(office.service, 0)["tools"]] == [
        "search",
        "get_weather",
        "get-time",
    ]
    office.service.call_tool("search", {"query": "dental"}, call_id="s1")
    office.service.reply("Snow.")
    answer = await single(office, replace(WITH_TOOLS, steps=STEPS))
    assert (answer.text, bool(answer.data_points)) == ("Snow.", True)
    roles = [message["role"] for message in sent(office.service)["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]


async def test_an_agent_that_has_to_call_one_is_offered_no_other(office: Office) -> None:
    script(office.service, CALL)
    answer = await single(office, replace(WITH_TOOLS, tool_choice=ToolChoice(must_call=True)))
    assert answer.calls == (CALL,)
    assert [tool["function"]["name"] for tool in sent(office.service)["tools"]] == ["get_weather", "get-time"]
