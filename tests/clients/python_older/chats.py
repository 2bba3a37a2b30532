"""Chats with the app by Python clients that need older packages: see `serving.py` of `tests/clients/python`."""
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# (the packages are in the environment of this folder alone)

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent / "python"))

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike
from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from serving import Ask, serve

MODEL = "switchboard"


def llama_index(url: str) -> Ask:
    llm = OpenAILike(model=MODEL, api_base=f"{url}/v1", api_key="any", is_chat_model=True, max_retries=0)
    messages = list[ChatMessage]()

    async def ask(question: str) -> AsyncGenerator[tuple[str, str]]:
        messages.append(ChatMessage(role="user", content=question))
        said = ""
        async with aclosing(await llm.astream_chat(messages)) as chunks:
            async for chunk in chunks:
                said += chunk.delta or ""
                yield "text", chunk.delta or ""
                for choice in chunk.raw.choices:
                    for note in getattr(choice.delta, "annotations", None) or ():
                        yield "source", note["url_citation"]["url"]
        messages.append(ChatMessage(role="assistant", content=said))

    return ask


def semantic_kernel(url: str) -> Ask:
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)
    agent = ChatCompletionAgent(service=OpenAIChatCompletion(ai_model_id=MODEL, async_client=client))
    threads: list[Any] = [None]

    async def ask(question: str) -> AsyncGenerator[tuple[str, str]]:
        async with aclosing(agent.invoke_stream(messages=question, thread=threads[-1])) as answers:
            async for answer in answers:
                threads.append(answer.thread)
                yield "text", str(answer.message)

    return ask


if __name__ == "__main__":
    asyncio.run(serve({"llama-index": llama_index, "semantic-kernel": semantic_kernel}))
