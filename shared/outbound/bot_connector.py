"""The connector of Azure Bot Service: sends activities to conversations. Imports aiohttp: import it late.

Source: Microsoft, 'API reference for the Bot Framework Connector service'; Teams, 'Stream bot messages', error codes,
and 'Optimize your bot with rate limiting', which says what to try again.
"""

import asyncio
import logging
from collections.abc import Mapping
from copy import replace
from typing import Any
from urllib.parse import quote

import msgspec

from shared.outbound.asking import RetryPolicy, Sdk, fault_in, with_retries
from shared.outbound.azure_service.signing_in import IdentityTokens
from shared.outbound.bounded import body_of
from shared.outbound.faults import LARGEST_REFUSAL, Fault, Reason, ServiceFault, reason_of_status, retry_after_of
from shared.outbound.sending import Connections
from shared.settings import Settings

SCOPE = "https://api.botframework.com/.default"
"""What the app's token is for."""
_TRY_SECONDS = 15.0
"""Time limit of one request."""
_LONGEST_SECONDS = 90.0
"""Time limit of one activity, with the tries."""
_PATIENT = RetryPolicy(retries=5, first_backoff=1.0, longest_wait=30.0)
_ONCE = RetryPolicy(retries=0)
LATE, STOPPED = "late", "stopped"
"""Codes of the faults of a stream: its time is over, its reader has stopped it."""
_WORDS = {"exceeded streaming time": LATE, "cancel": STOPPED}
"""By words in the message of a refusal, what it means for a stream. Its code is the same for all."""


class _Answer(msgspec.Struct):
    id: str | None = None
    error: dict[str, Any] | None = None


_SDK = Sdk((ServiceFault, TimeoutError), fault_in, logging.getLogger("switchboard.bot"))


class Connector:
    """Sends as the bot, which the app's identity is."""

    def __init__(self, settings: Settings) -> None:
        # National clouds have another service, which their metadata is at.
        is_gov = ".botframework.azure.us/" in settings.bot_openid_metadata
        self._tokens = IdentityTokens(scope=SCOPE.replace(".com", ".us") if is_gov else SCOPE)
        self._http = Connections()

    async def send(self, activity: Mapping[str, Any], *, edits: str = "", patient: bool = True) -> str:
        """Send an activity into its conversation.

        Args:
            activity: The activity, with the URL of the service, which a token has named, and its conversation.
            edits: Id of the message that it replaces; empty: it is new.
            patient: Whether it is tried again where that may help, or where the service asks for it.

        Returns:
            The id of the activity; empty if the service gives none.

        Raises:
            ServiceFault: it is not sent; `fault.code` says of a stream why.
        """
        service, conversation = activity["serviceUrl"].rstrip("/"), quote(activity["conversation"]["id"], safe="")
        url = f"{service}/v3/conversations/{conversation}/activities"
        method, url = ("PUT", f"{url}/{quote(edits, safe='')}") if edits else ("POST", url)
        body = msgspec.json.encode(activity)
        try:
            return await with_retries(
                lambda: self._try(method, url, body),
                _SDK,
                _PATIENT if patient else _ONCE,
                deadline=asyncio.get_running_loop().time() + _LONGEST_SECONDS,
                service="Bot Service",
            )
        except TimeoutError:
            raise ServiceFault(Fault(Reason.CUT_OFF)) from None

    async def _try(self, method: str, url: str, body: bytes) -> str:
        async with asyncio.timeout(_TRY_SECONDS):
            token = await self._tokens.token()
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            async with self._http.send(method, url, headers, body=body) as response:
                status, read = response.status, await body_of(response, LARGEST_REFUSAL)
                retry_after = retry_after_of(response.headers)
        try:
            answer = msgspec.json.decode(read or b"{}", type=_Answer)
        except (ValueError, RecursionError):  # it is none of JSON, of UTF-8, or of this depth
            answer = _Answer()
        if status < 300:
            return answer.id or ""
        said = str((answer.error or {}).get("message")).lower()
        fault = Fault(reason_of_status(status), status, retry_after)
        if status in (412, 502, 504):
            fault = replace(fault, reason=Reason.BUSY)
        raise ServiceFault(replace(fault, code=next((word for words, word in _WORDS.items() if words in said), None)))

    async def download(self, url: str, largest: int, *, signed: bool) -> bytes:
        """Fetch a file that a user has sent, with the bot's token if it is the service's own.

        Raises:
            ServiceFault: it is not there, or larger.
        """
        headers = {"Authorization": f"Bearer {await self._tokens.token()}"} if signed else {}
        async with self._http.send("GET", url, headers) as response:
            if response.status != 200:
                raise ServiceFault(Fault(reason_of_status(response.status), response.status))
            return await body_of(response, largest)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        await self._tokens.aclose()
