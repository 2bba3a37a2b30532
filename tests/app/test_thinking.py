"""A model that thinks before and after a call of a tool, in the clients of the three protocols that stream parts."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from shared.chat_types import Json
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.openai_sdk import MODEL, client_of, extra
from tests.clients import ag_ui, ai_sdk
from tests.local.running_host import RunningHost
from tests.runs.acting import agents_file, crm
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

ASKED = "Is order 1 open?"
THOUGHTS = ["I look it up.", "So it is."]
WEATHER: Any = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}, "strict": False}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def acting(openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    """An app whose agent has a tool server."""
    folder = tmp_path_factory.mktemp("acting")
    async with crm() as server:
        file = agents_file(folder, server.url)
        env = openai.settings | NO_VECTORS | {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}
        async with hosted(folder, env) as host:
            yield host


def calls(openai: OpenAIStandIn, name: str, arguments: str) -> dict[str, Json]:
    piece: Json = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return openai.chunk({"tool_calls": [piece]})


def thinks(openai: OpenAIStandIn, text: str) -> list[dict[str, Json]]:
    """What a model thinks, in two pieces."""
    return [openai.chunk({"reasoning_content": piece}) for piece in (text[:4], text[4:])]


@pytest.fixture
def thinking(openai: OpenAIStandIn) -> None:
    """Let the model think, look up an order, think again, and answer."""
    first, second = (thinks(openai, text) for text in THOUGHTS)
    openai.reply(*first, calls(openai, "crm_look", '{"number": 1}'), finish_reason="tool_calls")
    openai.reply(*second, "It is ", "open.")


@pytest.mark.usefixtures("thinking")
async def test_openais_package_has_both_thoughts_at_their_places(acting: RunningHost, openai: OpenAIStandIn) -> None:
    async with client_of(acting) as client, client.responses.stream(model=MODEL, input=ASKED) as stream:
        done = [event.output_index async for event in stream if event.type == "response.output_item.done"]
        answer = await stream.get_final_response()
    assert [item.type for item in answer.output] == ["reasoning", "mcp_call", "reasoning", "message"]
    assert done == [0, 1, 2, 3]
    assert [item.summary[0].text for item in answer.output if item.type == "reasoning"] == THOUGHTS
    assert answer.output_text == "It is open."
    messages: Any = openai.chats[-1].body["messages"]
    assert [message.get("reasoning_content") for message in messages if "tool_calls" in message] == THOUGHTS[:1]


@pytest.mark.usefixtures("thinking", "ag_ui")
async def test_a_page_of_ag_ui_has_both_thoughts_as_messages(acting: RunningHost) -> None:
    (seen,) = await ag_ui.run(ag_ui.VERSIONS[-1], f"{acting.url}/ag-ui", ag_ui.step(ASKED))
    assert (seen.thrown, seen.errors, seen.text) == (None, [], "It is open.")
    assert [message["content"] for message in seen.messages if message["role"] == "reasoning"] == THOUGHTS
    assert len({message["id"] for message in seen.messages}) == len(seen.messages)


@pytest.mark.usefixtures("thinking", "ai_sdk")
async def test_a_page_of_ai_sdk_has_both_thoughts_as_parts(acting: RunningHost) -> None:
    (step,) = await ai_sdk.chat(ai_sdk.VERSIONS[-1], f"{acting.url}/ai-sdk/chat", {"do": "send", "text": ASKED})
    shown = [part for part in step["message"]["parts"] if part["type"] in ("reasoning", "dynamic-tool", "text")]
    assert [part["type"] for part in shown] == ["reasoning", "dynamic-tool", "reasoning", "text"]
    assert [part["text"] for part in shown if part["type"] == "reasoning"] == THOUGHTS
    assert (step["status"], shown[-1]["text"], shown[-1]["state"]) == ("ready", "It is open.", "done")


async def test_openais_package_has_a_thought_before_each_call_and_answers_the_one_of_its_own_tool(
    acting: RunningHost, openai: OpenAIStandIn
) -> None:
    for text, call in zip(THOUGHTS, (("crm_look", '{"number": 1}'), ("get_weather", "{}")), strict=True):
        openai.reply(*thinks(openai, text), calls(openai, *call), finish_reason="tool_calls")
    async with client_of(acting) as client:
        async with client.responses.stream(model=MODEL, input=ASKED, tools=[WEATHER]) as stream:
            answer = await stream.get_final_response()
        assert [item.type for item in answer.output] == ["reasoning", "mcp_call", "reasoning", "function_call"]
        call_id = extra(answer.output[-1], "call_id")
        sent: Any = [
            {"role": "user", "content": ASKED},
            *(item.to_dict() for item in answer.output),
            {"type": "function_call_output", "call_id": call_id, "output": "Snow."},
        ]
        openai.reply("It is open, and snows.")
        later = await client.responses.create(model=MODEL, input=sent, tools=[WEATHER])
    assert later.output_text == "It is open, and snows."
