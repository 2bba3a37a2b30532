"""Exceptions of `openai` and its transport, translated to ours. Imports both: import this module late."""

import logging
from collections.abc import Collection, Generator
from contextlib import contextmanager

import httpx2
import msgspec
import openai

from shared.chat_types import Json
from shared.outbound.openai_service.connection import OpenAIConnection, ServedModel
from shared.outbound.openai_service.reasons import Fault, Reason, ServiceFault, read_fault
from shared.outbound.openai_service.service import OpenAIService
from shared.outbound.retry_after import retry_after_of

_log = logging.getLogger("switchboard.openai")

_CAN_BE_LEFT_OUT = frozenset(
    {"temperature", "seed", "reasoning_effort", "max_tokens", "max_completion_tokens", "stream_options"}
)
"""An answer without them is still an answer to the question."""
_TOLD_IN_WORDS = ("stream_options", "reasoning_effort")
"""Of these, what a request never had from its caller: where a refusal names one, it is that which is refused."""


@contextmanager
def translated(connection: OpenAIConnection, model: ServedModel, invocation_id: str = "-") -> Generator[None]:
    """Turn what the service, the SDK or the transport raise inside the block into our errors, and log each once.

    Raises:
        RateLimited, ContentFiltered, BadRequest, Unavailable, TooSlow: by the table in `reasons`.
    """
    try:
        yield
    except (ServiceFault, openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, TimeoutError) as exc:
        fault = fault_of(exc)
        _log.warning(
            "%s: %s (%s), status %s, code %s, request id %s, invocation %s",
            connection.host,
            fault.reason.name,
            type(exc).__name__,
            fault.status,
            fault.code,
            fault.request_id,
            invocation_id,
        )
        error = fault.to_error(connection, model)
        if isinstance(exc, openai.APIStatusError):
            # Its text is the service's and may quote the prompt or the key: a logged trace must not show it.
            raise error from None
        raise error from exc


def fault_of(exc: BaseException) -> Fault:
    """Find what went wrong: from what the service said where it did, else by the nearest class that `REASONS` has."""
    if isinstance(exc, ServiceFault):
        return exc.fault
    if isinstance(exc, openai.APIStatusError):
        body: Json = msgspec.to_builtins(exc.body)
        return read_fault(
            body,
            status=exc.status_code,
            request_id=exc.request_id or exc.response.headers.get("apim-request-id"),
            retry_after=retry_after_of(exc.response.headers),
        )
    if isinstance(exc, openai.APITimeoutError) and exc.__cause__:
        exc = exc.__cause__
    return Fault(next(REASONS[kind] for kind in type(exc).__mro__ if kind in REASONS))


def unsupported_parameter(exc: openai.APIStatusError, sent: Collection[str]) -> str | None:
    """The parameter, of those that were sent and can be left out, that the model or its service does not support.

    Reasoning models refuse a temperature (OpenAI API reference, 'unsupported_parameter' and 'unsupported_value').
    Others refuse the effort, and services that never heard of `stream_options` refuse that, in words alone.
    """
    if exc.status_code not in {400, 422}:
        return None
    if exc.code in {"unsupported_parameter", "unsupported_value"} and exc.param in _CAN_BE_LEFT_OUT:
        return exc.param if exc.param in sent else None
    words = exc.response.text
    return next((name for name in _TOLD_IN_WORDS if name in sent and name in words), None)


async def service_is_there(service: OpenAIService) -> None:
    """Whether the service answers and takes our credentials; what else it says about its models does not matter.

    Raises:
        Unavailable, TooSlow: it does not; the message says what to check.
    """
    with translated(service.connection, service.connection.chat_model):
        try:
            await service.list_models()
        except openai.APIStatusError as exc:
            if fault_of(exc).reason not in {Reason.CREDENTIALS, Reason.BROKEN, Reason.TOO_SLOW}:
                return
            raise


REASONS: dict[type[BaseException], Reason] = {
    openai.OpenAIError: Reason.BROKEN,
    openai.APIConnectionError: Reason.UNREACHABLE,
    openai.APITimeoutError: Reason.TOO_SLOW,
    openai.APIResponseValidationError: Reason.NOT_AN_ANSWER,
    httpx2.TimeoutException: Reason.TOO_SLOW,
    # The aiohttp transport also reports a connection that was closed without an answer as this one.
    httpx2.ConnectTimeout: Reason.UNREACHABLE,
    httpx2.TooManyRedirects: Reason.NOT_AN_ANSWER,
    httpx2.DecodingError: Reason.NOT_AN_ANSWER,
    # The SDK wraps what goes wrong before the answer begins; what is left comes up while its body is read.
    httpx2.HTTPError: Reason.CUT_OFF,
    httpx2.StreamError: Reason.CUT_OFF,
    TimeoutError: Reason.TOO_SLOW,
}
"""The reason of an exception that tells no more than its class."""
