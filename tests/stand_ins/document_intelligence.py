"""A local HTTP server that stands in for Azure AI Document Intelligence; it can be scripted.

    async with DocumentIntelligenceStandIn() as service:
        service.reads({1: "# Rules\n\nPay by card."})   # from now on, what is on the pages of any document
        service.fail(503)                                # for the next request, first come, first served
        ...point the app at it with service.settings...
        assert service.analysed[0].pages == "2-3"

Source: Document Intelligence REST API 2024-11-30, 'Analyze Document' and 'Get Analyze Result', error guide v4.0.
"""

import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

from shared.chat_types import Json
from tests.stand_ins.local_server import Failure, LocalServer

VERSION = "2024-11-30"
MODEL = "prebuilt-layout"
_PATH = f"/documentintelligence/documentModels/{MODEL}:analyze"
_RESULTS = f"/documentintelligence/documentModels/{MODEL}/analyzeResults/"
_PARAMETERS = {
    *("api-version", "_overload", "pages", "locale", "stringIndexType"),
    *("features", "queryFields", "outputContentFormat", "output"),
}
_PAGES = re.compile(r"\d+(-\d+)?(, *\d+(-\d+)?)*")
_CONTENT_TYPES = {"application/octet-stream", "application/pdf", "image/jpeg", "image/png", "image/tiff"}
_STARTS = (b"%PDF-", b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
BROKEN: Json = {
    "code": "InvalidRequest",
    "message": "Invalid request.",
    "innererror": {"code": "InvalidContent", "message": "The file is corrupted or format is unsupported."},
}


@dataclass(slots=True)
class Analysed:
    """A document that came in."""

    data: bytes
    pages: str | None
    """As asked for; None: all."""
    index: str
    """What offsets count."""
    looks: int = 0
    """How often somebody asked what has come of it."""


class DocumentIntelligenceStandIn(LocalServer):
    """The server, as an async context manager; every method may be called at any time."""

    key = "document-key-0123456789"
    token = "token-of-the-app"  # noqa: S105 (nobody else takes it)

    def __init__(self) -> None:
        super().__init__(largest=500 * 1024 * 1024)
        self.analysed: list[Analysed] = []
        """In the order of the requests."""
        self.looks_needed = 1
        """At the result, until it is there."""
        self._texts: Mapping[int, str] = {1: "Nothing."}
        self._failures: deque[Failure] = deque()
        self._failures_of_looks: deque[Failure] = deque()

    @property
    def settings(self) -> dict[str, str]:
        """The environment that points the app at this server."""
        return {"DOCUMENT_INTELLIGENCE_ENDPOINT": self.endpoint, "DOCUMENT_INTELLIGENCE_API_KEY": self.key}

    def reads(self, texts: Mapping[int, str]) -> None:
        """Find these texts, by page, in Markdown, on what pages of them are asked for."""
        self._texts = texts

    def fail(self, status: int, headers: dict[str, str] | None = None, body: Json = None) -> None:
        """Answer the next document with an error."""
        self._failures.append(Failure(status, headers or {}, json.dumps(body) if body else None))

    def fail_look(self, status: int, headers: dict[str, str] | None = None, body: Json = None) -> None:
        """Answer the next look at a result with an error, or with a body of another kind."""
        self._failures_of_looks.append(Failure(status, headers or {}, json.dumps(body) if body else None))

    async def _serve(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        if request.method == "POST" and request.path == _PATH:
            return await self._analyze(request)
        if request.method == "GET" and request.path.startswith(_RESULTS):
            return self._look(request)
        return _error(404, {"code": "NotFound", "message": "Resource not found."})

    def _refusal(self, request: web.Request) -> web.Response | None:
        key, bearer = request.headers.get("Ocp-Apim-Subscription-Key"), request.headers.get("Authorization")
        if key != self.key and bearer != f"Bearer {self.token}":
            return _error(401, {"code": "401", "message": "Access denied due to invalid subscription key."})
        if request.query.get("api-version") != VERSION:
            return _error(404, {"code": "404", "message": "Resource not found"})
        if unknown := set(request.query) - _PARAMETERS:
            return _error(400, {"code": "InvalidArgument", "message": f"Unknown parameters: {sorted(unknown)}"})
        return None

    async def _analyze(self, request: web.Request) -> web.Response:
        if self._failures:
            return self._failures.popleft().response()
        if request.content_type not in _CONTENT_TYPES:
            return _error(415, {"code": "UnsupportedMediaType", "message": "Send a document."})
        if request.query.get("outputContentFormat", "text") not in {"text", "markdown"}:
            return _error(400, {"code": "InvalidArgument", "message": "outputContentFormat"})
        if request.query.get("stringIndexType", "textElements") not in {
            *("textElements", "unicodeCodePoint", "utf16CodeUnit")
        }:
            return _error(400, {"code": "InvalidArgument", "message": "stringIndexType"})
        pages = request.query.get("pages")
        if pages is not None and not _PAGES.fullmatch(pages):
            return _error(400, {"code": "InvalidArgument", "message": "pages"})
        data = await request.read()
        if not data.startswith(_STARTS):
            return _error(400, BROKEN)
        self.analysed.append(Analysed(data, pages, request.query.get("stringIndexType", "textElements")))
        place = f"{self.endpoint}{_RESULTS}{len(self.analysed) - 1}?api-version={VERSION}"
        return web.Response(status=202, headers={"Operation-Location": place})

    def _look(self, request: web.Request) -> web.Response:
        if self._failures_of_looks:
            return self._failures_of_looks.popleft().response()
        analysed = self.analysed[int(request.path.removeprefix(_RESULTS))]
        analysed.looks += 1
        if analysed.looks < self.looks_needed:
            return web.json_response({"status": "running"})
        return web.json_response({"status": "succeeded", "analyzeResult": self._result(analysed)})

    def _result(self, analysed: Analysed) -> Json:
        wanted = _numbers(analysed.pages) if analysed.pages else set(self._texts)
        content, pages = "", list[Json]()
        for number in sorted(wanted & set(self._texts)):
            text = self._texts[number]
            if content:
                content += "\n<!-- PageBreak -->\n\n"
            span: Json = {"offset": _length(content, analysed.index), "length": _length(text, analysed.index)}
            pages.append({"pageNumber": number, "spans": [span]})
            content += text
        return {
            "apiVersion": VERSION,
            "modelId": MODEL,
            "stringIndexType": analysed.index,
            "contentFormat": "markdown",
            "content": content,
            "pages": pages,
        }


def _length(text: str, index: str) -> int:
    """As many as there are of what offsets count; the others are no fewer than text elements."""
    return len(text.encode("utf-16-le")) // 2 if index == "utf16CodeUnit" else len(text)


def _numbers(pages: str) -> set[int]:
    found: set[int] = set()
    for part in pages.split(","):
        first, _, last = part.strip().partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _error(status: int, error: Json) -> web.Response:
    return web.json_response({"error": error}, status=status)
