"""A local HTTP server that stands in for Azure AI Search: it follows the REST reference and can be scripted.

    async with AISearchStandIn() as service:
        service.add_index(demo_index())            # of `ai_search_demo`; or let the app create it
        service.add_documents({"id": "a", "content": "Glasses are covered.", "sourcefile": "a.md"})
        service.fail(429, headers={"Retry-After": "1"})    # for the next request, first come, first served
        service.fail(503, on="write")                      # for the next one of this kind
        service.fail_documents({"file-a-page-1": 503})     # in the next batch: 207
        ...point the app at it with service.settings...
        assert service.searches[0]["search"] == "glasses"

What is scripted comes after the checks of the request's address and credentials, and before those of its body. The app
under test may run in the same loop or in another process.

Source: Search Service REST API 2026-04-01.
"""

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import web

from shared.chat_types import Json
from tests.stand_ins.ai_search_bodies import read_search
from tests.stand_ins.ai_search_definitions import IndexDefinition, read_definition
from tests.stand_ins.ai_search_demo import INDEX_NAME
from tests.stand_ins.ai_search_documents import Index, read_object
from tests.stand_ins.ai_search_queries import answer
from tests.stand_ins.ai_search_refusals import Refusal
from tests.stand_ins.ai_search_scripts import Operation, Scripted

VERSION = "2026-04-01"
_LARGEST = 16 * 1024 * 1024
"""Bytes of a request."""

READER = "Search Index Data Reader"
CONTRIBUTOR = "Search Index Data Contributor"
SERVICE_CONTRIBUTOR = "Search Service Contributor"
SERVICE_READER = "Reader"
ROLES: dict[Operation, frozenset[str]] = {
    "search": frozenset({READER, CONTRIBUTOR}),
    "lookup": frozenset({READER, CONTRIBUTOR}),
    "count": frozenset({READER, CONTRIBUTOR}),
    "write": frozenset({CONTRIBUTOR}),
    "definition": frozenset({SERVICE_READER, SERVICE_CONTRIBUTOR}),
    "create": frozenset({SERVICE_CONTRIBUTOR}),
    "delete": frozenset({SERVICE_CONTRIBUTOR}),
    "list": frozenset({SERVICE_READER, SERVICE_CONTRIBUTOR}),
    "stats": frozenset({SERVICE_READER, SERVICE_CONTRIBUTOR}),
}
"""One of which a token's identity must have; the query key does what `READER` may."""

_ROUTES: tuple[tuple[str, str, Operation], ...] = (
    ("POST", r"/indexes\('(?P<name>[^']+)'\)/docs/search\.post\.search", "search"),
    ("POST", r"/indexes\('(?P<name>[^']+)'\)/docs/search\.index", "write"),
    ("GET", r"/indexes\('(?P<name>[^']+)'\)/docs\('(?P<key>[^']+)'\)", "lookup"),
    ("GET", r"/indexes\('(?P<name>[^']+)'\)/docs/\$count", "count"),
    ("GET", r"/indexes\('(?P<name>[^']+)'\)", "definition"),
    ("PUT", r"/indexes\('(?P<name>[^']+)'\)", "create"),
    ("DELETE", r"/indexes\('(?P<name>[^']+)'\)", "delete"),
    ("POST", r"/indexes", "create"),
    ("GET", r"/indexes", "list"),
    ("GET", r"/indexes\('(?P<name>[^']+)'\)/search\.stats", "stats"),
)


