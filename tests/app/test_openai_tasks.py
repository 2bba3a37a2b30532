"""What front ends ask for themselves with the model of the chat: titles, tags and the like."""

import json

import aiohttp
import openai as sdk
import pytest
from openai.types.chat import ChatCompletionMessageParam

from shared.chat_models.extractive.questions import title_of_chat
from shared.chat_types import Json, Message, Role
from shared.wire.openai_body import parse
from tests.app.openai_sdk import MODEL, TEAM, extra
from tests.local.running_host import RunningHost
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

NEXTCHAT = [
    "Please generate a four to five word title summarizing our conversation without any lead-in, punctuation",
    "Geben Sie ein kurzes Thema in vier bis fünf Wörtern zurück, ohne Erklärungen, ohne Satzzeichen, ohne Füllwörter",
    "使用四到五个字直接返回这句话的简要主题，不要解释、不要标点、不要语气词、不要多余文本，不要加粗",
]
"""The same. Source: ChatGPTNextWeb/NextChat at 706a18b, `app/locales`."""
OTHERS = [
    "Summarize the conversation so far into a 4-word or less title. Do not use any quotation marks or punctuation.",
    "Based on the chat history, give this conversation a name.\nKeep it short - 10 words max, no quotes.",
    "You need to summarize the user's conversation into a title of no more than 10 words, with the title language",
    "Generate a short and relevant title for this conversation:\n",
]
"""The same. Sources: microsoft/sample-app-aoai-chatGPT at 54f0af2c, `app.py`; chatboxai/chatbox at 0d3139e5,
`src/renderer/packages/prompts.ts`; programs made like them."""
BY_SYSTEM = [
    "You are a professional conversation summarizer. Generate a concise title that captures the essence of the chat.",
    "You are an assistant skilled in conversation. You need to summarize the user's conversation into a title in",
    "\n\n    - you will generate a short title based on the first message a user begins a conversation with\n",
    "You are a chat thread titling assistant.\nGoal: Produce a very short, descriptive title",
    "You make a short title of a chat.",
]
"""How system messages begin. Sources: LobeChat, Cherry Studio, Vercel's chatbot, HuggingFace chat-ui."""


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
@pytest.mark.parametrize("task", [*OPEN_WEBUI, *LIBRECHAT, *NEXTCHAT[:1]])
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
        *((system, "How many days of vacation?", None, True) for system in BY_SYSTEM),
        *(("You answer briefly.", task, None, True) for task in (*NEXTCHAT, *OTHERS)),
        ("You make titles.", "How many days of vacation?", 24, True),
        ("You make titles.", "How many days of vacation?", None, False),
        ("You answer in this chat. Put a title above each list.", "How many days of vacation?", None, False),
        ("You answer briefly.", "Can I give this conversation a name?", None, False),
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


@pytest.mark.parametrize(
    "messages",
    [
        [("user", "How many days?"), ("assistant", "25."), ("user", NEXTCHAT[1])],
        [("user", f"{LIBRECHAT[0]}\n\nConversation:\nUser: How many days?\nAI: 25.")],
        [("user", f"{OTHERS[1]}\n\n```\nHow many days?\n\n---------\n\n25.\n```\n\nThe name is:")],
        [("user", f"{OTHERS[3]}\nHow many days?")],
        [("system", BY_SYSTEM[0]), ("user", "user: How many days?\nassistant: 25.")],
        [("system", BY_SYSTEM[2]), ("user", '{"role":"user","parts":[{"type":"text","text":"How many days?"}]}')],
    ],
)
async def test_the_built_in_model_calls_a_chat_by_its_first_question(messages: list[tuple[str, str]]) -> None:
    said = tuple(Message(Role(role), text) for role, text in messages)
    assert title_of_chat(said) == "How many days?"


async def test_a_title_that_is_wanted_as_json_is_json_with_the_built_in_model(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    task = f'{OPEN_WEBUI[0]}\nJSON format: {{ "title": "your concise title here" }}\n<chat_history>\nUSER: "Teeth"?'
    body = {"messages": [{"role": "user", "content": task}]}
    async with http.post(f"{built_in.url}/v1/chat/completions", json=body) as response:
        answer = await response.json()
    assert json.loads(answer["choices"][0]["message"]["content"]) == {"title": '"Teeth"?'}
