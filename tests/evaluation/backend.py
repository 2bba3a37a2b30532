"""A chat backend that answers as a test says, by its URL: not the app, and not of its making."""

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.stand_ins.local_server import LocalServer

type Answer = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]
"""Answers a request with this body."""


class ChatBackend(LocalServer):
    """The server.

    Args:
        answer: What it says; by default the shape of ai-chat-protocol with one source.
    """

    def __init__(self, answer: Answer | None = None) -> None:
        super().__init__()
        self.asked: list[str] = []
        """The questions, in their order."""
        self.headers: list[dict[str, str]] = []
        """Of each request."""
        self._answer = answer or answer_ai_chat

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=404)
        body = await request.json()
        self.asked.append(body["messages"][-1]["content"])
        self.headers.append(dict(request.headers))
        return await self._answer(request, body)


async def answer_ai_chat(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """One source, or ten of them where a stream is asked for."""
    del body
    count = 10 if request.path.endswith("/stream") else 1
    names = [f"file{number}: a.md" for number in range(count)]
    points = {"text": [f"{name}: You get {30 + n} days." for n, name in enumerate(names)], "citations": names}
    context = {"data_points": points, "thoughts": [{"title": "Prompt", "description": "", "props": {"version": "v1"}}]}
    if count > 1:
        return web.json_response({"delta": {"role": "assistant"}, "context": context})
    ended = {"model": "gpt-4o-mini-2024-07-18", "usage": {"prompt_tokens": 1_000, "completion_tokens": 100}}
    message = {"role": "assistant", "content": f"You get 30 days. [{names[0]}]"}
    return web.json_response({"message": message, "context": context | ended, "session_state": None})


def raw(body: bytes, content_type: str = "application/json", status: int = 200, **headers: str) -> Answer:
    """These bytes, whatever is asked."""

    async def answer(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        del request, asked
        return web.Response(body=body, status=status, content_type=content_type, headers=headers)

    return answer
