"""How the RAI service is reached: its address and the channel to it. Imports `grpc`: import it late."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import grpc
import grpc.aio

from shared.errors import NotConfigured

LARGEST_MESSAGE = 4 * 1024 * 1024
"""Bytes; what a gRPC server takes when nobody has set it otherwise."""

_HTTPS_PORT = 443

_OPTIONS: list[tuple[str, int]] = [
    ("grpc.max_send_message_length", LARGEST_MESSAGE),
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    # While a session is open, find out that the other side is gone; a server may take offence at more pings.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Azure's load balancers forget connections that were idle for four minutes, and tell nobody.
    ("grpc.client_idle_timeout_ms", 180_000),
    # A service that is back is found again within the time that a session waits for it.
    ("grpc.initial_reconnect_backoff_ms", 250),
    ("grpc.min_reconnect_backoff_ms", 2_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # What was said must not be sent twice.
    ("grpc.enable_retries", 0),
]


@dataclass(frozen=True, slots=True)
class RaiAddress:
    """Where the RAI service is."""

    host: str
    """Host and port, as gRPC and people read them."""
    secure: bool
    """Whether it is spoken to over TLS, with the app's token."""

    @classmethod
    def read(cls, endpoint: str) -> "RaiAddress":
        """Read `https://host[:port]` or `host:port`.

        Raises:
            NotConfigured: it is neither.
        """
        try:
            address = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
            port = address.port or (_HTTPS_PORT if address.scheme == "https" else 0)
        except ValueError:
            port, address = 0, urlsplit("")
        more = address.path.strip("/") or address.query or address.fragment or "@" in address.netloc
        if not port or not address.hostname or more or address.scheme not in ("", "https"):
            raise NotConfigured("RAI_ENDPOINT should be https://host, https://host:port or host:port, with no path.")
        host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
        return cls(f"{host}:{port}", secure=bool(address.scheme))


def open_channel(address: RaiAddress, root_certificates: bytes | None) -> grpc.aio.Channel:
    """Make a channel in the running loop; it connects when it is first used, and again whenever it has to.

    Args:
        address: Where to.
        root_certificates: PEM. None: those that gRPC comes with, or of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.
    """
    if address.secure:
        credentials = grpc.ssl_channel_credentials(root_certificates)
        return grpc.aio.secure_channel(address.host, credentials, options=_OPTIONS)
    # A plaintext service is on this machine or in its network: a proxy has no business in between.
    return grpc.aio.insecure_channel(address.host, options=[*_OPTIONS, ("grpc.enable_http_proxy", 0)])
