"""A service of Azure that sends too much, or asks to wait too long."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Mapping

import pytest
from aiohttp import web
from azure.core import AsyncPipelineClient
from azure.core.pipeline.policies import AsyncRetryPolicy
from azure.core.rest import AsyncHttpResponse, HttpRequest

from shared.errors import SwitchboardError
from shared.outbound.asking import RetryPolicy
from shared.outbound.azure_service.asking import ask
from shared.outbound.azure_service.transport import LARGEST_RESULT, client_options
from shared.outbound.faults import ErrorTable, Fault, Reason
from tests.stand_ins.local_server import LocalServer

type Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Service(LocalServer):
    """A service that answers as a test says."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.headers: list[Mapping[str, str]] = []
        self._answer = answer

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(request.headers.copy())
        return await self._answer(request)


def whole(status: int, body: bytes, **headers: str) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(
            status=status, body=body, headers={name.replace("_", "-"): headers[name] for name in headers}
        )

    return answer


def endless(status: int, **headers: str) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            status=status, headers={name.replace("_", "-"): headers[name] for name in headers}
        )
        await response.prepare(request)
        while True:
            await response.write(b"x" * 100_000)

    return answer


async def asked(service: Service, *, layouts: bool = False) -> bytes | Fault:
    """What a client reads of the service's answer, or the fault that it finds."""
    client: AsyncPipelineClient[HttpRequest, AsyncHttpResponse] = AsyncPipelineClient(
        service.endpoint, policies=[], **client_options(layouts=layouts)
    )
    faults: list[Fault] = []

    async def read() -> bytes:
        response = await client.send_request(HttpRequest("GET", service.endpoint))
        response.raise_for_status()
        return response.content

    def to_error(fault: Fault) -> SwitchboardError:
        faults.append(fault)
        return ErrorTable("It", "ADDRESS").error(fault)

    try:
        return await ask(read, to_error, RetryPolicy(0), deadline=asyncio.get_running_loop().time() + 60, service="It")
    except SwitchboardError:
        return faults[0]
    finally:
        await client.close()


async def test_a_result_at_the_limit_is_read_and_a_longer_one_is_none() -> None:
    async with Service(whole(200, b"x" * LARGEST_RESULT)) as service:
        assert await asked(service) == b"x" * LARGEST_RESULT
        assert service.headers[0]["Accept-Encoding"] == "identity"
    longer = whole(200, b"x" * (LARGEST_RESULT + 1))
    async with Service(longer) as service:
        assert await asked(service) == Fault(Reason.NOT_AN_ANSWER, 200)
        assert await asked(service, layouts=True) == b"x" * (LARGEST_RESULT + 1)


async def test_a_result_without_an_end_or_a_compressed_one_is_none() -> None:
    for answer in (endless(200), whole(200, gzip.compress(b"[]"), Content_Encoding="gzip")):
        async with Service(answer) as service:
            assert await asked(service) == Fault(Reason.NOT_AN_ANSWER, 200)


@pytest.mark.parametrize(
    "answer",
    [
        endless(429, Retry_After="7"),
        whole(429, gzip.compress(b"[]"), Retry_After="7", Content_Encoding="gzip"),
        whole(429, b"x" * 1_000_000, Retry_After="7"),
    ],
)
async def test_of_a_refusal_the_status_counts_whatever_its_body_is(answer: Answer) -> None:
    async with Service(answer) as service:
        assert await asked(service) == Fault(Reason.RATE, 429, 7.0)


async def test_an_sdk_does_not_wait_as_long_as_a_service_asks() -> None:
    async with Service(whole(503, b"", Retry_After="1000000")) as service, asyncio.timeout(60):
        client: AsyncPipelineClient[HttpRequest, AsyncHttpResponse] = AsyncPipelineClient(
            service.endpoint, policies=[AsyncRetryPolicy(retry_total=1)], **client_options()
        )
        response = await client.send_request(HttpRequest("GET", service.endpoint))
        await client.close()
    assert response.status_code == 503
    assert len(service.headers) == 2
