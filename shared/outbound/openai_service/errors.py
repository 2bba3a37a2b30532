"""Reasons of the exceptions of requests to an OpenAI-compatible service. Imports aiohttp: import this module late."""

import logging
from collections.abc import Collection
from contextlib import AbstractContextManager

import aiohttp

from shared.outbound.asking import Sdk, translated
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.outbound.openai_service.connection import THINKING_WITH_TOOLS, OpenAIConnection, ServedModel
from shared.outbound.openai_service.reasons import error_of
from shared.outbound.openai_service.sender import Refused

BY_CLASS: dict[type[BaseException], Reason] = {
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
    return Fault(next(BY_CLASS[kind] for kind in type(exc).__mro__ if kind in BY_CLASS))


SDK = Sdk((ServiceFault, aiohttp.ClientError, TimeoutError), fault_of, logging.getLogger("switchboard.openai"))


def service_errors(
    connection: OpenAIConnection, model: ServedModel, invocation_id: str | None = None
) -> AbstractContextManager[None]:
    """Turn what the service or the connection raise inside the block into our errors, and log each once.

    Raises:
        RateLimited, ContentFiltered, BadRequest, Unavailable, TooSlow: by the table in `outbound.faults`.
    """
    return translated(SDK, lambda fault: error_of(fault, connection, model), connection.host, invocation_id)


def unsupported_parameter(refused: Refused, sent: Collection[str]) -> str | None:
    """The parameter, of those that were sent and can be left out, that the model or its service does not support.

    Reasoning models refuse a temperature (OpenAI API reference, 'unsupported_parameter' and 'unsupported_value').
    Others refuse the effort, and services that do not know `stream_options` refuse that, in words alone. Models since
    `gpt-5.6` refuse to think, even by default, where there are tools: `THINKING_WITH_TOOLS` stands for that.
    """
    if refused.fault.status not in {400, 422}:
        return None
    if "tools" in sent and "Function tools with reasoning_effort" in refused.words:
        return THINKING_WITH_TOOLS
    code, param = refused.error.get("code"), refused.error.get("param")
    if code in ("unsupported_parameter", "unsupported_value") and isinstance(param, str) and param in _CAN_BE_LEFT_OUT:
        return param if param in sent else None
    return next((name for name in _NAMED_IN_WORDS if name in sent and name in refused.words), None)
