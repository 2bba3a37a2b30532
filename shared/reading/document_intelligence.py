"""Azure AI Document Intelligence, which reads scanned pages. Imports its SDK: import it late.

Source: Document Intelligence REST API 2024-11-30, 'Analyze Document', error guide v4.0, and 'Markdown elements'.
"""

import asyncio
import re
from collections.abc import Sequence
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from azure.ai.documentintelligence.aio import DocumentIntelligenceClient
from azure.ai.documentintelligence.models import AnalyzeResult, DocumentContentFormat, StringIndexType
from azure.core.exceptions import HttpResponseError
from azure.core.polling.async_base_polling import AsyncLROBasePolling
from pydantic import SecretStr

from shared.outbound.asking import RetryPolicy
from shared.outbound.azure_service.ai_service import AIService
from shared.outbound.azure_service.asking import OPTIONS
from shared.outbound.azure_service.signing_in import close, credential_of
from shared.reading.markup import html_to_markdown
from shared.reading.pages import Page, UnreadableError
from shared.settings import Settings

_MODEL = "prebuilt-layout"
"""The one that writes Markdown."""
_SECONDS = 600.0
"""How long the reading of one document may take, retries included."""
_POLL_SECONDS = 2.0
"""Between two looks at what has come of it, where the service does not say."""
_POLL_RETRIES = 3
"""Of one such look; each is bounded by the whole."""
_OF_THE_DOCUMENT = ("Invalid", "Unsupported")
"""How the codes of errors begin that another try would give again."""

_REFUSED = "is refused by Azure AI Document Intelligence: damaged, protected, or over its limits."

_SERVICE = AIService(
    "Azure AI Document Intelligence",
    "DOCUMENT_INTELLIGENCE",
    "a document",
    RetryPolicy(retries=3, first_backoff=0.25, longest_wait=60.0),
)

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
"""Page numbers, headers, footers and breaks."""
_FIGURE_TAG = re.compile(r"</?fig(?:ure|caption)>")
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)


class _Cause(msgspec.Struct):
    code: str


class _Error(msgspec.Struct):
    code: str
    innererror: _Cause | None = None


class _Told(msgspec.Struct):
    error: _Error


_decoder = msgspec.json.Decoder(_Told)


class DocumentIntelligence:
    """One resource.

    Args:
        endpoint: The resource's URL.
        key: Its key; None: the app's identity.
        poll_seconds: Between two looks at what has come of a document, where the service does not say.
    """

    model = f"document-intelligence-{_MODEL}"
    """What reads; another one could read otherwise."""

    def __init__(self, endpoint: str, key: SecretStr | None, *, poll_seconds: float = _POLL_SECONDS) -> None:
        self._credential = credential_of(key)
        self._client = DocumentIntelligenceClient(endpoint, self._credential, **OPTIONS)
        self._poll_seconds = poll_seconds

    @classmethod
    def from_settings(cls, settings: Settings) -> "DocumentIntelligence":
        """The resource that the settings name; they have been checked to be complete."""
        return cls(settings.document_intelligence_endpoint or "", settings.document_intelligence_api_key)

    async def read(self, path: Path, pages: Sequence[int] = ()) -> list[Page]:
        """The text of a document's pages, numbered from 1.

        Args:
            path: A PDF or an image.
            pages: The numbers of the pages to read; none: all.

        Raises:
            UnreadableError: the service cannot read this document.
            RateLimited, Unavailable, TooSlow: it cannot now; says what to do.
        """
        data = await asyncio.to_thread(path.read_bytes)

        async def analyse() -> AnalyzeResult:
            try:
                poller = await self._client.begin_analyze_document(
                    _MODEL,
                    BytesIO(data),
                    content_type="application/octet-stream",
                    pages=_ranges(pages) or None,
                    string_index_type=StringIndexType.UNICODE_CODE_POINT,
                    output_content_format=DocumentContentFormat.MARKDOWN,
                    polling=_polling(self._poll_seconds),
                )
                return await poller.result()
            except HttpResponseError as exc:
                if _is_of_the_document(exc):
                    raise UnreadableError(_REFUSED) from None
                raise

        return _pages(await _SERVICE.ask(analyse, deadline=asyncio.get_running_loop().time() + _SECONDS))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        await close(self._credential)


def _polling(seconds: float) -> AsyncLROBasePolling[AnalyzeResult, Any, Any]:
    return AsyncLROBasePolling(seconds, retry_total=_POLL_RETRIES)


def _ranges(numbers: Sequence[int]) -> str:
    """Page numbers as the service takes them, such as `1-3,7`: a long scan's would not fit into a URL one by one."""
    runs: list[str] = []
    for _, group in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        runs.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ",".join(runs)


def _is_of_the_document(error: HttpResponseError) -> bool:
    """Whether an error says something of the document, and another try would give it again."""
    if error.response is None:
        return False
    try:
        told = _decoder.decode(error.response.text()).error
    except ValueError:  # msgspec's too
        return False
    codes = [told.code, *([told.innererror.code] if told.innererror else [])]
    return all(code.startswith(_OF_THE_DOCUMENT) for code in codes)


def _pages(result: AnalyzeResult) -> list[Page]:
    """The text of each page, which is in one piece or in several of the whole."""
    content = result.content or ""
    return [
        Page(
            _markdown("".join(content[span.offset : span.offset + span.length] for span in page.spans)),
            page.page_number,
        )
        for page in result.pages or ()
    ]


def _markdown(text: str) -> str:
    """Plain Markdown: without comments and figure tags, and with Markdown's own tables."""
    shown = _FIGURE_TAG.sub("", _COMMENT.sub("", text))
    return _TABLE.sub(lambda table: html_to_markdown(table[0]), shown)
