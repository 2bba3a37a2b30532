"""A local HTTP server that stands in for who receives traces: an OpenTelemetry collector, and Application Insights.

    async with CollectorStandIn() as collector:
        ...point the app at it with collector.settings, or with collector.insights_settings...
        trace = await collector.trace(trace_id, "invoke_workflow chat")    # all of it, once its last span is there
        assert [span.name for span in trace.children(trace.root)] == ["retrieval embedded", "chat gpt-stand-in"]

It refuses what the real ones refuse; what was refused is in `refused`. `fail` and `hold` make it a bad one.

Source: OTLP 1.9, 'OTLP/HTTP' and 'trace.proto'; Application Insights' ingestion API v2.1, 'track'.
"""

import asyncio
import json
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from tests.stand_ins.local_server import LocalServer

KEY = "11111111-2222-4333-8444-555555555555"
TOKEN = "token-of-the-app"  # noqa: S105 (nobody else takes it)
AT_ONCE = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "200"}


@dataclass(frozen=True, slots=True)
class Span:
    """A span that came in."""

    name: str
    """Its name."""
    trace_id: str
    """In hex."""
    id: str
    """In hex."""
    parent: str
    """The id of its parent, in hex; empty: it has none."""
    kind: str
    """`INTERNAL`, `CLIENT`, …"""
    attributes: Mapping[str, Any]
    """As plain values."""
    failed: bool
    """Whether its status is an error."""
    begun: int
    """When, in Unix nanoseconds."""
    seconds: float
    """How long it took."""
    resource: Mapping[str, Any]
    """Attributes of who sent it."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The spans of one trace, in the order of their beginnings."""

    root: Span
    """The one that ended last."""
    spans: tuple[Span, ...]
    """All of them."""

    def children(self, parent: Span) -> list[Span]:
        """The spans right below another."""
        return [span for span in self.spans if span.parent == parent.id]

    def named(self, name: str) -> list[Span]:
        """The spans of this name."""
        return [span for span in self.spans if span.name == name]


@dataclass(frozen=True, slots=True)
class Point:
    """What a histogram had counted of one set of attributes when it was sent."""

    name: str
    """The metric's."""
    attributes: Mapping[str, Any]
    """As plain values."""
    count: int
    """How many values."""
    sum: float
    """Of the values."""


class Refused(Exception):
    """What came in is not acceptable: with this status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class CollectorStandIn(LocalServer):
    """The server, as an async context manager.

    Args:
        tls: For https; then the address is that of `localhost`.
        token: What Application Insights' callers have to sign in with; empty: their key is enough.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, token: str = "") -> None:
        super().__init__(tls)
        self.spans: list[Span] = []
        """What came in over OTLP."""
        self.points: list[Point] = []
        """The metrics that came in over OTLP."""
        self.items: list[dict[str, Any]] = []
        """What came in at Application Insights."""
        self.received = bytearray()
        """Every body that came in, unpacked."""
        self.requests = 0
        """How often something came."""
        self.refused: list[str] = []
        """Why something was refused."""
        self._token = token
        self._status = 200
        self._gate: asyncio.Event | None = None
        self._changed = asyncio.Condition()

    @property
    def settings(self) -> dict[str, str]:
        """The environment that points the app at the collector; spans come at once."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint, **AT_ONCE}

    @property
    def insights_settings(self) -> dict[str, str]:
        """The environment that points the app at Application Insights."""
        connection = f"InstrumentationKey={KEY};IngestionEndpoint={self.endpoint}/"
        return {"APPLICATIONINSIGHTS_CONNECTION_STRING": connection, **AT_ONCE}

    def fail(self, status: int) -> None:
        """Answer with this status from now on."""
        self._status = status

    def hold(self) -> asyncio.Event:
        """Answer only when the event is set."""
        self._gate = asyncio.Event()
        return self._gate

    async def wait(self, until: Callable[[], object]) -> None:
        """Wait until something is so of what has come in."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: bool(until()))

    async def trace(self, trace_id: str, last: str) -> Trace:
        """A trace, once the span of this name is there."""

        def roots() -> list[Span]:
            return [span for span in self.spans if span.trace_id == trace_id and span.name == last]

        await self.wait(roots)
        found = [span for span in self.spans if span.trace_id == trace_id]
        return Trace(roots()[0], tuple(sorted(found, key=lambda span: span.begun)))

    async def _serve(self, request: web.Request) -> web.Response:
        try:
            answer = await self._take(request)
        except Refused as refused:
            self.refused.append(str(refused))
            answer = web.Response(status=refused.status, text=str(refused))
        async with self._changed:
            self._changed.notify_all()
        return answer

    async def _take(self, request: web.Request) -> web.Response:
        if request.method != "POST":
            raise Refused(405, f"{request.method} {request.path}")
        body = await request.read()  # aiohttp unpacks what is gzipped
        async with self._changed:
            self.received += body
            self.requests += 1
            self._changed.notify_all()
        if self._gate:
            await self._gate.wait()
        if self._status != 200:
            return web.Response(status=self._status)
        match request.path.replace("//", "/"):  # the address of Application Insights ends in a slash
            case "/v1/traces":
                self.spans += read_spans(body, request.content_type)
                return web.Response(body=b"", content_type="application/x-protobuf")
            case "/v1/metrics":
                self.points += read_points(body, request.content_type)
                return web.Response(body=b"", content_type="application/x-protobuf")
            case "/v2.1/track":
                items = self._read_items(body, request)
                self.items += items
                count = len(items)
                return web.json_response({"itemsReceived": count, "itemsAccepted": count, "errors": []})
            case path:
                raise Refused(404, path)

    def _read_items(self, body: bytes, request: web.Request) -> list[dict[str, Any]]:
        if self._token and request.headers.get("Authorization") != f"Bearer {self._token}":
            raise Refused(401, "a wrong token")
        if request.content_type != "application/json":
            raise Refused(415, request.content_type)
        try:
            items = json.loads(body)
        except ValueError as error:
            raise Refused(400, "no JSON") from error
        for item in items:
            _check_item(item)
        return items


