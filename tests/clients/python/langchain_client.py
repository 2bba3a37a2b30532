"""Asks as each line of JSON says, with LangChain's `ChatOpenAI`, and prints a line with what it gave or raised.

A URL that does not end in /v1 is an endpoint for `AzureChatOpenAI`.
Keys: url, key, kind ('answer', 'stream', 'shaped', 'leave' or 'tools') and body. Of a tool the result is "Snow.".
What LangChain does not know of an answer it drops.
"""
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
# (LangChain is in the environment of this folder alone)

import asyncio
import json
import sys
from contextlib import aclosing
from functools import partial
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from openai import APIError

COVER = {
    "title": "Cover",
    "type": "object",
    "properties": {"share": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["share", "note"],
    "additionalProperties": False,
}


async def ask(asked: Any, seen: dict[str, Any]) -> None:
    body = asked["body"]
    messages, tools = body.pop("messages"), body.pop("tools", [])
    if asked["url"].endswith("/v1"):
        make: Any = partial(ChatOpenAI, base_url=asked["url"], model=body.pop("model"))
    else:
        endpoint, deployment = asked["url"], body.pop("model")
        make = partial(AzureChatOpenAI, azure_endpoint=endpoint, azure_deployment=deployment, api_version="2024-10-21")
    model = make(
        api_key=asked["key"],
        max_retries=0,
        stream_usage=body.pop("stream_options", None) is not None,
        extra_body=body,
    )
    if asked["kind"] == "shaped":
        seen["pieces"].append(json.dumps(await model.with_structured_output(COVER).ainvoke(messages)))
        return
    if asked["kind"] == "answer":
        take(await model.ainvoke(messages), seen)
        return
    if asked["kind"] == "tools":
        await call_tools(model.bind_tools(tools), messages, seen)
        return
    async with aclosing(model.astream(messages)) as chunks:
        async for chunk in chunks:
            take(chunk, seen)
            if asked["kind"] == "leave" and seen["pieces"]:
                break


async def call_tools(model: Any, messages: list[Any], seen: dict[str, Any]) -> None:
    """Ask, and ask again with the results of the calls, until there are none."""
    calls = seen["kept"]["calls"] = []
    while True:
        answer: Any = None
        async for chunk in model.astream(messages):
            answer = chunk if answer is None else answer + chunk
        if not answer.tool_calls:
            take(answer, seen)
            return
        calls += [call["args"] for call in answer.tool_calls]
        messages += [answer, *(ToolMessage("Snow.", tool_call_id=call["id"]) for call in answer.tool_calls)]


def take(message: Any, seen: dict[str, Any]) -> None:
    if message.content:
        seen["pieces"].append(message.content)
    if reason := message.response_metadata.get("finish_reason"):
        seen["finish"] = reason
    if message.usage_metadata:
        seen["usage"] = {"total_tokens": message.usage_metadata["total_tokens"]}
    seen["kept"] |= message.additional_kwargs


async def main() -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):  # what it has left behind can end meanwhile
        seen: dict[str, Any] = {"pieces": [], "kept": {}}
        try:
            await ask(json.loads(line), seen)
        except APIError as error:
            status = getattr(error, "status_code", None)
            keys = ("code", "param", "type", "message")
            seen["error"] = {"name": type(error).__name__, "status": status} | {
                key: getattr(error, key) for key in keys
            }
        print(json.dumps(seen), flush=True)  # noqa: T201 (it is how it answers)


asyncio.run(main())
