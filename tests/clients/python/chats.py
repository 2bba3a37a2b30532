"""Chats with the app by Python clients, each as its own documentation has it: see `serving.py`."""
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# (the packages are in the environment of this folder alone; each takes a second or more to import)

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

from openai import AsyncOpenAI
from serving import Ask, serve

MODEL = "switchboard"


def get_weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"Snow in {city}."


def sdk(url: str) -> Any:
    return AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)


def openai_chat(url: str) -> Ask:
    client, messages = sdk(url), list[Any]()

    async def ask(question: str) -> AsyncGenerator[tuple[str, str]]:
        messages.append({"role": "user", "content": question})
        said = ""
        async with await client.chat.completions.create(model=MODEL, messages=messages, stream=True) as chunks:
            async for choice in (choice async for chunk in chunks for choice in chunk.choices):
                said += choice.delta.content or ""
                yield "text", choice.delta.content or ""
                for note in getattr(choice.delta, "annotations", None) or ():
                    yield "source", note["url_citation"]["url"]
        messages.append({"role": "assistant", "content": said})

    return ask


def openai_responses(url: str) -> Ask:
    client, before = sdk(url), list[str]()

    async def ask(question: str) -> AsyncGenerator[tuple[str, str]]:
        asked: dict[str, Any] = {"previous_response_id": before[-1]} if before else {}
        async with await client.responses.create(model=MODEL, input=question, stream=True, **asked) as events:
            async for event in events:
                if event.type == "response.output_text.delta":
                    yield "text", event.delta
                if event.type == "response.output_text.annotation.added":
                    yield "source", event.annotation.url
                if event.type == "response.completed":
                    before.append(event.response.id)

    return ask


def agents_sdk(url: str, *, responses: bool, has_tool: bool = False) -> Ask:
    import agents

    agents.set_tracing_disabled(True)
    kind = agents.OpenAIResponsesModel if responses else agents.OpenAIChatCompletionsModel
    tools: Any = [agents.function_tool(get_weather)] if has_tool else []
    agent = agents.Agent(name="Benefits", model=kind(model=MODEL, openai_client=sdk(url)), tools=tools)
    conversation = list[Any]()

    async def ask(question: str) -> AsyncGenerator[tuple[str, str]]:
        conversation.append({"role": "user", "content": question})
        run = agents.Runner.run_streamed(agent, list(conversation))
        async with aclosing(run.stream_events()) as events:
            async for event in events:
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    yield "text", event.data.delta
        conversation[:] = run.to_input_list()

    return ask


def agent_framework(client: Any, *, has_tool: bool) -> Ask:
    from agent_framework import Agent

    agent = Agent(client=client, tools=[get_weather] if has_tool else [])
    session = agent.create_session()

    async def ask(question: str) -> AsyncGenerator[tuple[str, str]]:
        stream: Any = agent.run(question, session=session, stream=True)
        async for update in stream:
            for content in update.contents:
                if content.type == "error":
                    yield "error", content.message
                if content.type == "text":
                    yield "text", content.text
        answer: Any = await stream.get_final_response()
        yield "whole", answer.text
        for content in (content for message in answer.messages for content in message.contents):
            for note in content.annotations or ():
                yield "source", note["url"]

    return ask


def agent_framework_openai(url: str, *, responses: bool, has_tool: bool = False) -> Ask:
    from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient

    kind = OpenAIChatClient if responses else OpenAIChatCompletionClient
    return agent_framework(kind(model=MODEL, async_client=sdk(url)), has_tool=has_tool)


def agent_framework_ag_ui(url: str, *, has_tool: bool = False) -> Ask:
    from agent_framework_ag_ui import AGUIChatClient

    return agent_framework(AGUIChatClient(endpoint=f"{url}/ag-ui"), has_tool=has_tool)


def langchain(url: str) -> Ask:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(base_url=f"{url}/v1", api_key="any", model=MODEL, max_retries=0, use_responses_api=True)
    messages = list[Any]()

    async def ask(question: str) -> AsyncGenerator[tuple[str, str]]:
        messages.append(("user", question))
        answer: Any = None
        async with aclosing(model.astream(messages)) as chunks:
            async for chunk in chunks:
                answer = chunk if answer is None else answer + chunk
                yield "text", chunk.text
        messages.append(answer)
        for block in answer.content_blocks:
            for note in block.get("annotations", ()):
                yield "source", note["url"]

    return ask


CLIENTS = {
    "openai": openai_chat,
    "openai-responses": openai_responses,
    "agents": partial(agents_sdk, responses=True),
    "agents-chat": partial(agents_sdk, responses=False),
    "agent-framework": partial(agent_framework_openai, responses=True),
    "agent-framework-chat": partial(agent_framework_openai, responses=False),
    "agent-framework-ag-ui": agent_framework_ag_ui,
    "langchain": langchain,
    "agents with a tool": partial(agents_sdk, responses=True, has_tool=True),
    "agents-chat with a tool": partial(agents_sdk, responses=False, has_tool=True),
    "agent-framework with a tool": partial(agent_framework_openai, responses=True, has_tool=True),
    "agent-framework-chat with a tool": partial(agent_framework_openai, responses=False, has_tool=True),
    "agent-framework-ag-ui with a tool": partial(agent_framework_ag_ui, has_tool=True),
}

if __name__ == "__main__":
    asyncio.run(serve(CLIENTS))
