"""Faults of an OpenAI-compatible service, as its error bodies tell them, and their sentences. Knows no SDK.

Source: OpenAI API reference, error codes; Azure OpenAI, content filtering; what compatible services send.
"""

import re
from collections.abc import Mapping

from shared.chat_types import Json
from shared.errors import SwitchboardError, Unavailable
from shared.outbound.faults import DEFAULTS, Fault, Reason, errors_of
from shared.outbound.openai_service.connection import OpenAIConnection, ServedModel

ERRORS = errors_of("model")

STATUSES = {**DEFAULTS.statuses, **ERRORS.statuses}
"""The reasons of HTTP statuses; some mean something else here than elsewhere."""

_OVERRIDES = frozenset({"temperature", "seed", "response_format"})
"""Parameters whose values come from the caller."""

_TOO_LONG = re.compile(
    r"context.(length|window|size)|maximum model length|max_model_len|tokens? (count|limit)[^.]{0,40}exceed"
    r"|(prompt|input)s? (is |are )?too (long|large)|reduce the length|context the overflows|max_new_tokens. must be",
    re.IGNORECASE,
)
"""llama.cpp, LM Studio, vLLM, Ollama and others say it in words only."""
_WINDOW = re.compile(
    r"(?:context.(?:length|window|size)|maximum model length|n_ctx)(?![^0-9]{0,9}n_keep)[^0-9.]{0,30}?([0-9]{3,8})",
    re.IGNORECASE,
)
_LOADING = re.compile(r"loading model|(is|currently|still) loading", re.IGNORECASE)
"""llama.cpp, and others that begin to serve before they can answer."""

_PLAIN = re.compile(r"[\w.:-]{1,80}")
"""The form of a code or a request id: anything else may be somebody's text."""


def error_of(fault: Fault, connection: OpenAIConnection, model: ServedModel) -> SwitchboardError:
    """Make the error that the caller gets, with the settings that this service and model come from."""
    if fault.advice:
        return Unavailable(fault.advice)
    between = "HTTP_PROXY or HTTPS_PROXY, through which it is asked (NO_PROXY)" if connection.proxy else ""
    return ERRORS.error(
        fault,
        address=f"{connection.address_setting} and {between or 'the network'}",
        setting=f"{connection.address_setting}{f', and {between}' if between else ''}",
        credential_advice=connection.credential_advice,
        model_setting=model.setting,
    )


def read_fault(
    error: Json, *, status: int | None = None, request_id: str | None = None, retry_after: float | None = None
) -> Fault:
    """Find the reason in an `error` object of a body or a stream, of any shape.

    Args:
        error: The value of the `error` key, or the whole body where there is none.
        status: The HTTP status; None inside a stream, where `code` may hold one.
        request_id: The service's id of the request.
        retry_after: Seconds that the service asks to wait.
    """
    fields = error if isinstance(error, dict) else {}
    inner = fields.get("innererror") or fields.get("inner_error")
    codes = [fields.get("code"), inner.get("code") if isinstance(inner, dict) else None, fields.get("type")]
    words = [str(code) for code in codes if isinstance(code, str | int)]
    if status is None:
        status = next((int(word) for word in words if word.isdecimal() and len(word) == 3), None)
    reason = next((ERRORS.codes[word] for word in words if word in ERRORS.codes), None) or _by_status(status)
    param = fields.get("param")
    override = name if isinstance(param, str) and (name := param.partition(".")[0]) in _OVERRIDES else None
    said = str(fields.get("message") or fields.get("detail") or ("" if fields else error))
    if reason in (Reason.NOT_ACCEPTED, Reason.BROKEN) and _TOO_LONG.search(said):
        reason = Reason.TOO_LONG
    elif reason is Reason.BROKEN and _LOADING.search(said):
        reason = Reason.LOADING
    elif reason is Reason.NOT_ACCEPTED and override:
        reason = Reason.OVERRIDE
    return Fault(
        reason,
        status=status,
        code=next((word for word in words if _PLAIN.fullmatch(word)), None),
        request_id=request_id if request_id and _PLAIN.fullmatch(request_id) else None,
        param=override if reason is Reason.OVERRIDE else None,
        retry_after=retry_after,
        window=_window(fields, said) if reason is Reason.TOO_LONG else None,
    )


def _window(fields: Mapping[str, Json], said: str) -> int | None:
    """The window that a refusal names: llama.cpp in a field, others in their words."""
    named = fields.get("n_ctx")
    found = _WINDOW.search(said)
    return named if isinstance(named, int) else int(found[1]) if found else None


def _by_status(status: int | None) -> Reason:
    """The reason of a status. Others below 400 are no answer, others below 500 refuse the request."""
    if status is None:
        return Reason.BROKEN
    other = Reason.NOT_AN_ANSWER if status < 400 else Reason.NOT_ACCEPTED if status < 500 else Reason.BROKEN
    return STATUSES.get(status, other)
