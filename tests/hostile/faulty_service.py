"""A model's service that misbehaves as it is asked to.

    async with FaultyService() as service:
        ...point the app at service.settings, and ask it "fault:garbage"...

The question names the fault, so that all faults can be tried at the same time.
"""

import asyncio
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from tests.hostile.upstream_faults import ANSWER, FAULTS, OPEN, Forever, Hang, Reset, Step, UpstreamFault

KEY = "sk-faulty-0123456789"


class FaultyService:
    """The server, as an async context manager. A prompt with `fault:NAME` gets that fault, any other a good answer.

    Args:
        more: Further answers that can be asked for, by name.
    """

    def __init__(self, more: Mapping[str, UpstreamFault] = MappingProxyType({})) -> None:
        self._answers = {**FAULTS, **more}
        self.asked: list[str] = []
        """The faults that were asked for, in order; again for each retry."""
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def settings(self) -> dict[str, str]:
        """The environment that points the app at it."""
        assert self._server
        address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": KEY, "OPENAI_CHAT_MODEL": "faulty"}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server
        self._server.close()
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._serving.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the app left, or the test has ended
        finally:
            self._serving.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        body = await reader.readexactly(int(length[1])) if length else b""
        named = re.search(rb"fault:([\w.-]+)", body)
        name = named[1].decode() if named else ""
        self.asked.append(name)
        steps: tuple[Step, ...] = self._answers[name].steps if name else (OPEN + ANSWER,)
        for step in steps:
            match step:
                case bytes():
                    writer.write(step)
                    await writer.drain()
                    await asyncio.sleep(0.05)  # what follows comes in a read of its own
                case Forever():
                    while True:
                        writer.write(step.piece)
                        await writer.drain()
                        await asyncio.sleep(step.pause)
                case Hang():
                    await reader.read()
                case Reset():
                    writer.transport.abort()
