"""How the app signs in to tool servers and APIs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from shared.chat_types import RequestContext
from shared.errors import NotConfigured
from shared.tools.servers import Auth


@dataclass(frozen=True, slots=True)
class Credentials:
    """What signs one request in."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    query: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


type SignIn = Callable[[RequestContext], Awaitable[Credentials]]
"""Returns what signs in a request that is made for a caller. Raises ServiceFault: there is none."""


def sign_in_of(name: str, auth: Auth, environment: Mapping[str, str]) -> SignIn:
    """Choose how to sign in to a server.

    Args:
        name: The server's name in the agents file.
        auth: What the file says.
        environment: The settings, with the keys.

    Raises:
        NotConfigured: a setting is missing.
    """
    credentials = _with_key(name, auth, environment) if auth.key else Credentials()

    async def sign_in(_context: RequestContext) -> Credentials:
        return credentials

    return sign_in


def _with_key(name: str, auth: Auth, environment: Mapping[str, str]) -> Credentials:
    key = SecretStr(environment.get(auth.key or "", "").strip())
    if not key:
        raise NotConfigured(f"{auth.key}: is missing. It should hold the key of {name}, as AGENTS_FILE says.")
    if auth.query:
        return Credentials(query={auth.query: key.get_secret_value()})
    if auth.header:
        return Credentials({auth.header: key.get_secret_value()})
    return Credentials({"Authorization": f"Bearer {key.get_secret_value()}"})
