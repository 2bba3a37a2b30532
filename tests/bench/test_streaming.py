"""The streaming benchmarks run, at a size that says nothing."""

from collections.abc import AsyncGenerator
from copy import replace

import pytest
import pytest_asyncio

from bench import streaming, streaming_first_token, streaming_gaps, streaming_host, streaming_paced
from bench.targets import PROTOCOLS, Field, field


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers() -> AsyncGenerator[Field]:
    async with field() as running:
        yield running


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.nightly
async def test_the_cost_of_a_token_is_compared_in_every_protocol(servers: Field) -> None:
    compared = await streaming.compare(servers, streams=16, rounds=1, tokens=3)
    assert list(compared.values) == ["relay", "baseline", *PROTOCOLS]
    assert all(value > 0 for values in compared.values.values() for value in values)


@pytest.mark.nightly
async def test_the_first_token_is_compared(servers: Field) -> None:
    compared = await streaming_first_token.compare(servers, streams=16, rounds=1)
    assert list(compared.values) == ["relay", "baseline", "ai-chat"]


@pytest.mark.nightly
async def test_the_pace_is_compared(servers: Field) -> None:
    median, worst, cpu = await streaming_gaps.compare(servers, streams=4, tokens=6, rounds=1)
    assert [list(one.values) for one in (median, worst, cpu)] == [["relay", "ai-chat"]] * 3


@pytest.mark.parametrize("gap", [0.01, 0.0])
async def test_tokens_that_come_alone_are_compared_and_so_are_those_that_come_at_once(
    servers: Field, gap: float
) -> None:
    targets = {"relay": servers.relay, "ai-chat": servers.ours["ai-chat"]}
    compared = await streaming_paced.compare(servers, targets, gap, streams=4, tokens=6, rounds=1)
    assert list(compared.values) == ["relay", "ai-chat"]
    assert compared.bases == ("relay",)


@pytest.mark.nightly
async def test_the_local_host_is_compared_with_the_worker_alone(servers: Field) -> None:
    async with streaming_host.hosted(servers) as host:
        compared = await streaming_host.compare(servers, host, streams=16, tokens=3, rounds=1)
    assert list(compared.values) == ["worker", "worker and proxy"]


async def test_an_answer_that_is_not_whole_ends_the_benchmark(servers: Field) -> None:
    await servers.plan(3)
    with pytest.raises(ConnectionError, match="3 of 4 tokens"):
        await streaming.ask_at_once(servers.ours["ai-chat"], streams=1, requests=1, tokens=4)


async def test_a_refused_request_ends_the_benchmark(servers: Field) -> None:
    with pytest.raises(ConnectionError, match="404"):
        await streaming.ask_at_once(replace(servers.baseline, path="/elsewhere"), streams=1, requests=1, tokens=1)
