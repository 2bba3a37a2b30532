"""Finds out whether a service has the model that the settings name, and what to set where it has not.

Lists differ: Azure lists models, not deployments; llama.cpp answers by any name; some services list nothing. So a
model that is not listed is asked for one token, and only what refuses that is missing.

Imports aiohttp: import it late.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing
from copy import replace
from typing import cast

from shared.outbound.bounded import body_of
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.outbound.openai_service.connection import OpenAIConnection, ServedModel
from shared.outbound.openai_service.errors import SDK, fault_of
from shared.outbound.openai_service.sender import Refused, Sender, decoded

_LASTING = frozenset({Reason.CREDENTIALS, Reason.BROKEN, Reason.TOO_SLOW})
"""Faults of a list of models for which no chat would work either."""
_MISSING = frozenset({Reason.NOT_THERE, Reason.NOT_AN_ANSWER})
"""Faults of a chat for which the name of the model, or the address, is wrong."""
_MOST_NAMES = 10
_PLAIN_NAME = re.compile(r"[\w./:@+-]{1,100}")
"""What a sentence repeats of a service's list."""


async def check_model(sender: Sender, connection: OpenAIConnection, seconds: float, *, is_known: bool) -> None:
    """Check that the service has the model that answers.

    Args:
        sender: Sends the requests.
        connection: The service.
        seconds: Time for each request. A model that takes longer for a token is there: it may have to be loaded first.
        is_known: Whether it was found before, so that it need not be asked for a token again.

    Raises:
        ServiceFault, aiohttp.ClientError, TimeoutError: it has not, or cannot be asked; for `errors.service_errors`.
    """
    name = connection.chat_model.name
    async with asyncio.timeout(seconds):
        names = await _listed(sender, "/models")
    if is_known or name in names or f"{name}:latest" in names:  # Ollama's names without a tag mean this one
        return
    try:
        async with asyncio.timeout(seconds):
            await _ask_for_a_token(sender, connection)
    except TimeoutError:
        return
    except SDK.raises as exc:
        fault = fault_of(exc)
        if fault.reason in _MISSING:
            raise ServiceFault(await explained(fault, sender, connection, connection.chat_model, seconds)) from exc
        if fault.reason in _LASTING:
            raise


async def explained(
    fault: Fault, sender: Sender, connection: OpenAIConnection, model: ServedModel, seconds: float
) -> Fault:
    """Add to a fault what to set instead, as far as the service's lists of models tell it."""
    try:
        async with asyncio.timeout(seconds):
            return replace(fault, advice=await _advice(sender, connection, model))
    except SDK.raises:
        return fault


async def _advice(sender: Sender, connection: OpenAIConnection, model: ServedModel) -> str | None:
    if connection.kind == "azure-openai":
        return None
    if names := await _listed(sender, "/models"):
        shown = ", ".join(names[:_MOST_NAMES]) + (", and others" if len(names) > _MOST_NAMES else "")
        return f"{connection.host} has no model of the name in {model.setting}. It has: {shown}."
    for url in _other_base_urls(connection.base_url):
        if await _listed(sender, f"{url}/models"):
            return f"{connection.address_setting} should be {url}: that is where the service answers."
    return None


async def _listed(sender: Sender, path: str) -> list[str]:
    """The names in a list of models; none where there is no list.

    Source: OpenAI API reference, 'List models'.
    """
    try:
        answer = await sender.get(path)
    except Refused as refused:
        if refused.fault.reason in _LASTING:
            raise
        return []
    data = cast("dict[str, object]", answer).get("data") if isinstance(answer, dict) else None
    entries = cast("list[object]", data) if isinstance(data, list) else []
    ids = (cast("dict[str, object]", entry).get("id") for entry in entries if isinstance(entry, dict))
    return [name for name in ids if isinstance(name, str) and _PLAIN_NAME.fullmatch(name)]


async def _ask_for_a_token(sender: Sender, connection: OpenAIConnection) -> None:
    limit = "max_tokens" if connection.kind == "openai-compatible" else "max_completion_tokens"
    body = {"model": connection.chat_model.name, "messages": [{"role": "user", "content": "Hi"}], limit: 1}
    response = await sender.post_once("/chat/completions", body)
    with closing(response):
        answer = decoded(await body_of(response))
    if not (isinstance(answer, dict) and "choices" in answer):
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, response.status))


def _other_base_urls(base_url: str) -> Iterator[str]:
    """Yield the addresses that may have been meant: without the path of a request at the end, and with `/v1`."""
    url = base_url.rstrip("/")
    for path in ("/chat/completions", "/completions", "/responses", "/embeddings", "/models"):
        if url.endswith(path):
            url = url.removesuffix(path)
            yield url
            break
    if not url.endswith("/v1"):
        yield f"{url}/v1"
