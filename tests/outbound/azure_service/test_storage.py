"""Errors of blobs and tables: each has a sentence of ours, and nothing of the service's own text gets out."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from azure.core import exceptions
from azure.core.exceptions import AzureError
from azure.storage.blob.aio import ContainerClient

from shared.documents.blob_store import BlobStore
from shared.errors import RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.history.azure_table import HistoryTable
from shared.history.azure_table_history import AzureTableHistory
from shared.outbound.azure_service.storage import BLOBS, TABLES, storage_errors
from shared.outbound.faults import ErrorTable
from tests.stand_ins.azurite import ACCOUNT, KEY
from tests.stand_ins.local_server import Failure, LocalServer

SECRET = "sig=c2VjcmV0"  # noqa: S105 (of nobody)


def kinds(kind: type[AzureError] = AzureError) -> Iterator[type[AzureError]]:
    yield kind
    for each in kind.__subclasses__():
        if each.__module__ == exceptions.__name__:
            yield from kinds(each)


def made(kind: type[AzureError]) -> AzureError | None:
    """An error with a text; None of the kinds that are made of a whole response."""
    try:
        return kind(SECRET)
    except (AttributeError, TypeError):
        return None


@pytest.mark.parametrize("error", [error for kind in dict.fromkeys(kinds()) if (error := made(kind))], ids=repr)
@pytest.mark.parametrize("table", [BLOBS, TABLES], ids=lambda table: table.name)
def test_every_error_of_the_sdk_has_an_error_in_our_words(error: AzureError, table: ErrorTable) -> None:
    with pytest.raises(SwitchboardError) as raised, storage_errors(table):
        raise error
    assert isinstance(raised.value, TooSlow) == isinstance(error, exceptions.ServiceResponseTimeoutError)
    assert SECRET not in raised.value.message


@pytest.mark.parametrize("error", [ZeroDivisionError(), TimeoutError(), ValueError()], ids=repr)
def test_other_exceptions_pass_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, storage_errors(BLOBS):
        raise error
    assert raised.value is error


@asynccontextmanager
async def refusing(status: int, code: str, **headers: str) -> AsyncGenerator[str]:
    """An account whose service answers everything with this error; gives its connection string."""

    class Refusing(LocalServer):
        async def _serve(self, request: web.Request) -> web.Response:  # noqa: ARG002 (whatever it is)
            body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{SECRET}</Message></Error>"
            return Failure(status, {"x-ms-error-code": code, **headers}, body, "application/xml").response()

    async with Refusing() as service:
        at = f"{service.endpoint}/{ACCOUNT}"
        yield f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={at};TableEndpoint={at}"


@asynccontextmanager
async def refusing_blobs(status: int, code: str) -> AsyncGenerator[BlobStore]:
    """A container whose service answers everything with this error, at once: the client does not try again."""
    async with refusing(status, code) as account:
        store = BlobStore(ContainerClient.from_connection_string(account, "content", retry_total=0))
        yield store
        await store.aclose()


# The package reads the service's errors, which are XML, in a way that Python warns of.
@pytest.mark.filterwarnings("ignore:Testing an element's truth value:DeprecationWarning")
@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "AuthorizationPermissionMismatch", "Storage Blob Data Reader"),
        (403, "AuthorizationFailure", "let its network in"),
        (401, "NoAuthenticationInformation", "Storage Blob Data Reader"),
        (409, "ContainerBeingDeleted", "failed"),
        (503, "ServerBusy", "failed"),
    ],
)
async def test_a_refusal_says_what_to_do(status: int, code: str, words: str) -> None:
    async with refusing_blobs(status, code) as store:
        for asking in (store.find("a.md"), anext(store.names()), anext(store.find_all()), store.remove("a.md")):
            with pytest.raises(Unavailable, match=words) as raised:
                await asking
            assert SECRET not in raised.value.message
        health = await store.check()
        assert not health.ok
        assert words in health.detail


# See above.
@pytest.mark.filterwarnings("ignore:Testing an element's truth value:DeprecationWarning")
async def test_a_rate_limit_of_blobs_is_a_429_with_the_time_to_wait() -> None:
    async with refusing(429, "TooManyRequests", **{"Retry-After": "33"}) as account:
        store = BlobStore.of(account, "content")
        with pytest.raises(RateLimited, match="Try again in 33 seconds") as raised:
            await store.find("a.md")
        await store.aclose()
    assert raised.value.retry_after == 33


@pytest.mark.filterwarnings("ignore:Testing an element's truth value:DeprecationWarning")
async def test_a_rate_limit_of_tables_is_a_429_with_the_time_to_wait() -> None:
    # The SDK waits as long before each of its own retries.
    async with refusing(429, "TooManyRequests", **{"Retry-After": "0.01"}) as account:
        history = AzureTableHistory(HistoryTable.of(account))
        with pytest.raises(RateLimited, match="Try again in 1 seconds") as raised:
            await history.conversations("o")
        await history.aclose()
    assert raised.value.retry_after == 1
