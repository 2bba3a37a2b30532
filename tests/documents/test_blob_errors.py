"""What Azure Blob Storage's errors mean: each has a sentence of ours, and nothing of its own text gets out."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from azure.core import exceptions
from azure.core.exceptions import AzureError

from shared.documents.blob_errors import translated
from shared.documents.blob_store import BlobStore
from shared.errors import SwitchboardError, TooSlow, Unavailable
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
def test_every_error_of_the_sdk_is_told_in_our_words(error: AzureError) -> None:
    with pytest.raises(SwitchboardError) as raised, translated():
        raise error
    assert isinstance(raised.value, TooSlow) == ("Timeout" in type(error).__name__)
    assert SECRET not in raised.value.message


def test_what_is_no_error_of_the_sdk_goes_on() -> None:
    with pytest.raises(ZeroDivisionError), translated():
        raise ZeroDivisionError


@asynccontextmanager
async def refusing(status: int, code: str) -> AsyncGenerator[BlobStore]:
    """A store whose service answers everything so."""

    class Refusing(LocalServer):
        async def _serve(self, request: web.Request) -> web.Response:  # noqa: ARG002 (whatever it is)
            body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{SECRET}</Message></Error>"
            return Failure(status, {"x-ms-error-code": code}, body, "application/xml").response()

    async with Refusing() as service:
        address = f"{service.endpoint}/{ACCOUNT}"
        store = BlobStore.of(f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={address}", "content")
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
async def test_what_the_service_refuses_is_told_with_what_to_do(status: int, code: str, words: str) -> None:
    async with refusing(status, code) as store:
        for asking in (store.find("a.md"), anext(store.names()), anext(store.find_all()), store.remove("a.md")):
            with pytest.raises(Unavailable, match=words) as raised:
                await asking
            assert SECRET not in raised.value.message
        health = await store.check()
        assert not health.ok
        assert words in health.detail
