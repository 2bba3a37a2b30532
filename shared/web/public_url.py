"""The URL at which callers reach the app's routes: for links that open elsewhere, and for what describes the API."""

import os
import re

from starlette.requests import Request

from shared.runtime.host_file import ROUTE_PREFIX
from shared.settings import Settings

_PREFIX_PATH = f"/{ROUTE_PREFIX}".rstrip("/")
_LOCAL = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?")
_HOST = re.compile(r"([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?")


def known_url(public_url: str | None) -> str | None:
    """Return the URL of the app's routes as the settings or the platform tell it, without a slash at its end.

    Args:
        public_url: `PUBLIC_URL`; None: not set, so that the name in `WEBSITE_HOSTNAME` counts, which the platform sets.

    Returns:
        The URL; None: neither is known.
    """
    if public_url:
        return public_url.rstrip("/")
    if named := os.environ.get("WEBSITE_HOSTNAME"):
        return f"{'http' if _LOCAL.fullmatch(named) else 'https'}://{named}{_PREFIX_PATH}"
    return None


def lacks_url(public_url: str | None) -> bool:
    """Whether links would have the address at which the host reaches the worker: in an own container of that host."""
    return known_url(public_url) is None and os.environ.get("AZURE_FUNCTIONS_ENVIRONMENT") != "Development"


def base_url(public_url: str | None, scheme: str, host: str) -> str:
    """Return the URL below which a request's links are: the one that is known, else the one that it was sent to.

    A caller can write any `Host`, and then only that caller gets links to it. Forwarded headers count for nothing:
    behind a proxy that ends TLS outside of Azure, `PUBLIC_URL` is needed.

    Args:
        public_url: `PUBLIC_URL`; None: not set.
        scheme: The scheme of the request's URL.
        host: The request's `Host`; if it is no host name, links have a path only.
    """
    if known := known_url(public_url):
        return known
    return f"{scheme}://{host}{_PREFIX_PATH}" if _HOST.fullmatch(host) else _PREFIX_PATH


def own_url(request: Request, settings: Settings) -> str:
    """Return the URL below which the links of a request's answer are."""
    return base_url(settings.public_url, request.url.scheme, request.headers.get("host", ""))
