"""What each fault of the SDK means, and how the app signs in to Azure AI Search."""

import asyncio
import importlib
import traceback
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path

import pytest
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from shared.errors import NotConfigured, TooSlow, Unavailable
from shared.retrieval.azure_search_connection import Patience, SearchConnection
from shared.retrieval.azure_search_faults import (
    BY_CLASS,
    BY_STATUS,
    READ,
    SENTENCES,
    WRITE,
    Fault,
    Reason,
    Right,
    fault_of,
)
from shared.retrieval.azure_search_index import AzureSearchIndex
from shared.retrieval.azure_search_schema import IndexPlan
from shared.settings import Settings
from tests.retrieval.index_contract import passages_of
from tests.stand_ins.ai_search import CONTRIBUTOR, READER, SERVICE_CONTRIBUTOR, SERVICE_READER, AISearchStandIn
from tests.stand_ins.ai_search_demo import demo_index
from tests.stand_ins.certificates import server_side
from tests.stand_ins.identity_endpoint import identity_endpoint

OF_A_STATUS = {
    "HttpResponseError",
    "ODataV4Error",
    "RequestEntityTooLargeError",
    "ResourceExistsError",
    "ResourceModifiedError",
    "ResourceNotFoundError",
    "ResourceNotModifiedError",
    "TooManyRedirectsError",
}
"""Only raised with an answer, whose status counts."""
OF_PARTS_WE_DO_NOT_USE = {"ResponseNotReadError", "StreamClosedError", "StreamConsumedError"}
OF_THE_SAME_REASON = {
    "CredentialUnavailableError": "ClientAuthenticationError",
    "AuthenticationRequiredError": "ClientAuthenticationError",
    "ServiceRequestTimeoutError": "ServiceRequestError",
}
"""Not in the table, for they mean what their parent does."""


def subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    for found in kind.__subclasses__():
        if found.__module__.startswith(("azure.core", "azure.identity", "azure.search")):
            yield found
            yield from subclasses(found)


def test_every_exception_class_of_the_sdk_is_known_here() -> None:
    for module in ("azure.identity.aio", "azure.core.exceptions"):
        importlib.import_module(module)
    known = {kind.__name__ for kind in BY_CLASS} | OF_A_STATUS | OF_PARTS_WE_DO_NOT_USE | {*OF_THE_SAME_REASON}
    assert {kind.__name__ for kind in subclasses(AzureError)} - known == set()
    for kind in subclasses(AzureError):
        if parent := OF_THE_SAME_REASON.get(kind.__name__):
            assert parent in {base.__name__ for base in kind.__mro__}


@pytest.mark.parametrize(("status", "reason"), [*BY_STATUS.items(), (302, Reason.NOT_AN_ANSWER), (599, Reason.BROKEN)])
def test_a_status_counts_before_the_class(status: int, reason: Reason) -> None:
    error = HttpResponseError("x")
    error.status_code = status
    assert fault_of(error) == Fault(reason, status)


def test_where_the_app_could_not_sign_in_the_status_is_not_the_services() -> None:
    error = ClientAuthenticationError("x")
    for status, reason in ((401, Reason.CREDENTIALS), (400, Reason.NO_IDENTITY), (None, Reason.NO_IDENTITY)):
        error.status_code = status
        assert fault_of(error).reason is reason


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("has_key", [True, False])
def test_each_reason_has_an_error_and_a_whole_sentence(reason: Reason, has_key: bool) -> None:
    error = Fault(reason, retry_after=1.2).to_error(READ, "index 'x'", has_key=has_key)
    assert type(error) is SENTENCES[reason][0]
    assert error.message.endswith(".")
    assert "{" not in error.message


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("https://:1", "should be a URL"),
        ("https://host:port", "should be a URL"),
        ("http://127.0.0.1:1", "without AZURE_SEARCH_API_KEY it has to be https"),
    ],
)
def test_an_address_that_cannot_be_used_is_named_before_anything_is_sent(endpoint: str, words: str) -> None:
    settings = Settings.read({"AZURE_SEARCH_ENDPOINT": endpoint, "AZURE_SEARCH_INDEX": "documents"})
    with pytest.raises(NotConfigured, match=words):
        SearchConnection.from_settings(settings)


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
    return IndexPlan.from_settings(Settings.read(service.settings))


def connection_to(service: AISearchStandIn, folder: Path) -> SearchConnection:
    patience = Patience(first_backoff=0.001)
    return SearchConnection(
        service.endpoint, service.index_name, None, patience, connection_verify=str(folder / "trusted.pem")
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
        await index.fingerprints()
    del service.indexes[service.index_name]
    service.roles = {SERVICE_READER}
    assert await index.fingerprints() == {}
    with pytest.raises(NotConfigured, match="the role 'Search Service Contributor'"):
        await index.replace("a.md", "1", passages_of("a.md", 1), None)
    service.roles = {SERVICE_CONTRIBUTOR}
    with pytest.raises(NotConfigured, match="the role 'Search Index Data Contributor'"):
        await index.replace("a.md", "1", passages_of("a.md", 1), None)
    service.roles = {SERVICE_READER, CONTRIBUTOR}
    await index.replace("a.md", "1", passages_of("a.md", 1), None)
    assert await index.fingerprints() == {"a.md": "1"}


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
    connection = SearchConnection.from_settings(settings, Patience(first_backoff=0.001))
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


async def test_what_is_not_answered_in_time_is_given_up_and_told(
    service: AISearchStandIn, connection: SearchConnection
) -> None:
    service.hang()
    with pytest.raises(TooSlow):
        await connection.ask(documents, deadline=soon(0.5))
    async with asyncio.timeout(10):
        await service.requests[0].disconnected.wait()
    assert len(service.requests) == 1


async def test_a_closed_connection_opens_again_when_it_is_used(
    service: AISearchStandIn, connection: SearchConnection
) -> None:
    assert await connection.ask(documents, deadline=soon()) == 0
    await connection.aclose()
    assert await connection.ask(documents, deadline=soon()) == 0
    assert len(service.requests) == 2