@dataclass(slots=True)
class Received:
    """A request that came in, with good credentials."""

    operation: Operation
    """What it wanted."""
    headers: Mapping[str, str]
    """As sent; names in any case."""
    body: dict[str, Json]
    """The parsed body; empty if there was none or it was no JSON object."""
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client leaves before the answer is complete."""


class AISearchStandIn(Scripted):
    """The server, as an async context manager; every method may be called at any time.

    Args:
        tls: For https, without which no client sends a token; then the address is that of `localhost`.
    """

    admin_key = "admin-key-0123456789"
    query_key = "query-key-0123456789"
    token = "token-of-the-app"  # noqa: S105 (nobody else takes it)
    index_name = INDEX_NAME

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls, largest=2 * _LARGEST)
        self.roles = {CONTRIBUTOR, SERVICE_CONTRIBUTOR}
        """What the identity of `token` may do."""
        self.requests: list[Received] = []
        self.indexes: dict[str, Index] = {}
        """By name."""
        self.hidden_fields: set[str] = set()
        """Fields that the documents of answers come without, though the index has them."""
        self._failing: dict[str, list[int]] = {}
        self._arrivals = asyncio.Condition()

    @property
    def settings(self) -> dict[str, str]:
        """The environment that points the app at this server."""
        return {
            "AZURE_SEARCH_ENDPOINT": self.endpoint,
            "AZURE_SEARCH_INDEX": self.index_name,
            "AZURE_SEARCH_API_KEY": self.admin_key,
        }

    @property
    def searches(self) -> list[dict[str, Json]]:
        """The bodies of the searches."""
        return self.bodies("search")

    @property
    def index(self) -> Index:
        """The index that `settings` name."""
        return self.indexes[self.index_name]

    def bodies(self, operation: Operation) -> list[dict[str, Json]]:
        """The bodies of the requests of a kind."""
        return [request.body for request in self.requests if request.operation == operation]

    def add_index(self, definition: IndexDefinition) -> Index:
        """Add an index, as if somebody had created it."""
        return self.indexes.setdefault(definition.name, Index(definition))

    def add_documents(self, *documents: Mapping[str, Json], index: str | None = None) -> None:
        """Add documents, as if somebody had written them."""
        for document in documents:
            self.indexes[index or self.index_name].write([dict(document)], {})

    async def request_number(self, count: int, *, within: float = 60.0) -> Received:
        """Wait until so many requests have come in, and return the last of them."""
        async with asyncio.timeout(within), self._arrivals:
            await self._arrivals.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    def fail_documents(self, statuses: Mapping[str, int], *, times: int = 1) -> None:
        """Fail the actions on these keys the next times that they come, each with its status."""
        for key, status in statuses.items():
            self._failing.setdefault(key, []).extend([status] * times)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._admit(request)
        except Refusal as refusal:
            return web.json_response(refusal.body, status=refusal.status)

    async def _admit(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        operation, parts = _route(request)
        self._check_caller(request, operation)
        if len(raw) > _LARGEST:
            raise Refusal(413, "The request is too large.", "RequestEntityTooLarge")
        received = Received(operation, request.headers.copy(), _parsed(raw))
        self.requests.append(received)
        async with self._arrivals:
            self._arrivals.notify_all()
        try:
            if script := self.script_for(operation):
                return await script(request)
            if request.method in {"POST", "PUT"} and request.content_type != "application/json":
                raise Refusal(415, "The content type has to be application/json.")
            return self._answer(operation, parts, raw, request)
        except asyncio.CancelledError:
            received.disconnected.set()
            raise

    def _check_caller(self, request: web.Request, operation: Operation) -> None:
        key, bearer = request.headers.get("api-key"), request.headers.get("Authorization")
        if key is None and bearer is None:
            raise Refusal(401, "Access denied: no credentials were sent.", "Unauthorized")
        if key is not None:
            if key != self.admin_key and not (key == self.query_key and READER in ROLES[operation]):
                raise Refusal(403, "Access denied due to an invalid key.", "Forbidden")
        elif bearer != f"Bearer {self.token}":
            raise Refusal(401, "Access denied due to an invalid token.", "Unauthorized")
        elif not self.roles & ROLES[operation]:
            raise Refusal(403, "Access denied: the identity has none of the roles.", "Forbidden")

    def _answer(
        self, operation: Operation, parts: Mapping[str, str], raw: bytes, request: web.Request
    ) -> web.StreamResponse:
        if operation in ("create", "delete"):
            return (
                self._delete(parts["name"]) if operation == "delete" else self._create(parts.get("name"), raw, request)
            )
        if operation == "list":
            shown = [index.definition.shown() for index in self.indexes.values()]
            return web.json_response({"value": shown})
        index = self._index(parts["name"])
        match operation:
            case "search":
                return web.json_response(
                    self._without(answer(index.searched, read_search(read_object(raw)), str(request.url)))
                )
            case "write":
                return self._write(index, raw)
            case "lookup":
                return self._lookup(index, parts["key"])
            case "count":
                return web.Response(text=f"\ufeff{len(index.documents)}")
            case "stats":
                return web.json_response(
                    {"documentCount": len(index.documents), "storageSize": 0, "vectorIndexSize": 0}
                )
            case "definition":
                return web.json_response(index.definition.shown())

    def _index(self, name: str) -> Index:
        if name not in self.indexes:
            raise Refusal(404, f"No index with the name '{name}' was found in the service 'stand-in'.")
        return self.indexes[name]

    def _delete(self, name: str) -> web.StreamResponse:
        del self.indexes[self._index(name).definition.name]
        return web.Response(status=204)

    def _create(self, name: str | None, raw: bytes, request: web.Request) -> web.StreamResponse:
        definition = read_definition(raw)
        old = self.indexes.get(definition.name)
        if name is not None and name != definition.name:
            raise Refusal(400, "The name in the address is not that of the index.", "InvalidRequestParameter")
        if old is None:
            self.add_index(definition)
            return web.json_response(definition.shown(), status=201)
        if name is None:
            message = f"Cannot create index '{definition.name}' because it already exists."
            raise Refusal(409, message, "ResourceNameAlreadyInUse")
        if request.headers.get("If-None-Match") == "*":
            raise Refusal(412, "The precondition given in one of the request headers evaluated to false.")
        old.update(definition)
        return web.json_response(definition.shown())

    def _write(self, index: Index, raw: bytes) -> web.StreamResponse:
        failing = {key: statuses[0] for key, statuses in self._failing.items() if statuses}
        body = read_object(raw)
        status, result = index.write(body.get("value"), failing)
        written = result["value"] if isinstance(result["value"], list) else []
        for action in written:
            if isinstance(action, dict) and (statuses := self._failing.get(str(action["key"]))):
                statuses.pop(0)
        return web.json_response(result, status=status)

    def _lookup(self, index: Index, key: str) -> web.StreamResponse:
        if key not in index.documents:
            raise Refusal(404, "The document was not found.")
        return web.json_response(index.shown(index.documents[key]))

    def _without(self, result: dict[str, Json]) -> dict[str, Json]:
        """The answer without the fields that documents are to come without."""
        value = result.get("value")
        documents = value if isinstance(value, list) else []
        for document in documents:
            if isinstance(document, dict):
                for name in self.hidden_fields & document.keys():
                    del document[name]
        return result


def _route(request: web.Request) -> tuple[Operation, Mapping[str, str]]:
    for method, pattern, operation in _ROUTES:
        found = re.fullmatch(pattern, request.path)
        if found and method == request.method:
            if request.query.get("api-version") != VERSION:
                raise Refusal(400, "The request is invalid: an api-version that is known must be given.")
            return operation, found.groupdict()
    raise Refusal(404, "There is no such resource.")


def _parsed(raw: bytes) -> dict[str, Json]:
    try:
        return read_object(raw)
    except Refusal:
        return {}
