"""What a model's service can send instead of an answer; `faulty_service` sends it."""

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

SECRET = "zebrafish"  # noqa: S105  (a word that no answer and no log may have)
"""A word of the service in all that it sends, but for the beginning of an answer that is told."""


@dataclass(frozen=True, slots=True)
class Forever:
    """Bytes that are sent again and again, until the other side leaves."""

    piece: bytes
    pause: float = 0.0
    """Seconds between two."""


class Hang:
    """Nothing more is sent, and the connection stays open."""


class Reset:
    """The connection is reset."""


type Step = bytes | Forever | Hang | Reset


@dataclass(frozen=True, slots=True)
class UpstreamFault:
    """What the service sends, and what the caller has to get."""

    steps: tuple[Step, ...]
    status: int = 503
    """The status of an answer in one piece, and of a stream that has not begun."""
    or_status: int = 0
    """Another that is as right: it depends on how the network cuts what is sent."""
    waits: bool = False
    """Whether only a time limit ends it."""


HTTP = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
SSE = HTTP + b"Content-Type: text/event-stream\r\n"
OPEN = SSE + b"\r\n"
"""A head without a length: the end of the connection is the end of the answer."""
CHUNKED = SSE + b"Transfer-Encoding: chunked\r\n\r\n"
TEXT = b'data: {"id":"1","choices":[{"delta":{"content":"Half"}}]}\n\n'
END = b'data: {"id":"1","choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
ANSWER = TEXT + END
LONG = SECRET.encode() * 20_000


def chunk(data: bytes) -> bytes:
    """One piece in HTTP's chunked coding."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(delta: Mapping[str, object]) -> bytes:
    """One event with a choice."""
    return b"data: " + json.dumps({"id": "1", "choices": [{"delta": delta}]}).encode() + b"\n\n"


def whole(status: str, body: bytes, content_type: str = "application/json", headers: str = "") -> bytes:
    """A whole answer of HTTP."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return head.encode() + headers.encode() + b"\r\n" + body


