"""Which web pages may use the host: only those that reach it by a name of this machine, and by the rules of CORS."""

import re
from collections.abc import Mapping

from local.settings_file import Cors

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:[0-9]{1,5})?")
_ORIGIN = re.compile(f"https?://{_HOST.pattern}", re.IGNORECASE)
_HARMLESS = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing. The browser keeps their answers from pages that may not read them."""


def find_fault(method: str, headers: Mapping[str, str], cors: Cors) -> str | None:
    """Return why a request is refused that a web page from elsewhere may have sent; None if it is not refused.

    A page can reach this host by a name of its own that leads to a loopback address (DNS rebinding): then it may read
    the answers. And it can send some requests without asking first, such as a POST of `text/plain` (Fetch Standard,
    'CORS-safelisted request-header'). Pages of this machine may send: servers for development pass their requests on.
    """
    host = headers.get("Host", "localhost")  # only HTTP/1.0, which no browser sends, has none
    if not _is_ours(_HOST.fullmatch(host), cors):
        return (
            "This host answers to the names localhost, 127.0.0.1 and [::1], and to those of ALLOWED_HOSTS. Use one of "
            "them in the address, or allow this one: make run ALLOWED_HOSTS=NAME."
        )
    origin = headers.get("Origin")
    if method in _HARMLESS or origin is None or _is_ours(_ORIGIN.fullmatch(origin), cors):
        return None
    if _is_shared_with(cors, origin):
        return None
    return (
        "Pages of this origin may not send requests here. Allow them with `make run CORS=...`, or in Host.CORS of "
        "local.settings.json."
    )


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Tell whether a request is a browser's CORS preflight."""
    return method == "OPTIONS" and "Origin" in headers and "Access-Control-Request-Method" in headers


def preflight_headers(cors: Cors, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that give permission; none if the origin is not allowed."""
    allowed = cors_headers(cors, headers)
    if "Access-Control-Allow-Origin" in allowed:
        allowed["Access-Control-Allow-Methods"] = headers["Access-Control-Request-Method"]
        if "Access-Control-Request-Headers" in headers:
            allowed["Access-Control-Allow-Headers"] = headers["Access-Control-Request-Headers"]
    return allowed


def cors_headers(cors: Cors, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that let the caller's page read an answer; none if it may not. The host sends no `Vary`."""
    origin = headers.get("Origin")
    if not cors.origins or origin is None:
        return {}
    if "*" in cors.origins:
        return {"Access-Control-Allow-Origin": "*"}
    if not _is_shared_with(cors, origin):
        return {}
    allowed = {"Access-Control-Allow-Origin": origin}
    return allowed | ({"Access-Control-Allow-Credentials": "true"} if cors.credentials else {})


def _is_ours(address: re.Match[str] | None, cors: Cors) -> bool:
    """Tell whether the host in an address is this machine, by a name of loopback or one that is allowed."""
    return address is not None and (address[1].lower() in _LOOPBACK or address[1].lower() in cors.hosts)


def _is_shared_with(cors: Cors, origin: str) -> bool:
    """Tell whether the setting names an origin, or all."""
    return "*" in cors.origins or origin.lower() in {allowed.lower() for allowed in cors.origins}