def read_spans(body: bytes, content_type: str) -> list[Span]:
    """The spans of a request.

    Raises:
        Refused: it is none that a collector takes.
    """
    if content_type != "application/x-protobuf":
        raise Refused(415, content_type)
    try:
        message = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise Refused(400, "no protobuf") from error
    found: list[Span] = []
    for group in message.resource_spans:
        resource = _plain(group.resource.attributes)
        if not resource.get("service.name"):
            raise Refused(400, "no service.name")
        found += [_span(span, resource) for scope in group.scope_spans for span in scope.spans]
    if not found:
        raise Refused(400, "no spans")
    return found


def read_points(body: bytes, content_type: str) -> list[Point]:
    """The points of a request.

    Raises:
        Refused: it is none that a collector takes.
    """
    if content_type != "application/x-protobuf":
        raise Refused(415, content_type)
    try:
        message = ExportMetricsServiceRequest.FromString(body)
    except DecodeError as error:
        raise Refused(400, "no protobuf") from error
    metrics = [
        metric for group in message.resource_metrics for scope in group.scope_metrics for metric in scope.metrics
    ]
    if any(metric.WhichOneof("data") != "histogram" or not metric.unit for metric in metrics):
        raise Refused(400, "a metric that is no histogram with a unit")
    return [
        Point(metric.name, _plain(point.attributes), point.count, point.sum)
        for metric in metrics
        for point in metric.histogram.data_points
    ]


def _span(span: WireSpan, resource: Mapping[str, Any]) -> Span:
    if len(span.trace_id) != 16 or len(span.span_id) != 8 or len(span.parent_span_id) not in (0, 8):
        raise Refused(400, "an id of a wrong length")
    if not (any(span.trace_id) and any(span.span_id) and span.name):
        raise Refused(400, "an empty id or name")
    if not 0 < span.start_time_unix_nano <= span.end_time_unix_nano:
        raise Refused(400, "a span that ends before it begins")
    return Span(
        name=span.name,
        trace_id=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        kind=WireSpan.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        attributes=_plain(span.attributes),
        failed=span.status.code == 2,
        begun=span.start_time_unix_nano,
        seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        resource=resource,
    )


def _plain(pairs: Sequence[KeyValue]) -> dict[str, Any]:
    plain = {pair.key: _value(pair.value) for pair in pairs}
    if len(plain) != len(pairs) or "" in plain:
        raise Refused(400, "an attribute without a name of its own")
    return plain


def _value(value: AnyValue) -> Any:
    match value.WhichOneof("value"):
        case "array_value":
            return [_value(each) for each in value.array_value.values]
        case None:
            raise Refused(400, "an attribute without a value")
        case kind:
            return getattr(value, kind)


def _check_item(item: dict[str, Any]) -> None:
    """Whether it is an envelope as Application Insights takes it."""
    if item.get("iKey") != KEY:
        raise Refused(400, "a wrong iKey")
    kinds = {"RemoteDependencyData", "RequestData", "MetricData", "ExceptionData", "MessageData"}
    data = item.get("data", {})
    if data.get("baseType") not in kinds or data.get("baseData", {}).get("ver") != 2:
        raise Refused(400, "no known base type")
    if not (item.get("name") and re.match(r"\d{4}-\d\d-\d\dT", item.get("time", ""))):
        raise Refused(400, "no name or no time")
    if data["baseType"] == "RemoteDependencyData" and not re.fullmatch(
        r"(\d+\.)?\d\d:\d\d:\d\d(\.\d+)?", data["baseData"].get("duration", "")
    ):
        raise Refused(400, "no duration")
