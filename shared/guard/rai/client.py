"""The RAI service over gRPC, as a `SafetyService`. Imports `grpc`: import this module late.

Source: rai-aoai-alignment-mode.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import grpc
import grpc.aio

from shared.chat_types import Json, PartHealth, RequestContext, Role
from shared.errors import NotConfigured, RateLimited
from shared.guard import Place, SafetySession, Side
from shared.guard.chat_payloads import ANSWER, PromptText
from shared.guard.check import Check
from shared.guard.rai.session import ERRORS, LARGEST_MESSAGE, Known, RaiCall, RaiSession
from shared.guard.rai.wire import KNOWS_POLICIES, PATH, ClientMessage, MalformedPolicy, PolicyName, read_policy
from shared.outbound.asking import CachedHealth
from shared.outbound.faults import Reason, ServiceFault

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

    from shared.outbound.azure_service.signing_in import IdentityTokens

STAND_IN = "reference stand-in"
"""Name of the reference service in its metadata, under `x-rai-service`."""

_KIND = "rai"
_CHECK_SECONDS = 3.0
"""Time limit of a health check for the connection, and again for the answer."""
_WHY_SECONDS = 1.0
"""Time limit of a connection that finds out why there is none."""
_ASKED = Place(Side.PROMPT, "0", 0)
_HTTPS_PORT = 443

_MOST_CONNECTIONS = 1_000
_NO_TOKEN = "none"  # noqa: S105 (it says that there is no token)
_OPTIONS: list[tuple[str, int | str]] = [
    # A session is a stream for as long as its answer takes, and a service limits the streams of a connection; ASP.NET
    # Core to 100. gRPC opens another connection as soon as all are full, instead of letting the next stream wait
    # (gRFC A105, Connection Scaling).
    ("grpc.service_config", f'{{"connectionScaling": {{"maxConnectionsPerSubchannel": {_MOST_CONNECTIONS}}}}}'),
    ("grpc.max_connections_per_subchannel_cap", _MOST_CONNECTIONS),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_send_message_length", LARGEST_MESSAGE),
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    # Finds out while a session is open that the other side is gone. A server may refuse a client that pings more often.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Azure's load balancers drop connections that were idle for four minutes, without closing them.
    ("grpc.client_idle_timeout_ms", 180_000),
    # Short, so that a service that is back is found while a session still waits for it.
    ("grpc.initial_reconnect_backoff_ms", 250),
    ("grpc.min_reconnect_backoff_ms", 2_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # A text must not be sent to the service twice.
    ("grpc.enable_retries", 0),
]


def _read_endpoint(endpoint: str) -> tuple[str, bool]:
    """Read `https://host[:port]`, `host:port` or `http://host:port`; return host and port, and whether to use TLS.

    Raises:
        NotConfigured: it has another form.
    """
    try:
        address = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
        port = address.port or (_HTTPS_PORT if address.scheme == "https" else 0)
    except ValueError:
        port, address = 0, urlsplit("")
    more = address.path.strip("/") or address.query or address.fragment or "@" in address.netloc
    if not port or not address.hostname or more or address.scheme not in ("", "http", "https"):
        raise NotConfigured(
            "RAI_ENDPOINT should be https://host, https://host:port, host:port or http://host:port, with no path."
        )
    host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
    return f"{host}:{port}", address.scheme == "https"


class RaiService:
    """The RAI service at one address, over one channel of as many connections as the sessions need.

    Args:
        endpoint: `https://…` for TLS, or `host:port` or `http://host:port` without.
        policy: A name that the service knows.
        timeout: Seconds to wait for a connection, and for the service to take a message.
        token: What to sign in with; `none`: nothing. None: a token of the app's identity with TLS, else nothing.
        credential: Identity of the app; None: its managed identity, or the user who is signed in locally.
        root_certificates: PEM. None: the certificates of gRPC, or those of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.
        blind: Whether health accepts that the service has no model for any task.

    Raises:
        NotConfigured: the address or the policy's file is not valid.
    """

    def __init__(
        self,
        endpoint: str,
        policy: str,
        timeout: float,
        *,
        token: str | None = None,
        credential: "AsyncTokenCredential | None" = None,
        root_certificates: bytes | None = None,
        blind: bool = False,
    ) -> None:
        self._blind = blind
        self._known = Known()
        self._address, self._is_secure = _read_endpoint(endpoint)
        self._policy = _policy(policy)
        self._policy_name = policy if isinstance(self._policy, PolicyName) else Path(policy).name
        self._timeout = timeout
        self._root_certificates = root_certificates
        self._token = None if token == _NO_TOKEN else token
        self._tokens = _tokens(credential) if self._is_secure and token is None else None
        self._open = 0
        self._channel: grpc.aio.Channel | None = None
        self._health = CachedHealth(self._ask_health)

    @asynccontextmanager
    async def session(self, context: RequestContext, seconds: float | None = None) -> AsyncGenerator[SafetySession]:
        """Open a stream and send the policy; leaving it early ends the analysis at the service.

        Args:
            context: The request's context.
            seconds: To wait for a connection, and for the service to take a message; None: as is configured.

        Raises:
            SwitchboardError: by the table in `rai.session.ERRORS`.
        """
        seconds = seconds or self._timeout
        call = await self._call(context, seconds)
        try:
            session = RaiSession(call, seconds, context, self._known)
            await session.begin(self._policy, self._unreachable)
            self._open += 1
            try:
                yield session
            finally:
                self._open -= 1
        finally:
            call.cancel()

    async def check(self) -> PartHealth:
        """Health: whether a turn that only says hello is cleared; asked at most every 30 seconds, and after a fault."""
        if self._known.changed:
            self._health.forget()
        return await self._health.latest()

    async def aclose(self) -> None:
        """Close the channel and end what goes on in it; a later session would open another."""
        channel, self._channel = self._channel, None
        if channel:
            await channel.close()
        if self._tokens:
            await self._tokens.aclose()

    async def _call(self, context: RequestContext, seconds: float) -> RaiCall:
        try:
            token = await self._tokens.token(seconds) if self._tokens else self._token
        except ServiceFault as exc:
            raise ERRORS.error(exc.fault) from None
        if self._channel is None:
            self._channel = _open_channel(self._address, self._root_certificates, secure=self._is_secure)
        remaining = context.deadline - asyncio.get_running_loop().time()
        analyze = self._channel.stream_stream(PATH, _unchanged, _unchanged)
        return analyze(
            timeout=remaining if isfinite(remaining) else None,
            metadata=(("authorization", f"Bearer {token}"),) if token else (),
            wait_for_ready=True,
        )

    async def _unreachable(self) -> Reason:
        """Find out why a session got no connection."""
        if self._open:
            return Reason.BUSY
        if self._is_secure and await asyncio.to_thread(_is_untrusted, self._address, self._root_certificates):
            return Reason.UNTRUSTED
        return Reason.UNREACHABLE

    async def _ask_health(self) -> PartHealth:
        """Have a greeting checked on both sides, as a turn does: a service can be there, and fail each turn."""
        context = RequestContext("health check", asyncio.get_running_loop().time() + 3 * _CHECK_SECONDS)
        opening = partial(self.session, seconds=_CHECK_SECONDS)
        changed = asyncio.Event()
        check = Check(opening, context, model="", timeout=_CHECK_SECONDS, changed=changed, blind=self._blind)
        try:
            check.ask([PromptText(_ASKED, Role.USER, "Hello")])
            check.add(ANSWER, "Hello")
            check.finish()
            await check.decided()
        finally:
            await check.aclose()
        self._known.changed = False
        missing = sorted(self._known.without_model)
        facts: dict[str, Json] = {"host": self._address, "policy": self._policy_name}
        if missing:
            facts["without_model"] = [*missing]
        if check.fault and not isinstance(check.fault, RateLimited):  # one that is busy is there
            return PartHealth(_KIND, ok=False, detail=check.fault.message, facts=facts)
        lack = f". It has no model for {', '.join(missing)} (NoModel)" if missing else ""
        if self._known.name == STAND_IN:
            detail = f"The reference stand-in at {self._address}: not a safety product{lack}"
            return PartHealth(STAND_IN, ok=True, detail=detail, facts=facts)
        return PartHealth(_KIND, ok=True, detail=f"The RAI service at {self._address}{lack}", facts=facts)


def _policy(setting: str) -> ClientMessage:
    file = Path(setting)
    if file.suffix.lower() != ".json":
        return PolicyName(setting)
    if not KNOWS_POLICIES:
        raise NotConfigured(
            "RAI_POLICY names a file, and no policy can be sent until the service's own rai.proto is in place "
            "(docs/safety.md): name a policy that the service knows."
        )
    try:
        return read_policy(file.read_bytes())
    except OSError:
        raise NotConfigured(f"RAI_POLICY names {file.name}, which cannot be read.") from None
    except MalformedPolicy as malformed:
        raise NotConfigured(f"RAI_POLICY names {file.name}, which is no policy: {malformed}.") from None


def _is_untrusted(address: str, root_certificates: bytes | None) -> bool:
    """Whether it is the certificate that keeps gRPC from connecting. gRPC itself does not say so. Blocks."""
    host, _, port = address.rpartition(":")
    authority = root_certificates.decode() if root_certificates else None
    try:
        trusted = ssl.create_default_context(
            cafile=None if authority else os.environ.get("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"), cadata=authority
        )
        with (
            socket.create_connection((host.strip("[]"), int(port)), timeout=_WHY_SECONDS) as connection,
            trusted.wrap_socket(connection, server_hostname=host.strip("[]")),
        ):
            return False
    except ssl.SSLCertVerificationError:
        return True
    except OSError:
        return False


def _tokens(credential: "AsyncTokenCredential | None") -> "IdentityTokens":
    from shared.outbound.azure_service.signing_in import IdentityTokens

    return IdentityTokens(credential)


def _unchanged(message: bytes) -> bytes:
    """Serializer that changes nothing: the session encodes, since gRPC only logs errors of a serializer."""
    return message


def _open_channel(address: str, root_certificates: bytes | None, *, secure: bool) -> grpc.aio.Channel:
    """Make a channel in the running loop. It connects when it is first used, and again when the connection is lost.

    Without certificates (PEM), gRPC's are used, or those of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.
    """
    if secure:
        credentials = grpc.ssl_channel_credentials(root_certificates)
        return grpc.aio.secure_channel(address, credentials, options=_OPTIONS)
    # A service without TLS is on this machine or in its network, so no proxy is used.
    return grpc.aio.insecure_channel(address, options=[*_OPTIONS, ("grpc.enable_http_proxy", 0)])
