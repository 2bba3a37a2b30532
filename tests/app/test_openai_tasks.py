"""What Open WebUI and LibreChat ask for themselves with the model of the chat: titles, tags and the like."""

import json

import openai as sdk
import pytest
from openai.types.chat import ChatCompletionMessageParam

from shared.chat_types import Json
from shared.wire.openai_body import parse
from tests.app.openai_sdk import MODEL, TEAM, extra
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""


OPEN_WEBUI = [
    "### Task:\nGenerate a concise title summarizing the chat history.\n### Guidelines:",
    "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more",
    "### Task:\nGenerate a detailed prompt for am image generation task based on the given language and context.",
    "### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next",
    "### Task:\nAnalyze the chat history to determine the necessity of generating search queries, in the given",
    "### Task:\nYou are an autocompletion system. Continue the text in `<text>` based on the **completion type**",
    "### Task:\nSummarize the conversation history that will be compacted out of the active chat context.",
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji. Interpret emotions",
    'You have been provided with a set of responses from various models to the latest user query: "Teeth?"',
]
"""How its default templates begin. Source: open-webui/open-webui, `config.py` and `utils/context_compaction.py`."""
LIBRECHAT = [
    "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title",
    "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title in",
]
"""The same. Source: danny-avila/agents, `src/utils/title.ts`."""

NEXTCHAT = ["Please generate a four to five word title summarizing our conversation without any lead-in, punctuation"]
"""The same. Source: ChatGPTNextWeb/NextChat at 706a18b, `app/locales/en.ts`."""


async def done(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, messages: list[ChatCompletionMessageParam], model: str = MODEL
) -> bool:
    """Whether the messages go to the model as they are, in one call and without sources."""
    before = len(openai.chats)
    openai.reply("Dental Care")
    answer = await client.chat.completions.create(model=model, messages=messages)
    assert answer.choices[0].message.content == "Dental Care"
    (asked, *more) = openai.chats[before:]
    found = extra(answer.choices[0].message, "context")["citations"]
    return not more and not found and "Sources:" not in json.dumps(asked.body["messages"])


@pytest.mark.parametrize("model", [MODEL, TEAM, "switchboard-Writer"])
@pytest.mark.parametrize("task", [*OPEN_WEBUI, *LIBRECHAT, *NEXTCHAT])
async def test_a_task_of_the_front_end_is_done_without_a_search_and_by_the_model_alone(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, task: str, model: str
) -> None:
    words = f"{task}\n<chat_history>\nUSER: What does the Standard plan pay for dental care?\n</chat_history>"
    assert await done(client, openai, [{"role": "user", "content": words}], model)


@pytest.mark.parametrize("earlier", ["", 'History:\nUSER: """Hello"""\n'])
async def test_which_of_open_webuis_own_tools_to_call_is_a_task_too(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, earlier: str
) -> None:
    asked = f"{earlier}Query: What does the plan pay for dental care?"
    query: ChatCompletionMessageParam = {"role": "user", "content": asked}
    assert await done(client, openai, [{"role": "system", "content": "Available Tools: []\n\nYour task"}, query])
    assert not await done(client, openai, [{"role": "system", "content": "Be brief."}, query])


async def test_a_task_is_no_part_of_a_kept_chat() -> None:
    def chat_of(question: str) -> str | None:
        asked: dict[str, Json] = {"role": "user", "content": question}
        return parse({"messages": [asked], "session_state": {"id": "chat-1"}}).chat.conversation_id

    assert chat_of("Teeth?") == "chat-1"
    assert chat_of("### Task:\nGenerate a concise title") is None


@pytest.mark.parametrize(
    ("system", "question", "most", "is_task"),
    [
        ("You make a short title of a chat.", "How many days of vacation?", 24, True),  # HuggingFace chat-ui
        ("You make a short title of a chat.", "How many days of vacation?", None, False),
        ("You answer briefly.", "How many days of vacation?", 24, False),
        ("You answer briefly.", "What is the title of the plan?", None, False),
        ("You answer briefly.", "Give me the title of the page about the chat policy.", None, False),
    ],
)
async def test_a_title_is_known_by_its_shape_and_no_question_is_taken_for_one(
    system: str, question: str, most: int | None, *, is_task: bool
) -> None:
    messages: list[Json] = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    asked = parse({"model": MODEL, "messages": messages, "max_tokens": most})
    assert asked.is_task is is_task