def bomb(unit: bytes, megabytes: int, bits: int = 31) -> bytes:
    """So many megabytes of a text, packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    megabyte = unit * (1_000_000 // len(unit))
    first, more = (packer.compress(megabyte) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + more * (megabytes - 1)  # after a full flush each block stands for itself


def not_http() -> dict[str, UpstreamFault]:
    """Answers that are no HTTP, or that break its rules before the body begins."""
    heads = {
        "garbage": b"\x00\x01 zebrafish \r\n\r\n",
        "tls-alert": b"\x15\x03\x01\x00\x02\x02\x46",
        "http-0.9": b"<html>zebrafish</html>",
        "bad-status-line": b"HTTP/1.1 zebrafish OK\r\n\r\n",
        "status-of-four-digits": b"HTTP/1.1 2000 OK\r\n\r\n",
        "status-0": b"HTTP/1.1 000 zebrafish\r\n\r\n",
        "http-9.9": b"HTTP/9.9 200 OK\r\nContent-Type: text/plain\r\n\r\nzebrafish",
        "h2-preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "ssh": b"SSH-2.0-zebrafish\r\n",
        "smtp": b"220 zebrafish ESMTP\r\n",
        "huge-status-line": b"HTTP/1.1 200 " + LONG + b"\r\n\r\n",
        "huge-header": SSE + b"X: " + LONG + b"\r\n\r\n",
        "huge-header-name": SSE + LONG + b": x\r\n\r\n",
        "20000-headers": SSE + b"".join(b"X-%d: zebrafish\r\n" % number for number in range(20_000)) + b"\r\n",
        "header-without-colon": SSE + b"zebrafish\r\n\r\n" + ANSWER,
        "nul-in-header": SSE + b"X: zebra\0fish\r\n\r\n" + ANSWER,
        "space-before-colon": SSE + b"Content-Length : 5\r\n\r\nzebra",
        "bare-cr": SSE + b"X: a\rTransfer-Encoding: chunked\r\n\r\n" + ANSWER,
        "negative-length": SSE + b"Content-Length: -5\r\n\r\n" + ANSWER,
        "length-of-words": SSE + b"Content-Length: zebrafish\r\n\r\n" + ANSWER,
        "two-lengths": SSE + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n" + ANSWER,
        "huge-length-number": SSE + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n" + ANSWER,
        "switching-protocols": b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nzebrafish",
    }
    return {name: UpstreamFault((sent,)) for name, sent in heads.items()}


def bad_bodies() -> dict[str, UpstreamFault]:
    """Answers of status 200 that are none of a model."""
    bodies = {
        "empty": whole("200 OK", b""),
        "no-content": b"HTTP/1.1 204 No Content\r\n\r\n",
        "partial-content": whole("206 Partial Content", b"zebrafish", "text/plain"),
        "html": whole("200 OK", b"<html>zebrafish</html>", "text/html"),
        "text": whole("200 OK", b"zebrafish", "text/plain"),
        "json-null": whole("200 OK", b"null"),
        "json-list": whole("200 OK", b'["zebrafish"]'),
        "json-other": whole("200 OK", b'{"zebrafish": 1}'),
        "json-choices-of-text": whole("200 OK", b'{"choices": "zebrafish"}'),
        "json-without-choices": whole("200 OK", b'{"id": "1", "choices": []}'),
        "json-deep": whole("200 OK", b'{"id": "1", "choices": ' + b"[" * 100_000),
        "json-not-utf-8": whole("200 OK", b'{"id": "\xff\xfe"}'),
        "json-cut": whole("200 OK", b'{"id": "1", "choices": [{"message": {"content": "zebra'),
        "json-too-long": whole("200 OK", b'{"id": "1", "x": [' + b"[]," * 3_000_000 + b"[]]}"),
        "event-not-json": OPEN + b"data: zebrafish\n\n",
        "event-not-utf-8": OPEN + b'data: {"id": "\xff"}\n\n',
        "event-a-list": OPEN + b'data: ["zebrafish"]\n\n',
        "event-deep": OPEN + b'data: {"error": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n\n",
        "event-too-long": OPEN + b"data: " + LONG * 50 + b"\n\n",
        "event-of-odd-types": OPEN + b'data: {"id": 5, "choices": {"0": "zebrafish"}}\n\n',
        "event-of-many-calls": OPEN
        + event({"tool_calls": [{"index": number, "function": {"name": "f"}} for number in range(50_000)]}),
        "event-of-many-categories": OPEN
        + b"".join(
            b'data: {"choices":[{"content_filter_results":{"%d":{"filtered":false}}}]}\n\n' % number
            for number in range(5_000)
        ),
        "events-of-nothing": OPEN + b"data: {}\n\n" * 1_000,
        "only-done": OPEN + b"data: [DONE]\n\n",
        "only-comments": OPEN + b": zebrafish\n\n" * 1_000,
        "compressed-unknown": SSE + b"Content-Encoding: zebrafish\r\n\r\n" + ANSWER,
        "compressed-in-name-only": SSE + b"Content-Encoding: gzip\r\n\r\n" + ANSWER,
        "compressed-badly": SSE + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(ANSWER)[:-20] + b"\0" * 20,
        "gzip-of-newlines": SSE + b"Content-Encoding: gzip\r\n\r\n" + bomb(b"\n", 300),
        "gzip-of-one-line": SSE + b"Content-Encoding: gzip\r\n\r\n" + bomb(b"zebrafish", 30),
        "gzip-twice": SSE + b"Content-Encoding: gzip, gzip\r\n\r\n" + gzip.compress(bomb(b"\n", 300)),
        "deflate-of-events": SSE + b"Content-Encoding: deflate\r\n\r\n" + bomb(b"data: {}\n\n", 100, 15),
    }
    errors = {
        "null": b"data: {}",
        "text": b'data: {"error": "zebrafish"}',
        "list": b'data: {"error": ["zebrafish"]}',
        "number": b'data: {"error": 7}',
        "huge-number": b'data: {"error": {"code": ' + b"7" * 5_000 + b"}}",
        "odd-types": b'data: {"error": {"code": {"a": 1}, "type": ["zebrafish"], "param": {}, "message": [1]}}',
        "odd-inner": b'data: {"error": {"innererror": ["zebrafish"], "code": null}}',
        "deep": b'data: {"error": {"message": ' + b"[" * 500 + b"]" * 500 + b"}}",
    }
    return {
        **{name: UpstreamFault((sent,)) for name, sent in bodies.items()},
        **{f"error-event-{name}": UpstreamFault((OPEN + sent + b"\n\n",)) for name, sent in errors.items()},
        "error-event-of-a-filter": UpstreamFault((OPEN + b'data: {"error": {"code": "content_filter"}}\n\n',), 400),
        "event-of-a-huge-id": UpstreamFault((OPEN + event({}).replace(b'"1"', b'"' + LONG + b'"') + ANSWER,), 200),
        "error-event-of-a-rate": UpstreamFault((OPEN + b'data: {"error": {"code": "429"}}\n\n',), 429),
    }


_UNAVAILABLE = (300, 304, 401, 403, 404, 405, 409, 500, 501, 502, 503, 520, 599, 999)
_NOT_ACCEPTED = (400, 402, 413, 418, 422, 451, 499)
STATUSES = {
    **dict.fromkeys(_UNAVAILABLE, 503),
    **dict.fromkeys(_NOT_ACCEPTED, 400),
    408: 504,
    429: 429,
    504: 504,
    524: 504,
}
"""The status of the service, and that of our answer."""

ODD_ERRORS: dict[str, bytes] = {
    "empty": b"",
    "not-json": b"zebrafish",
    "not-utf-8": b"\xff\xfe\x00",
    "null": b"null",
    "number": b"7",
    "text": b'"zebrafish"',
    "list": b'["zebrafish"]',
    "error-is-text": b'{"error": "zebrafish"}',
    "error-is-a-list": b'{"error": ["zebrafish"]}',
    "error-is-null": b'{"error": null}',
    "param-is-an-object": b'{"error": {"param": {"zebrafish": 1}, "code": "unsupported_value"}}',
    "param-is-a-list": b'{"error": {"param": ["seed"], "code": ["unsupported_value"]}}',
    "message-is-a-list": b'{"error": {"message": ["zebrafish"], "code": 7}}',
    "message-is-an-object": b'{"error": {"message": {"zebrafish": 1}, "type": {}}}',
    "code-is-an-object": b'{"error": {"code": {"zebrafish": 1}}}',
    "code-is-huge": b'{"error": {"code": ' + b"9" * 4_000 + b"}}",
    "code-is-true": b'{"error": {"code": true, "type": 1.5}}',
    "inner-is-a-list": b'{"error": {"innererror": ["zebrafish"], "inner_error": 7}}',
    "nan": b'{"error": {"code": NaN, "param": Infinity}}',
    "surrogates": b'{"error": {"code": "\\ud800", "message": "\\udfff zebrafish"}}',
    "nested-400": b'{"error": ' + b'{"a": ' * 400 + b"1" + b"}" * 401,
    "nested-950": b'{"error": ' + b"[" * 950 + b"]" * 950 + b"}",
    "nested-100000": b'{"error": ' + b"[" * 100_000,
    "a-megabyte": b'{"error": {"message": "' + LONG * 10 + b'"}}',
    "many-lists": b'{"error": [' + b"[]," * 1_000_000 + b"[]]}",
}
"""Bodies of a refusal (400) that no reference describes."""


def refusals() -> dict[str, UpstreamFault]:
    """Statuses that are none of success, with all kinds of bodies and headers."""
    error = b'{"error": {"message": "zebrafish", "type": "odd", "param": null, "code": null}}'
    odd = {
        "charset-zlib": whole("400 X", zlib.compress(error), "application/json; charset=zlib"),
        "charset-rot13": whole("400 X", error, "application/json; charset=rot13"),
        "charset-undefined": whole("400 X", error, "application/json; charset=undefined"),
        "charset-unknown": whole("400 X", error, "application/json; charset=zebrafish"),
        "charset-nul": whole("400 X", error, 'application/json; charset="\t"'),
        "odd-request-id": whole("400 X", error, headers="x-request-id: zebrafish asked\r\napim-request-id: \xe9\r\n"),
        "retry-headers": whole("400 X", error, headers="x-should-retry: true\r\nRetry-After: zebrafish\r\n"),
        "compressed": whole("400 X", gzip.compress(error), headers="Content-Encoding: gzip\r\n"),
        "bomb": whole("400 X", bomb(b"[],", 100), headers="Content-Encoding: gzip\r\n"),
        "cut": whole("400 X", error)[:-20],
    }
    return {
        **{f"status-{sent}": UpstreamFault((whole(f"{sent} X", error),), ours) for sent, ours in STATUSES.items()},
        **{f"refusal-{name}": UpstreamFault((whole("400 X", body),), 400) for name, body in ODD_ERRORS.items()},
        **{f"refusal-{name}": UpstreamFault((sent,), 400) for name, sent in odd.items()},
        "rate-for-73-years": UpstreamFault((whole("429 X", error, headers="Retry-After: 2300926067\r\n"),), 429),
        "rate-until-a-far-date": UpstreamFault(
            (whole("429 X", error, headers="Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),), 429
        ),
        "rate-of-a-body-without-end": UpstreamFault((b"HTTP/1.1 429 X\r\nRetry-After: 60\r\n\r\n", Forever(LONG)), 429),
        "refusal-without-end": UpstreamFault((b"HTTP/1.1 400 X\r\n\r\n", Forever(LONG)), 400),
        "fault-without-end": UpstreamFault((b"HTTP/1.1 500 X\r\n\r\n", Forever(LONG))),
        **{
            f"redirect-{status}-{name}": UpstreamFault((whole(f"{status} X", b"", headers=f"Location: {where}\r\n"),))
            for status in (301, 302, 303, 307, 308)
            for name, where in {
                "elsewhere": "http://zebrafish.invalid/v1/chat/completions",
                "to-itself": "/v1/chat/completions",
            }.items()
        },
        "redirect-to-a-file": UpstreamFault((whole("307 X", b"", headers="Location: file:///etc/passwd\r\n"),)),
        "redirect-to-nonsense": UpstreamFault((whole("307 X", b"", headers="Location: http://[zebrafish\r\n"),)),
        "redirect-to-nowhere": UpstreamFault((whole("307 X", b""),)),
    }


def cut_off() -> dict[str, UpstreamFault]:
    """Answers that end too early, at each stage of one."""
    stages = {
        "before-the-status": b"",
        "in-the-status": b"HTTP/1.",
        "in-the-head": SSE,
        "after-the-head": CHUNKED,
        "in-a-chunk-size": CHUNKED + b"3",
        "in-the-first-event": CHUNKED + b"50\r\n" + TEXT[:20],
        "after-the-first-event": CHUNKED + chunk(TEXT),
        "in-the-second-event": CHUNKED + chunk(TEXT + TEXT[:30]),
        "without-a-length": OPEN + TEXT,
        "before-its-length": SSE + b"Content-Length: 5000\r\n\r\n" + TEXT,
    }
    faults = {f"cut-{name}": UpstreamFault((sent,)) for name, sent in stages.items()}
    for name, sent in stages.items():
        faults[f"reset-{name}"] = UpstreamFault((sent, Reset()))
    bad_chunks = {
        "zz": b"zz\r\n",
        "negative": b"-5\r\n",
        "huge": b"f" * 40 + b"\r\n",
        "too-short": b"2\r\nzebrafish\r\n",
    }
    for name, sent in bad_chunks.items():
        faults[f"chunk-{name}"] = UpstreamFault((CHUNKED + sent,))
        # aiohttp closes the connection but does not tell who reads the body: a time limit ends that.
        faults[f"chunk-{name}-later"] = UpstreamFault((CHUNKED + chunk(TEXT), sent), 504, 503, waits=True)
    return faults


def without_end() -> dict[str, UpstreamFault]:
    """Answers that do not end by themselves but are ended by their size."""
    comment = b": " + LONG + b"\n"
    return {
        "endless-line": UpstreamFault((OPEN + b"data: ", Forever(LONG))),
        "endless-name": UpstreamFault((OPEN, Forever(LONG))),
        "endless-empty-lines": UpstreamFault((OPEN, Forever(b"\n" * 100_000))),
        "endless-carriage-returns": UpstreamFault((OPEN, Forever(b"\r" * 100_000))),
        "endless-data-lines": UpstreamFault((OPEN, Forever(b"data\n" * 20_000))),
        "endless-comments": UpstreamFault((OPEN, Forever(comment))),
        "endless-empty-events": UpstreamFault((OPEN, Forever(b"data: {}\n\n" * 10_000))),
        "endless-chunks-of-a-byte": UpstreamFault((CHUNKED, Forever(b"1\r\n\n\r\n" * 10_000))),
        "endless-text": UpstreamFault((OPEN, Forever(event({"content": "x" * 20_000})))),
        "endless-short-text": UpstreamFault((OPEN, Forever(event({"content": "x"}) * 1_000))),
        "endless-refusal": UpstreamFault((OPEN, Forever(event({"refusal": "x" * 20_000})))),
        "endless-arguments": UpstreamFault(
            (OPEN, Forever(event({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "x" * 100}}]})))
        ),
        "endless-calls": UpstreamFault(
            (
                OPEN,
                Forever(
                    b"".join(
                        event({"tool_calls": [{"id": str(number), "function": {"name": "f"}}]})
                        for number in range(1_000)
                    )
                ),
            )
        ),
        "endless-after-the-end": UpstreamFault((OPEN + ANSWER, Forever(LONG)), 200),
        "endless-json": UpstreamFault((HTTP + b"Content-Type: application/json\r\n\r\n", Forever(LONG))),
        "endless-header": UpstreamFault((SSE, Forever(b"X: zebrafish\r\n" * 1_000))),
        "endless-status-line": UpstreamFault((b"HTTP/1.1 200 ", Forever(LONG))),
    }


def waiting() -> dict[str, UpstreamFault]:
    """Answers that only a time limit ends."""
    stages: dict[str, bytes] = {
        "before-the-status": b"",
        "in-the-head": SSE,
        "after-the-head": CHUNKED,
        "after-the-first-event": CHUNKED + chunk(TEXT),
        "in-a-refusal": b"HTTP/1.1 400 X\r\nContent-Length: 500\r\n\r\nzebrafish",
    }
    drips: dict[str, tuple[bytes, bytes]] = {
        "the-status": (b"HTTP/1.1 200 ", b"x"),
        "headers": (SSE, b"X: y\r\n"),
        "informational": (b"", b"HTTP/1.1 103 Early Hints\r\nX: zebrafish\r\n\r\n"),
        "comments": (OPEN, b": zebrafish\n\n"),
        "empty-chunks-of-text": (OPEN, event({"content": ""})),
        "text": (OPEN, event({"content": "x"})),
        "a-refusal": (b"HTTP/1.1 400 X\r\n\r\n", b"x"),
    }
    return {
        **{f"hang-{name}": UpstreamFault((sent, Hang()), 504, waits=True) for name, sent in stages.items()},
        **{
            f"drip-{name}": UpstreamFault((sent, Forever(piece, 0.1)), 504, waits=True)
            for name, (sent, piece) in drips.items()
        },
    }


KINDS = {
    "no HTTP": not_http(),
    "bad bodies": bad_bodies(),
    "refusals": refusals(),
    "cut off": cut_off(),
    "without an end": without_end(),
    "waiting": waiting(),
}
FAULTS = {name: fault for faults in KINDS.values() for name, fault in faults.items()}
"""All of them, by name."""
