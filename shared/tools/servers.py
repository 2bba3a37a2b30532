"""What the agents file says of tools outside the app: `tool_servers` (MCP) and `apis` (OpenAPI).

Nothing else is offered to models: each tool is named here, and hints of a server decide nothing. Import it late: making
these models takes as long as all others of the app.
"""

from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from shared.settings.rules import is_loopback
from shared.tools.definitions import Definition

_MOST_TOOLS = 100
"""Tools of one server, at most; models take 128 in all."""


class Auth(Definition):
    """How the app signs in to a server: in one way, or not at all."""

    key: str | None = Field(default=None, pattern=r"^[A-Za-z_]\w{0,127}$")
    """Name of the setting with a key; with `on_behalf_of`, the secret of the app's registration."""
    header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]{1,64}$")
    """Header that carries the key; None: `Authorization`, as a bearer token."""
    query: str | None = Field(default=None, pattern=r"^[\w.-]{1,64}$")
    """Parameter of the URL that carries the key instead, such as `sig` of a Logic App."""
    managed_identity: str | None = Field(default=None, pattern=r"^\S{1,300}$")
    """Scope of tokens of the app's own identity."""
    on_behalf_of: str | None = Field(default=None, pattern=r"^\S{1,300}$")
    """Scope of tokens that the directory gives for the caller's own token. Without `key`, the app's identity asks."""

    @model_validator(mode="after")
    def _check_ways(self) -> "Auth":
        places = sum(place is not None for place in (self.header, self.query))
        is_for_others = self.managed_identity is not None or self.on_behalf_of is not None
        if self.managed_identity is not None and (self.key or self.on_behalf_of):
            raise ValueError
        if places > 1 or (places and (self.key is None or is_for_others)):
            raise ValueError
        return self


def _auth(value: Any) -> Any:  # noqa: ANN401 (anything that stands in a file)
    return {} if value == "none" else value


def _empty(value: Any) -> Any:  # noqa: ANN401
    return {} if value is None else value


class AllowedTool(Definition):
    """One tool or operation that agents may have."""

    approval: Literal["always", "never"] | None = None
    """Whether a person has to agree before each call; None: always, but for an operation that only reads."""
    read_only: bool | None = None
    """Whether a call changes nothing, so that it may run again; None: yes if it needs no approval."""
    pin: str | None = Field(default=None, pattern=r"^(sha256:)?[0-9a-f]{64}$")
    """SHA-256 of the definition that was reviewed; None: any is accepted."""
    seconds: float = Field(default=30, ge=1, le=600)
    """Time limit of a call; 1 to 600."""


type _Allowed = dict[Annotated[str, Field(pattern=r"^[!-~]{1,128}$")], Annotated[AllowedTool, BeforeValidator(_empty)]]


def _is_safe(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme not in ("https", "http") or not host or parts.username is not None or parts.fragment:
        raise ValueError
    if parts.scheme == "http" and not is_loopback(host):
        raise ValueError
    return url


Url = Annotated[str, Field(pattern=r"^[!-~]{1,2000}$"), AfterValidator(_is_safe)]
"""An https URL, or an http one of this machine."""


class Server(Definition):
    """What tool servers and APIs have in common."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")
    """Prefix of its tools' names."""
    url: Url
    """Where it is."""
    auth: Annotated[Auth, BeforeValidator(_auth)] = Auth()
    """How the app signs in."""

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, values: Any) -> Any:  # noqa: ANN401
        """Take `key: SETTING` beside `url` for `auth: {key: SETTING}`."""
        own = cast("dict[str, Any]", values)
        if not isinstance(values, dict) or "auth" in own:
            return own
        ways = {key: value for key, value in own.items() if key in Auth.model_fields}
        return {key: value for key, value in own.items() if key not in ways} | ({"auth": ways} if ways else {})


def _check_number(allowed: dict[str, AllowedTool]) -> dict[str, AllowedTool]:
    if not 1 <= len(allowed) <= _MOST_TOOLS:
        raise ValueError
    return allowed


class ToolServer(Server):
    """An MCP server."""

    tools: Annotated[_Allowed, AfterValidator(_check_number)]
    """The tools that agents may have, by their names there."""

    @property
    def allowed(self) -> dict[str, AllowedTool]:
        """The tools that agents may have."""
        return self.tools


class Api(Server):
    """An API that an OpenAPI document describes."""

    document: Annotated[str, Field(pattern=r"^[!-~ ]{1,2000}$")]
    """File beside the agents file, or https URL, of the document."""
    operations: Annotated[_Allowed, AfterValidator(_check_number)]
    """The operations that agents may have, by their `operationId`."""

    @field_validator("document")
    @classmethod
    def _check_document(cls, document: str) -> str:
        return _is_safe(document) if "://" in document else document

    @property
    def allowed(self) -> dict[str, AllowedTool]:
        """The operations that agents may have."""
        return self.operations
