"""Azure AI Document Intelligence: reads scanned pages. Imports its SDK: import this module late.

Source: Document Intelligence REST API 2024-11-30, 'Analyze Document', error guide v4.0, and 'Markdown elements'.
"""

import asyncio
import re
from collections.abc import Sequence
from io import BytesIO

from azure.ai.documentintelligence.aio import DocumentIntelligenceClient
from azure.ai.documentintelligence.models import AnalyzeResult, DocumentContentFormat, StringIndexType
from azure.core.exceptions import HttpResponseError
from azure.core.polling.async_base_polling import AsyncLROBasePolling
from pydantic import SecretStr

from shared.outbound.asking import RetryPolicy
from shared.outbound.azure_service.ai_service import AIService
from shared.outbound.azure_service.signing_in import close, credential_of
from shared.outbound.azure_service.transport import client_options
from shared.reading import Page, UnreadableError, markup, readers

_MODEL = "prebuilt-layout"
"""The model that returns Markdown."""
_DOCUMENT_TIMEOUT_SECONDS = 600.0
"""Time for one document, retries included."""
_POLL_INTERVAL_SECONDS = 2.0
"""Time between two requests for the result, where the service does not state one."""
_POLL_RETRIES = 3
"""Retries of one request for the result, within the time for the document."""
_DOCUMENT_ERROR_PREFIXES = ("Invalid", "Unsupported")
"""Prefixes of the error codes that blame the document: trying again would fail in the same way."""

_REFUSED = "is refused by Azure AI Document Intelligence: damaged, protected, or over its limits."

_SERVICE = AIService(
    "Azure AI Document Intelligence",
    "DOCUMENT_INTELLIGENCE",
    "a document",
    RetryPolicy(retries=3, first_backoff=0.25, longest_wait=60.0),
)

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
"""Marks page numbers, headers, footers and page breaks."""
_FIGURE_TAG = re.compile(r"</?fig(?:ure|caption)>")
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)


class DocumentIntelligence:
    """A `TextRecognition` by a resource of Azure AI Document Intelligence.

    Args:
        endpoint: URL of the resource.
        key: Key of the resource; None: sign in with the app's identity.
        poll_seconds: Seconds between two requests for a result, where the service does not state them.
    """

    model = f"document-intelligence-{_MODEL}"
    """Name of the model; another model may read the same page differently."""

    def __init__(self, endpoint: str, key: SecretStr | None, *, poll_seconds: float = _POLL_INTERVAL_SECONDS) -> None:
        self._credential = credential_of(key)
        self._client = DocumentIntelligenceClient(endpoint, self._credential, **client_options(layouts=True))
        self._poll_seconds = poll_seconds

    async def read(self, data: bytes, pages: Sequence[int] = ()) -> list[Page]:
        """See `TextRecognition.read`."""

        async def analyse() -> AnalyzeResult:
            try:
                poller = await self._client.begin_analyze_document(
                    _MODEL,
                    BytesIO(data),
                    content_type="application/octet-stream",
                    pages=readers.ranges(sorted(pages), ",") or None,  # one by one they may be too long for a URL
                    string_index_type=StringIndexType.UNICODE_CODE_POINT,
                    output_content_format=DocumentContentFormat.MARKDOWN,
                    polling=AsyncLROBasePolling(self._poll_seconds, retry_total=_POLL_RETRIES),
                )
                return await poller.result()
            except HttpResponseError as exc:
                if _blames_document(exc):
                    raise UnreadableError(_REFUSED) from None
                raise

        deadline = asyncio.get_running_loop().time() + _DOCUMENT_TIMEOUT_SECONDS
        return await asyncio.to_thread(_pages, await _SERVICE.ask(analyse, deadline=deadline))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        await close(self._credential)


def _blames_document(error: HttpResponseError) -> bool:
    """Whether the document is the cause of an error, so that another try would fail in the same way."""
    found = error.error
    codes = [found.code, found.innererror.get("code") if found.innererror else found.code] if found else [None]
    return all((code or "").startswith(_DOCUMENT_ERROR_PREFIXES) for code in codes)


def _pages(result: AnalyzeResult) -> list[Page]:
    """The text of each page, which the service returns as one or more spans of the whole text."""
    content = result.content or ""
    return [
        Page(
            _markdown("".join(content[span.offset : span.offset + span.length] for span in page.spans)),
            page.page_number,
        )
        for page in result.pages or ()
    ]


def _markdown(text: str) -> str:
    """Plain Markdown: without comments and figure tags, and with tables as Markdown instead of HTML."""
    visible = _FIGURE_TAG.sub("", _COMMENT.sub("", text))
    return _TABLE.sub(lambda table: markup.html_to_markdown(table[0]), visible)
