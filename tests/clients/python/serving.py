"""Answers each line of JSON with what one of the clients showed of each question, as a line.

A line is `{"client": its name, "url": the app's base URL, "questions": [...]}`. The last question is left at the first
text, as by a Stop button, unless there is only one. What is printed is a list of `{"text", "error", "sources"}`, one
for each question.
"""

import asyncio
import json
import sys
import traceback
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

type Ask = Callable[[str], AsyncGenerator[tuple[str, str]]]
"""Asks the next question of a chat, and yields what is shown: a "text" that is added, all of it ("whole"), an "error",
or a "source", which is a URL."""


async def serve(clients: Mapping[str, Callable[[str], Ask]]) -> None:
    """Answer lines until there are none; each client begins a chat with the app at a URL."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        ask = clients[asked["client"]](asked["url"])
        *others, last = asked["questions"]
        seen = [await _see(ask(question), stops=False) for question in others]
        print(json.dumps([*seen, await _see(ask(last), stops=bool(others))]), flush=True)  # noqa: T201 (it is how it answers)


async def _see(parts: AsyncGenerator[tuple[str, str]], *, stops: bool) -> dict[str, Any]:
    text, error = "", ""
    sources: list[str] = []
    limit = asyncio.timeout(None)
    try:
        async with limit, aclosing(parts):
            async for kind, value in parts:
                match kind:
                    case "text":
                        text += value
                    case "whole":
                        text = value
                    case "error":
                        error += value
                    case _:
                        sources.append(value)
                if stops and text:
                    limit.reschedule(0)  # a program stops a client by cancelling the task that waits for it
    except Exception as problem:  # noqa: BLE001 (whatever it is, the client's user sees it)
        if not limit.expired():
            error += "".join(
                traceback.format_exception_only(problem) + traceback.format_exception_only(problem.__cause__)
            )
    return {"text": text, "error": error, "sources": sources}
