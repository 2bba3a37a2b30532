"""What Open WebUI and LibreChat ask for themselves with the model of the chat: titles, tags and the like."""

import json

import openai as sdk
import pytest

from tests.app.openai_sdk import MODEL, TEAM, extra
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""


@pytest.mark.parametrize(
    "task",
    [
        "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.",
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions.",
    ],
)
@pytest.mark.parametrize("model", [MODEL, TEAM])
async def test_a_task_of_the_front_end_is_answered_without_sources(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, task: str, model: str
) -> None:
    before = len(openai.chats)
    openai.reply("Dental Care")
    answer = await client.chat.completions.create(model=model, messages=[{"role": "user", "content": task}])
    assert answer.choices[0].message.content == "Dental Care"
    assert extra(answer.choices[0].message, "context")["citations"] == []
    (asked,) = openai.chats[before:]
    assert "Sources:" not in json.dumps(asked.body["messages"])
