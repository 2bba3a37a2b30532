"""A model's service that answers at once or a token at a time, with next to no work of its own.

Each token is a chunk as OpenAI sends it, in a write of its own. Its text has one `MARK`, which callers count.
`plan TOKENS GAP`, from the parent, says how many tokens the next answers have and how many seconds lie between two.
"""

import asyncio
import json

from bench.child import obey

MARK = b"~"
"""Comes once a token and nowhere else."""
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def _event(delta: dict[str, str], finish_reason: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    chunk: dict[str, object] = {
        "id": "chatcmpl-BxQ2kF0sXyZ8mJ3nP7rT1vW5aC9eG",
        "object": "chat.completion.chunk",
        "created": 1_764_000_000,
        "model": "gpt-4o-2024-11-20",
        "service_tier": "default",
        "system_fingerprint": "fp_50906f2aac",
        "choices": [choice],
        "usage": None,
    } | more
    return _framed(b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n")


def _framed(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


_ROLE = _event({"role": "assistant", "content": ""})
_TOKEN = _event({"content": f" word{MARK.decode()}"})
_USAGE = {"prompt_tokens": 900, "completion_tokens": 500, "total_tokens": 1400}
_END = b"".join([_event({}, "stop"), _event({}, choices=[], usage=_USAGE), _framed(b"data: [DONE]\n\n"), b"0\r\n\r\n"])
_LIST = b'{"object":"list","data":[{"id":"gpt-4o","object":"model"}]}'
_MODELS = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(_LIST), _LIST)


class _Plan:
    """What the next answers are."""

    def __init__(self) -> None:
        self.tokens = 1
        self.gap = 0.0

    def told(self, words: list[str]) -> None:
        match words:
            case ["plan", tokens, gap]:
                self.tokens, self.gap = int(tokens), float(gap)
            case _:
                raise ValueError(words)


class _Connection(asyncio.Protocol):
    """Answers the requests of one connection: a `GET` with the list of models, anything else with tokens."""

    def __init__(self, plan: _Plan) -> None:
        self._plan = plan
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.WriteTransport):
            raise TypeError
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if separator and len(body) >= _content_length(head):
            self._received = b""
            if head.startswith(b"GET "):
                self._write(_MODELS)
            else:
                self._answer()

    def _answer(self) -> None:
        self._write(_HEAD + _ROLE)
        if self._plan.gap:
            self._drip(self._loop.time(), self._plan.tokens, self._plan.gap)
            return
        for _ in range(self._plan.tokens):
            self._write(_TOKEN)
        self._write(_END)

    def _drip(self, due: float, tokens: int, gap: float) -> None:
        """Write a token, and see to the others: each is due at its own time, however late the one before was."""
        if not tokens:
            self._write(_END)
            return
        self._write(_TOKEN)
        self._loop.call_at(due + gap, self._drip, due + gap, tokens - 1, gap)

    def _write(self, data: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(data)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def main() -> None:
    """Serve until the parent hangs up."""
    plan = _Plan()
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(plan), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    await obey(f"http://{host}:{port}", plan.told)


if __name__ == "__main__":
    asyncio.run(main())
