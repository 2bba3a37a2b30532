"""An API with an OpenAPI document: reads the document and calls its operations. Imports aiohttp: import it late."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
from yarl import URL

from shared.chat_types import Json, RequestContext
from shared.errors import Unavailable
from shared.outbound.bounded import body_of
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.outbound.sending import Connections
from shared.reading import UnreadableError
from shared.reading.sandbox import Sandbox
from shared.tools import ToolResult
from shared.tools.mcp_messages import digest_of, shortened
from shared.tools.openapi import Operation
from shared.tools.served import Offered
from shared.tools.servers import Api
from shared.tools.signing_in import SignIn

_FRESH_SECONDS = 3600.0
"""How long a document is used before it is read again."""
_LARGEST_DOCUMENT = 2 * 1024 * 1024
_MOST_MEMORY, _MOST_SECONDS = 512 * 1024 * 1024, 8.0
"""Bytes and time that reading one may take."""
_LONGEST_REFUSAL = 2_000
"""Maximum characters of an error response that the model is given."""
_UNAUTHORIZED = 401

_log = logging.getLogger("switchboard.tools")


class ApiClient:
    """One API, as a `Source` of tools.

    Args:
        api: What the agents file says of it.
        folder: Folder of the agents file, beside which documents are.
        connections: What requests are sent with.
        sign_in: Signs requests in.
    """

    def __init__(self, api: Api, folder: Path, connections: Connections, sign_in: SignIn) -> None:
        self._api = api
        self._folder = folder
        self._connections = connections
        self._sign_in = sign_in
        self._sandbox = Sandbox(readers=1, memory=_MOST_MEMORY, seconds=_MOST_SECONDS)

    async def offered(self, context: RequestContext) -> tuple[Sequence[Offered], float]:  # noqa: ARG002 (all get the same)
        """Read the document; return its allowed operations, and for how many seconds they hold.

        Raises:
            ServiceFault: there is none, or it is none of OpenAPI 3.
        """
        auth = self._api.auth
        try:
            operations, problems = await self._sandbox.read_api(
                await self._document(), [*self._api.operations], auth.query or auth.header
            )
        except (UnreadableError, Unavailable):
            raise ServiceFault(Fault(Reason.NOT_AN_ANSWER)) from None
        for problem in problems:
            _log.warning("%s.%s", self._api.name, problem)
        return await asyncio.to_thread(self._offers, operations), _FRESH_SECONDS

    async def aclose(self) -> None:
        """Do nothing: no request leaves anything open."""

    async def _document(self) -> bytes:
        if "://" not in self._api.document:
            return await asyncio.to_thread(self._file)
        async with self._connections.send("GET", self._api.document, {}) as response:
            if response.status != 200:
                raise ServiceFault(Fault(Reason.NOT_THERE, response.status))
            return await body_of(response, _LARGEST_DOCUMENT)

    def _file(self) -> bytes:
        try:
            with (self._folder / self._api.document).open("rb") as file:
                data = file.read(_LARGEST_DOCUMENT + 1)
        except OSError:
            raise ServiceFault(Fault(Reason.NOT_THERE)) from None
        if len(data) > _LARGEST_DOCUMENT:
            raise ServiceFault(Fault(Reason.NOT_AN_ANSWER))
        return data

    def _offers(self, operations: Sequence[bytes]) -> list[Offered]:
        found = [msgspec.json.decode(operation, type=Operation) for operation in operations]
        return [
            Offered(
                one.name, one.description, one.schema, digest_of(one.definition()), partial(self._call, one), one.reads
            )
            for one in found
        ]

    async def _call(self, operation: Operation, arguments: Mapping[str, Json], context: RequestContext) -> ToolResult:
        call = operation.call(arguments)
        base, _, fixed = self._api.url.partition("?")
        url = base.rstrip("/") + call.path
        if URL(url, encoded=True).origin() != URL(base).origin():
            raise ServiceFault(Fault(Reason.NOT_ACCEPTED))
        credentials = await self._sign_in(context)
        headers = {"accept": "application/json, text/*;q=0.9, */*;q=0.1", **call.headers, **credentials.headers}
        async with self._connections.send(
            call.method,
            url + (f"?{fixed}" if fixed else ""),
            headers,
            [*call.query, *credentials.query.items()],
            call.body,
        ) as response:
            text = _text(response.content_type, await body_of(response))
            if response.status < 300:
                return ToolResult(shortened(text) or f"Done (HTTP {response.status}).")
            said = "" if response.status == _UNAUTHORIZED else f"\n{text[:_LONGEST_REFUSAL]}"
            return ToolResult(f"HTTP {response.status}{said}", is_error=True)


def _text(kind: str, body: bytes) -> str:
    is_text = kind.startswith("text/") or kind.endswith(("json", "xml")) or not body
    return body.decode("utf-8", "replace") if is_text else f"[{kind}, {len(body):,} bytes, which is not shown]"
