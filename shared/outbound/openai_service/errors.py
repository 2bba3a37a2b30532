"""Reasons of the exceptions of `openai` and its transport. Imports both: import this module late."""

import logging
from collections.abc import Collection
from contextlib import AbstractContextManager

import aiohttp
import httpx2
import msgspec

from shared.chat_types import Json
from shared.outbound.asking import Sdk, translated
from shared.outbound.faults import Fault, Reason, ServiceFault, retry_after_of
from shared.outbound.openai_service.connection import THINKING_WITH_TOOLS, OpenAIConnection, ServedModel
from shared.outbound.openai_service.late_package import openai
from shared.outbound.openai_service.reasons import error_of, read_fault

BY_CLASS: dict[type[BaseException], Reason] = {
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
    # The transport lets some of aiohttp's own through.
    aiohttp.ClientError: Reason.CUT_OFF,
    aiohttp.ClientConnectionError: Reason.UNREACHABLE,
    aiohttp.ServerTimeoutError: Reason.TOO_SLOW,
    aiohttp.ConnectionTimeoutError: Reason.UNREACHABLE,
    aiohttp.ClientResponseError: Reason.NOT_AN_ANSWER,
    aiohttp.InvalidURL: Reason.NOT_AN_ANSWER,
    TimeoutError: Reason.TOO_SLOW,
}
"""The reason of an exception that says no more than its class; the nearest class counts."""

_CAN_BE_LEFT_OUT = frozenset(
    {
        *("temperature", "seed", "reasoning_effort", "max_tokens", "max_completion_tokens", "stream_options"),
        "parallel_tool_calls",
    }
)
"""Parameters without which an answer is still an answer to the question."""
_NAMED_IN_WORDS = ("stream_options", "reasoning_effort")
"""Parameters that no caller sends: where the text of a refusal names one, that one is refused."""


def fault_of(exc: BaseException) -> Fault:
    """Find what went wrong: from what the service said where it did, else by the nearest class in `BY_CLASS`."""
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
    return Fault(next(BY_CLASS[kind] for kind in type(exc).__mro__ if kind in BY_CLASS))


SDK = Sdk(
    (ServiceFault, openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, aiohttp.ClientError, TimeoutError),
    fault_of,
    logging.getLogger("switchboard.openai"),
)


def service_errors(
    connection: OpenAIConnection, model: ServedModel, invocation_id: str | None = None
) -> AbstractContextManager[None]:
    """Turn what the service, the SDK or the transport raise inside the block into our errors, and log each once.

    Raises:
        RateLimited, ContentFiltered, BadRequest, Unavailable, TooSlow: by the table in `outbound.faults`.
    """
    return translated(SDK, lambda fault: error_of(fault, connection, model), connection.host, invocation_id)


def unsupported_parameter(exc: openai.APIStatusError, sent: Collection[str]) -> str | None:
    """The parameter, of those that were sent and can be left out, that the model or its service does not support.

    Reasoning models refuse a temperature (OpenAI API reference, 'unsupported_parameter' and 'unsupported_value').
    Others refuse the effort, and services that do not know `stream_options` refuse that, in words alone. Models since
    `gpt-5.6` refuse to think, even by default, where there are tools: `THINKING_WITH_TOOLS` stands for that.
    """
    if exc.status_code not in {400, 422}:
        return None
    words = exc.response.text
    if "tools" in sent and "Function tools with reasoning_effort" in words:
        return THINKING_WITH_TOOLS
    code, param = _text(exc.code), _text(exc.param)
    if code in {"unsupported_parameter", "unsupported_value"} and param in _CAN_BE_LEFT_OUT:
        return param if param in sent else None
    return next((name for name in _NAMED_IN_WORDS if name in sent and name in words), None)


def _text(value: object) -> str | None:
    """A value of an error's body, where it is the string that the SDK declares: services send anything."""
    return value if isinstance(value, str) else None
