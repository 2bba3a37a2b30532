"""What each fault of Azure's SDKs means."""

import importlib
from collections.abc import Iterator

import pytest
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

from shared.outbound.azure_service.asking import BY_CLASS, fault_of
from shared.outbound.faults import DEFAULTS, Fault, Reason

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
        if found.__module__.startswith(("azure.core", "azure.identity", "azure.ai", "azure.search")):
            yield found
            yield from subclasses(found)


def test_every_exception_class_of_the_sdks_is_known_here() -> None:
    for sdk in ("ai.documentintelligence", "search.documents", "identity"):
        importlib.import_module(f"azure.{sdk}.aio")
    known = {kind.__name__ for kind in BY_CLASS} | OF_A_STATUS | OF_PARTS_WE_DO_NOT_USE | {*OF_THE_SAME_REASON}
    assert {kind.__name__ for kind in subclasses(AzureError)} - known == set()
    for kind in subclasses(AzureError):
        if parent := OF_THE_SAME_REASON.get(kind.__name__):
            assert parent in {base.__name__ for base in kind.__mro__}


@pytest.mark.parametrize(
    ("status", "reason"), [*DEFAULTS.statuses.items(), (302, Reason.NOT_AN_ANSWER), (599, Reason.BROKEN)]
)
def test_a_status_counts_before_the_class(status: int, reason: Reason) -> None:
    error = HttpResponseError("x")
    error.status_code = status
    assert fault_of(error) == Fault(reason, status)


def test_where_the_app_could_not_sign_in_the_status_is_not_the_services() -> None:
    error = ClientAuthenticationError("x")
    for status, reason in ((401, Reason.CREDENTIALS), (400, Reason.NO_IDENTITY), (None, Reason.NO_IDENTITY)):
        error.status_code = status
        assert fault_of(error).reason is reason
