"""A tool beside `search`, added as CONTRIBUTING says: a `Tool`, and its line in the table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shared.agents.definitions import Pattern, load_agents
from shared.agents.turns import agents_turn
from shared.chat_models import ToolDefinition
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_types import Json
from shared.errors import Unavailable
from shared.events import AgentWork, Retrieved, Thought
from shared.tools import Tool, ToolContext, ToolResult, WrongArguments
from shared.tools.table import TOOLS
from tests.agents.teams import QUESTION, Office, agent, agents, asked, context
from tests.stand_ins.openai_service import Received

OPEN = {"Monday": "8 to 17", "Tuesday": "8 to 12"}


async def opening_hours(arguments: Mapping[str, Json], context: ToolContext) -> ToolResult:
    day = str(arguments["day"])
    if day == "Doomsday":
        raise Unavailable("The clock has stopped.")
    if day not in OPEN:
        raise WrongArguments(f"{day} is no day on which the office is open.")
    return ToolResult(f"{OPEN[day]} for {context.request.question}")


OPENING_HOURS = Tool(
    ToolDefinition(
        "opening_hours",
        "Look up when the office is open.",
        {
            "type": "object",
            "properties": {"day": {"type": "string"}},
            "required": ["day"],
            "additionalProperties": False,
        },
    ),
    opening_hours,
    "Look up opening hours; never guess them.",
    most_calls=2,
)


@pytest.fixture(autouse=True)
def two_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOOLS, "opening_hours", OPENING_HOURS)


def offered(chat: Received) -> list[str]:
    tools: Any = chat.body["tools"]
    return [tool["function"]["name"] for tool in tools]


@pytest.mark.parametrize("pattern", [Pattern.CONCURRENT, Pattern.SEQUENTIAL, Pattern.GROUP_CHAT])
async def test_an_agent_of_a_team_calls_it_and_uses_its_result(office: Office, pattern: Pattern) -> None:
    with office.service.to("Be Ada."):
        office.service.call_tool("opening_hours", {"day": "Monday"})
        office.service.reply("From 8 to 17.\n[[DONE]]" if pattern is Pattern.GROUP_CHAT else "From 8 to 17.")
    messages = await office.messages(agents(pattern, agent("Ada", ("opening_hours",)), "Ben"), asked("When?"))
    (ada,) = [message for message in messages if message.agent == "Ada"]
    assert (ada.text, ada.data_points) == ("From 8 to 17.", ())
    assert ada.thoughts == (Thought("Tool: opening_hours", '{"day":"Monday"}'),)
    assert ada.tool_inputs == ('{"day":"Monday"}',)
    first, second = office.chats("Ada")
    assert offered(first) == ["opening_hours"]
    assert "never guess them." in str(first.body["messages"])
    assert "call search" not in str(first.body["messages"])
    assert "8 to 17 for When?" in str(second.body["messages"])


async def test_the_agent_of_single_chat_calls_it_beside_the_search(office: Office) -> None:
    office.service.call_tool("search", {"query": "dental"}, call_id="a")
    office.service.call_tool("opening_hours", {"day": "Tuesday"}, call_id="b")
    office.service.reply("80 %, from 8 to 12.")
    ada = agent("Ada", ("search", "opening_hours"))
    parts = office.parts(agents(Pattern.CONCURRENT, ada))
    events = [event async for event in agents_turn(asked(show_progress=True), context(), ada, parts)]
    (found,) = [event for event in events if isinstance(event, Retrieved)]
    assert [thought.title for thought in found.thoughts][-3:] == [
        "Generated search query",
        "Results",
        "Tool: opening_hours",
    ]
    assert found.tool_inputs == ("dental", '{"day":"Tuesday"}')
    works = [event for event in events if isinstance(event, AgentWork)]
    assert [(work.state, work.query, work.tool) for work in works if work.state in ("searching", "calling")] == [
        ("searching", "dental", None),
        ("calling", None, "opening_hours"),
    ]
    prompt = str(office.service.chats[0].body["messages"])
    assert prompt.index("call search") < prompt.index("never guess them.")


async def test_what_is_wrong_with_a_call_is_told_to_the_model_which_can_do_better(office: Office) -> None:
    for place, day in enumerate(("Sunday", "Monday")):
        office.service.call_tool("opening_hours", {"day": day}, call_id=str(place))
    office.service.reply("From 8 to 17.")
    (ada,) = await office.messages(agents(Pattern.CONCURRENT, agent("Ada", ("opening_hours",))))
    assert office.prompts("Ada")[1][-1] == "tool: Error: Sunday is no day on which the office is open."
    assert ada.tool_inputs == ('{"day":"Monday"}',)


async def test_it_is_called_no_more_often_than_it_allows(office: Office) -> None:
    for place in range(3):
        office.service.call_tool("opening_hours", {"day": "Monday"}, call_id=str(place))
    office.service.reply("From 8 to 17.")
    await office.messages(agents(Pattern.CONCURRENT, agent("Ada", ("opening_hours",))))
    results = [line for line in office.prompts("Ada")[-1] if line.startswith("tool:")]
    assert results[-1] == "tool: Error: too many calls of opening_hours. Answer with what you have."
    assert len(results) == 3


async def test_its_error_is_the_agents_error(office: Office) -> None:
    with office.service.to("Be Ada."):
        office.service.call_tool("opening_hours", {"day": "Doomsday"})
    office.service.reply("I do not know either.")
    team = agents(Pattern.SEQUENTIAL, agent("Ada", ("opening_hours",)), "Ben")
    ada, ben = await office.messages(team)
    assert (str(ada.error), ben.error) == ("The clock has stopped.", None)


async def test_an_agents_file_names_it(office: Office, tmp_path: Path) -> None:
    file = tmp_path / "agents.yaml"
    file.write_text("""\
team: {pattern: sequential}
agents:
  - {name: Ada, instructions: Be Ada., tools: [opening_hours, search]}
""")
    office.service.reply("From 8 to 17.")
    await office.messages(load_agents(file))
    (chat,) = office.chats("Ada")
    assert offered(chat) == ["opening_hours", "search"]


async def test_the_built_in_model_calls_only_the_search(office: Office) -> None:
    built_in = Office(office.service, ExtractiveModel(), office.retriever)
    for tools, inputs in ((("opening_hours",), ()), (("opening_hours", "search"), (QUESTION,))):
        (message,) = await built_in.messages(agents(Pattern.CONCURRENT, agent("Ada", tools)))
        assert (message.error, message.tool_inputs) == (None, inputs)
