"""An OpenAI service that keeps nothing of what it is sent, for tests that send more than a test should keep."""

import asyncio
from typing import Self

from shared.chat_types import Json
from tests.stand_ins.openai_answers import event

TEXT = "A pumpkin."


class DroppingOpenAI:
    """The service, as an async context manager. Each answer is `TEXT`, and waits until `may_answer` is set."""

    def __init__(self) -> None:
        self.base_url = ""
        """Its address, once it listens."""
        self.received: asyncio.Queue[int] = asyncio.Queue()
        """The bytes of each body that has arrived."""
        self.may_answer = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.may_answer.set()
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = left = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        while left:
            left -= len(await reader.readexactly(min(left, 65536)))
        self.received.put_nowait(length)
        await self.may_answer.wait()
        choice: Json = {"index": 0, "delta": {"content": TEXT}, "finish_reason": "stop"}
        chunk: dict[str, Json] = {"id": "1", "created": 1, "model": "m", "choices": [choice]}
        answer = event(chunk) + b"data: [DONE]\n\n"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + answer)
        writer.close()
