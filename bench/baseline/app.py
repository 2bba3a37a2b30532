"""The app itself, for any ASGI server. The `openai` client reads its settings from the environment."""

import json
import os
from collections.abc import AsyncGenerator

from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

_client = AsyncOpenAI()


async def _chat_stream(request: Request) -> StreamingResponse:
    body = await request.json()

    async def lines() -> AsyncGenerator[str]:
        stream = await _client.chat.completions.create(
            model=os.environ["OPENAI_CHAT_MODEL"],
            messages=[{"role": "system", "content": "You are a helpful assistant."}, *body["messages"]],
            stream=True,
        )
        async for chunk in stream:
            if chunk.choices:
                delta = chunk.choices[0].delta
                yield json.dumps({"delta": {"content": delta.content, "role": delta.role}}) + "\n"

    return StreamingResponse(lines(), media_type="application/jsonl")


app = Starlette(routes=[Route("/chat/stream", _chat_stream, methods=["POST"])])
