"""The least that Python can do: an ASGI app that passes on what aiohttp reads of the model's answer, unread."""

import asyncio
import os

from aiohttp import ClientSession, TCPConnector
from starlette.types import Receive, Scope, Send

from bench.asgi_server import serve


class Relay:
    """Sends each body on to the model at `OPENAI_BASE_URL`."""

    def __init__(self, session: ClientSession, base_url: str) -> None:
        self._session = session
        self._url = f"{base_url}/chat/completions"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Relay one request."""
        if scope["type"] != "http":
            return
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        async with self._session.post(self._url, data=body) as answer:
            await send(
                {
                    "type": "http.response.start",
                    "status": answer.status,
                    "headers": [(b"content-type", answer.content_type.encode())],
                }
            )
            async for data in answer.content.iter_any():
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


async def main() -> None:
    """Serve until the parent hangs up."""
    async with ClientSession(connector=TCPConnector(limit=0)) as session:
        await serve(Relay(session, os.environ["OPENAI_BASE_URL"]))


if __name__ == "__main__":
    asyncio.run(main())
