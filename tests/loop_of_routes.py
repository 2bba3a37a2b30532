"""Sends the largest bodies to every route of the app in this process; prints the slowest turn of its event loop each.

What is measured is CPU time of the loop's thread in one callback, and how long a pinger on the loop waits, as far as
this process worked meanwhile: a thread that keeps the interpreter to itself holds others up too. So other work on the
machine does not count.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator, MutableMapping
from typing import Any

from starlette.requests import Request

from function_app import ROUTES
from shared.triggers.door import Open, Route, answer
from shared.wire.history_body import HISTORY_BODY_LIMIT
from shared.wire.request_body import BODY_LIMIT

KEY = "secret-of-ada-secret-of-ada"
_CHUNK = 64 * 1024
_QUICK = 0.04
"""Seconds below which no further try is made."""
_TRIES = 5
"""How often a body is sent at most: on a busy machine a turn of the loop takes more CPU time, too."""
_PING = 0.002
_slowest = 0.0


def _measure(run: Any) -> Any:
    def measured(handle: Any) -> None:
        global _slowest  # noqa: PLW0603 (one loop in this process)
        begun = time.thread_time()
        run(handle)
        _slowest = max(_slowest, time.thread_time() - begun)

    return measured


async def _ping() -> None:
    global _slowest  # noqa: PLW0603
    while True:
        begun, worked = time.perf_counter(), time.process_time()
        await asyncio.sleep(_PING)
        _slowest = max(_slowest, min(time.perf_counter() - begun - _PING, time.process_time() - worked))


def _asking(route: Route | Open, content: str | list[dict[str, str]]) -> dict[str, Any]:
    """A body with this text, or these messages, as the route wants it."""
    messages = [{"id": "1", "role": "user", "content": content}] if isinstance(content, str) else content
    text = content if isinstance(content, str) else "a"
    match route.name:
        case "responses":
            return {"input": messages if isinstance(content, list) else content}
        case "mcp":
            call = {"name": "search", "arguments": {"query": text}}
            return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        case "ag_ui":
            empty: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
            return {"threadId": "t", "runId": "r", "messages": messages, **empty}
        case "keep_demo_chat":
            return {"id": "x", "answers": [[text, {"message": {"content": text, "role": "assistant"}}]]}
        case "rai_analyze" | "rai_analyze_stream":
            return {"text": text}
        case _:
            return {"messages": messages}


def _encoded(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _bodies(route: Route | Open) -> Iterator[tuple[bytes, str]]:
    yield _encoded({"mode": "standard", "title": "a"}), "application/json"
    if route.name in ("put_document", "demo_upload"):
        text = b"x" + b"." * 2_000_000
        form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + text + b"\r\n--b--\r\n"
        yield (form, "multipart/form-data; boundary=b") if route.name == "demo_upload" else (text, "text/plain")
        return
    size = HISTORY_BODY_LIMIT if "chat_history" in route.path or "chat-history" in route.path else BODY_LIMIT
    for unit in sys.argv[1:] or ("[", "\U0001f9b7"):
        length = (size - 1_000) // (len(_encoded(unit)) - 2) // (2 if route.name == "keep_demo_chat" else 1)
        yield _encoded(_asking(route, unit * length)), "application/json"
    message = {"id": "1", "role": "user", "content": "a"}
    many = (size - 1_000) // len(_encoded([message]))
    yield _encoded(_asking(route, [message] * many)), "application/json"
    yield _encoded(dict.fromkeys(map(str, range(size // 15)), 1)), "application/json"


async def _ask(route: Route | Open, method: str, body: bytes, kind: str, chat: str) -> tuple[int, bytes]:
    values = {"protocol": route.protocol or "ai-chat", "path": "mine/a.txt" if method in ("PUT", "DELETE") else "a.md"}
    values |= {"id": chat if route.path.startswith("chat-history") else "x" * 30, "digest": "x"}
    headers = {"content-type": kind, "content-length": str(len(body)), "authorization": f"Bearer {KEY}", "host": "h"}
    headers |= {"x-ms-invocation-id": "1"}
    scope = {
        "type": "http", "method": method, "path": f"/api/{route.path}", "raw_path": b"/",
        "query_string": b"overwrite=true&search=zebra",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()], "path_params": values,
        "scheme": "http", "server": ("h", 80), "client": ("127.0.0.1", 1), "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    pieces, status = [body[start : start + _CHUNK] for start in range(0, len(body), _CHUNK)], 0
    for_ever, received = asyncio.Event(), bytearray()

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        if not pieces:
            await for_ever.wait()
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: MutableMapping[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)
        received.extend(message.get("body", b""))

    request = Request(scope, receive)
    async with asyncio.timeout(60):
        response = await answer(route, request, ROUTES)
        await response(scope, receive, send)
    return status, bytes(received)


async def _main() -> None:
    global _slowest  # noqa: PLW0603
    pinging = asyncio.create_task(_ping())
    chat, order = "x", {"POST": 0, "PUT": 0, "GET": 1, "DELETE": 2}  # what is sent is kept when it is read
    for route in sorted(ROUTES, key=lambda route: order[(route.methods or "GET").split()[0]]):
        for method in (route.methods or "GET").split():
            bodies = [*_bodies(route)] if method in ("POST", "PUT") else [(b"", "text/plain")] * 2
            # What is imported and opened once does not count.
            _, answered = await _ask(route, method, *bodies[0], chat)
            if route.name == "start_chat":
                chat = json.loads(answered)["id"]
            found: list[tuple[float, int]] = []
            for body, kind in bodies[1:]:
                tries: list[tuple[float, int]] = []
                for _ in range(_TRIES):
                    _slowest = 0.0
                    status, _ = await _ask(route, method, body, kind, chat)
                    tries.append((_slowest, status))
                    if _slowest < _QUICK:
                        break
                found.append(min(tries))
            seconds, statuses = zip(*found, strict=True)
            sys.stdout.write(json.dumps([route.name, method, seconds, statuses]) + "\n")
    pinging.cancel()


if __name__ == "__main__":
    asyncio.events.Handle._run = _measure(asyncio.events.Handle._run)  # pyright: ignore[reportPrivateUsage]
    asyncio.run(_main())
