"""The callers of a soak: each does one thing after the other, chosen by chance, until it is told to stop."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from io import BytesIO
from itertools import batched
from typing import Any
from uuid import uuid4

import aiohttp

from tests.hostile.bodies import HOSTILE_BODIES
from tests.hostile.files import HOSTILE_FILES
from tests.hostile.upstream_faults import FAULTS, OPEN, Step, UpstreamFault, event
from tests.soak.records import UNSAFE, Record

PROTOCOLS = ("", "/ai-chat", "/ai-chat-2024-05-29", "/ai-chat-2024-01-28", "/semantic-kernel")
_WORDS = ["dental", "vacation", "implants", "plan", "membership", "notice", "period", "months", "years"]
_QUICK_FAULTS = [name for name, fault in FAULTS.items() if not fault.waits]
_STOP = b'data: {"id":"1","choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def _said(*texts: str) -> UpstreamFault:
    events = [event({"content": text}) for text in texts]
    steps: list[Step] = [OPEN, *(b"".join(some) for some in batched(events, 20, strict=False)), _STOP]
    return UpstreamFault(tuple(steps), 200)


MODEL = {
    "safe": _said(*(f"Word {number} of an answer [plan.pdf#page=3]. " for number in range(40))),
    "unsafe": _said("This is a safe beginning. ", "They are all ", UNSAFE[:3], UNSAFE[3:] + " people. ", "And more."),
}
"""Answers of the model that are no faults, by name."""


class Caller:
    """One caller.

    Args:
        url: The app's address.
        http: The connections.
        record: Where everything is noted.
    """

    def __init__(self, url: str, http: aiohttp.ClientSession, record: Record) -> None:
        self._url = url
        self._http = http
        self._record = record
        self._random = record.random
        self._chat: str | None = None

    async def run(self, stop: asyncio.Event, killed: asyncio.Event) -> None:
        """Do one thing after the other.

        Args:
            stop: Ends it.
            killed: Set when the app is about to be killed: connections may break from then on.
        """
        actions: list[tuple[float, Callable[[], Awaitable[None]]]] = [
            (5, self._ask), (4, self._stream), (2, self._abort), (3, self._unsafe), (4, self._fault), (0.2, self._hang),
            (2, self._team), (2, self._form), (0.1, self._hostile_file), (6, self._write), (4, self._turn),
            (3, self._read), (1, self._delete), (3, self._content), (0.3, self._body), (1, self._health),
        ]  # fmt: skip
        weights, choices = zip(*actions, strict=True)
        while not stop.is_set() and not killed.is_set():
            action = self._random.choices(choices, weights)[0]
            kind = action.__name__.strip("_")
            self._record.requests[kind] += 1
            try:
                await action()
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as exc:
                if killed.is_set():
                    self._record.cut_by_kills += 1
                else:
                    self._record.wrong(f"{kind}: {type(exc).__name__}")

    async def _send(self, kind: str, method: str, path: str, data: Any = None, **more: Any) -> tuple[int, str]:
        sent = BytesIO(json.dumps(data).encode()) if isinstance(data, dict) else data
        async with self._http.request(method, self._url + path, data=sent, **more) as response:
            text = (await response.read()).decode(errors="replace")
        self._record.answer(kind, response.status, text)
        return response.status, text

    def _question(self, words: str = "fault:safe", **more: Any) -> dict[str, Any]:
        text = f"{' '.join(self._random.sample(_WORDS, 3))} {uuid4().hex} {words}"
        return {"messages": [{"role": "user", "content": text}], **more}

    def _path(self, route: str) -> str:
        return self._random.choice(PROTOCOLS) + route

    async def _ask(self) -> None:
        await self._send("chat", "POST", self._path("/chat"), self._question())

    async def _stream(self) -> None:
        await self._send("stream", "POST", self._path("/chat/stream"), self._question())

    async def _abort(self) -> None:
        data = BytesIO(json.dumps(self._question()).encode())
        async with self._http.post(self._url + self._path("/chat/stream"), data=data) as response:
            self._record.search("abort", (await response.content.readany()).decode(errors="replace"))
            self._record.aborts += 1
            response.close()

    async def _unsafe(self) -> None:
        route = self._random.choice(("/chat", "/chat/stream", "/multi-agent-chat/stream"))
        await self._send("unsafe", "POST", self._path(route), self._question("fault:unsafe"))

    async def _fault(self) -> None:
        name = self._random.choice(_QUICK_FAULTS)
        route = self._random.choice(("/chat", "/chat/stream"))
        await self._send(f"fault {name}", "POST", self._path(route), self._question(f"fault:{name}"))

    async def _hang(self) -> None:
        await self._send("hang", "POST", "/chat/stream", self._question("fault:hang-after-the-first-event"))

    async def _team(self) -> None:
        await self._send("team", "POST", self._path("/multi-agent-chat/stream"), self._question())

    async def _form(self) -> None:
        await self._send_file("form", "text/plain", b"A text with the word dental. " * self._random.randint(1, 20_000))

    async def _hostile_file(self) -> None:
        name, make = self._random.choice(list(HOSTILE_FILES.items()))
        kinds = {"pdf": "application/pdf", "html": "text/html"}
        word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        await self._send_file("hostile file", kinds.get(name.rpartition(".")[2], word), make())

    async def _send_file(self, kind: str, content_type: str, data: bytes) -> None:
        form = aiohttp.FormData()
        form.add_field("json", json.dumps(self._question()), content_type="application/json")
        form.add_field("messages[0].files[0]", BytesIO(data), content_type=content_type, filename="file")
        await self._send(kind, "POST", "/ai-chat-2024-05-29/chat", form)

    async def _own_chat(self) -> str | None:
        if self._chat is None:
            status, text = await self._send("new chat", "POST", "/chat-history", {"mode": "standard", "title": "Soak"})
            if status == 201:
                chat = str(json.loads(text)["id"])
                self._record.ledger.created(chat)
                self._chat = chat
        return self._chat

    async def _write(self) -> None:
        if chat := await self._own_chat():
            texts = {uuid4().hex: f"{uuid4().hex} é 👩‍👩‍👧 " * self._random.randint(1, 50) for _ in range(3)}
            messages = [{"id": name, "role": "user", "content": text} for name, text in texts.items()]
            status, _ = await self._send("write", "PUT", f"/chat-history/{chat}", {"messages": messages})
            if status == 200:
                self._record.ledger.stored(chat, texts)

    async def _turn(self) -> None:
        if chat := await self._own_chat():
            question = self._question(session_state=chat)
            status, text = await self._send("turn", "POST", "/chat", question)
            # An answer that could not be stored says so, in a thought of this title.
            if status == 200 and '"History"' not in text:
                self._record.ledger.recorded(chat, question["messages"][0]["content"])

    async def _read(self) -> None:
        await self._send("list", "GET", "/chat-history")
        if self._chat:
            status, text = await self._send("read", "GET", f"/chat-history/{self._chat}/messages")
            if status == 200:
                for lost in self._record.ledger.lost(self._chat, json.loads(text)):
                    self._record.wrong(lost)

    async def _delete(self) -> None:
        if self._chat and self._random.random() < 0.3:
            chat, self._chat = self._chat, None
            self._record.ledger.forget(chat)
            status, _ = await self._send("delete", "DELETE", f"/chat-history/{chat}")
            if status == 204:
                self._record.ledger.removed(chat)

    async def _content(self) -> None:
        path = self._random.choice(("/content/plan.md", "/content/none.md", "/openapi.json"))
        await self._send("content", "GET", path)

    async def _body(self) -> None:
        hostile = self._random.choice(HOSTILE_BODIES)
        path = hostile.path.replace("{id}", uuid4().hex)
        await self._send(f"body {hostile.name}", hostile.method.upper(), path, BytesIO(hostile.body))

    async def _health(self) -> None:
        await self._send("health", "GET", "/health")


async def verify(url: str, http: aiohttp.ClientSession, record: Record) -> None:
    """Read every chat that is known, and note what is missing."""
    ledger = record.ledger

    async def read(chat: str) -> None:
        async with http.get(f"{url}/chat-history/{chat}/messages") as response:
            found: list[Mapping[str, object]] | None = await response.json() if response.status == 200 else None
            if response.status not in {200, 404}:
                record.wrong(f"chat {chat} cannot be read: {response.status}")
                return
        for lost in ledger.lost(chat, found):
            record.wrong(lost)

    for chat in [*ledger.chats, *ledger.deleted]:
        await read(chat)
