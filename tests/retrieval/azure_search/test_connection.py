"""What the app tells of faults of Azure AI Search, and how it signs in."""

import asyncio
import traceback
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from shared.errors import NotConfigured, TooSlow, Unavailable
from shared.outbound.asking import RetryPolicy
from shared.outbound.faults import Fault, Reason
from shared.retrieval import FileEntry
from shared.retrieval.azure_search.connection import ERRORS, READ, WRITE, Right, SearchConnection
from shared.retrieval.azure_search.index import AzureSearchIndex
from shared.retrieval.azure_search.schema import IndexPlan
from shared.settings import Settings
from tests.clock import Clock
from tests.retrieval.index_contract import marks_of, passages_of
from tests.stand_ins.ai_search import CONTRIBUTOR, READER, SERVICE_CONTRIBUTOR, SERVICE_READER, AISearchStandIn
from tests.stand_ins.ai_search_demo import demo_index
from tests.stand_ins.certificates import server_side
from tests.stand_ins.identity_endpoint import identity_endpoint


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_has_an_error_and_a_whole_sentence(reason: Reason) -> None:
    error = ERRORS.error(Fault(reason, retry_after=1.2), credential_advice="set it", index="x")
    assert error.message.endswith(".")
    assert "{" not in error.message


async def documents(client: SearchClient) -> int:
    return await client.get_document_count()


async def definition(client: SearchIndexClient) -> str:
    return (await client.get_index("documents")).name


def soon(seconds: float = 30.0) -> float:
    return asyncio.get_running_loop().time() + seconds


@pytest.fixture
async def service(tmp_path: Path) -> AsyncGenerator[AISearchStandIn]:
    context, _ = server_side(tmp_path)
    async with AISearchStandIn(context) as service:
        service.add_index(demo_index())
        yield service


@pytest.fixture
async def connection(
    service: AISearchStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[SearchConnection]:
    """A connection without a key, whose identity comes from an endpoint as App Service has it."""
    async with identity_endpoint(AISearchStandIn.token) as (environment, asked):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        connection = connection_to(service, tmp_path)
        yield connection
        await connection.aclose()
    assert set(asked) == {"https://search.azure.com"}
    assert len(asked) <= 2


@pytest.fixture
def plan(service: AISearchStandIn) -> IndexPlan:
    return IndexPlan(Settings.read(service.settings))


def connection_to(service: AISearchStandIn, folder: Path) -> SearchConnection:
    policy = RetryPolicy(first_backoff=0.001)
    return SearchConnection(
        service.endpoint, service.index_name, None, policy, connection_verify=str(folder / "trusted.pem")
    )


async def test_without_a_key_the_apps_identity_signs_in(service: AISearchStandIn, connection: SearchConnection) -> None:
    assert await connection.ask(documents, deadline=soon()) == 0
    assert await connection.ask(documents, deadline=soon()) == 0
    assert await connection.ask_indexes(definition, deadline=soon()) == "documents"
    sent: list[Mapping[str, str]] = [request.headers for request in service.requests]
    assert {headers["Authorization"] for headers in sent} == {f"Bearer {service.token}"}
    assert not any("api-key" in headers for headers in sent)


@pytest.mark.parametrize(
    ("right", "role"), [(READ, "Search Index Data Reader"), (WRITE, "Search Index Data Contributor")]
)
async def test_the_role_that_is_missing_is_named(
    service: AISearchStandIn, connection: SearchConnection, right: Right, role: str
) -> None:
    service.roles = set()
    with pytest.raises(NotConfigured, match=role):
        await connection.ask(documents, deadline=soon(), right=right)


async def test_to_look_at_an_index_and_to_make_one_other_roles_are_named(
    service: AISearchStandIn, connection: SearchConnection, plan: IndexPlan
) -> None:
    service.roles = {READER}
    assert await connection.ask(documents, deadline=soon()) == 0
    index = AzureSearchIndex(connection, plan)
    with pytest.raises(NotConfigured, match="the role 'Reader'"):
        await marks_of(index)
    del service.indexes[service.index_name]
    service.roles = {SERVICE_READER}
    assert await marks_of(index) == {}
    with pytest.raises(NotConfigured, match="the role 'Search Service Contributor'"):
        await index.replace(FileEntry("a.md", "1", passages_of("a.md", 1)))
    service.roles = {SERVICE_CONTRIBUTOR}
    with pytest.raises(NotConfigured, match="the role 'Search Index Data Contributor'"):
        await index.replace(FileEntry("a.md", "1", passages_of("a.md", 1)))
    service.roles = {SERVICE_READER, CONTRIBUTOR}
    await index.replace(FileEntry("a.md", "1", passages_of("a.md", 1)))
    assert await marks_of(index) == {"a.md": "1"}


async def test_no_identity_is_told_with_what_to_do(
    service: AISearchStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    connection = connection_to(service, tmp_path)
    with pytest.raises(NotConfigured, match=r"az login.*AZURE_SEARCH_API_KEY"):
        await connection.ask(documents, deadline=soon())
    await connection.aclose()
    assert service.requests == []


async def test_a_certificate_that_nobody_vouches_for_is_an_unavailable_service(service: AISearchStandIn) -> None:
    settings = Settings.read(service.settings)
    connection = SearchConnection.from_settings(settings, RetryPolicy(first_backoff=0.001))
    with pytest.raises(Unavailable, match="AZURE_SEARCH_ENDPOINT"):
        await connection.ask(documents, deadline=soon())
    await connection.aclose()
    assert service.requests == []


async def test_a_redirect_is_not_followed(service: AISearchStandIn, connection: SearchConnection) -> None:
    elsewhere = f"{service.endpoint}/indexes('{service.index_name}')?api-version=2026-04-01"
    service.fail(302, headers={"Location": elsewhere})
    with pytest.raises(Unavailable):
        await connection.ask_indexes(definition, deadline=soon())
    assert len(service.requests) == 1


async def test_what_the_service_says_is_in_no_trace(
    service: AISearchStandIn, connection: SearchConnection, caplog: pytest.LogCaptureFixture
) -> None:
    service.fail(400, message="secret question")
    with pytest.raises(NotConfigured) as caught:
        await connection.ask(documents, deadline=soon())
    shown = "".join(traceback.format_exception(caught.value))
    assert "secret" not in shown + caplog.text
    assert "NOT_ACCEPTED (HttpResponseError), status 400" in caplog.text


async def test_an_answer_that_is_nested_too_deep_is_none(
    service: AISearchStandIn, connection: SearchConnection
) -> None:
    service.reply(b"[" * 100_000)
    with pytest.raises(Unavailable, match="no answer of Azure AI Search"):
        await connection.ask_indexes(definition, deadline=soon())


@pytest.mark.parametrize("body", [b"<p>secret question", b'{"error": {"code": ["secret question"]}}', b""])
async def test_an_error_that_is_not_the_services_leaves_one_line_in_the_log(
    service: AISearchStandIn, connection: SearchConnection, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    service.reply(body, status=400)
    with pytest.raises(NotConfigured):
        await connection.ask(documents, deadline=soon())
    assert [record.name for record in caplog.records if record.levelname != "DEBUG"] == ["switchboard.azure"]


async def test_what_is_not_answered_in_time_is_given_up_and_told(
    service: AISearchStandIn, connection: SearchConnection, clock: Clock
) -> None:
    service.hang()
    asking = asyncio.create_task(connection.ask(documents, deadline=soon(30)))
    hanging = await service.request_number(1)
    clock.forward(30)
    with pytest.raises(TooSlow):
        await asking
    await hanging.disconnected.wait()
    assert len(service.requests) == 1
