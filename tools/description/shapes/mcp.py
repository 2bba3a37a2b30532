"""Types of messages of MCP."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field


class McpMessage(TypedDict):
    """A request or a notification of MCP, the Model Context Protocol, as JSON-RPC."""

    jsonrpc: Literal["2.0"]
    method: Annotated[str, Field(description="Such as 'initialize', 'tools/list', 'tools/call'.")]
    id: NotRequired[Annotated[str | int, Field(description="Absent: a notification.")]]
    params: NotRequired[dict[str, Any]]


class McpResult(TypedDict):
    """The result of a request."""

    jsonrpc: Literal["2.0"]
    id: str | int
    result: dict[str, Any]


class McpReason(TypedDict):
    """What is wrong."""

    code: int
    message: Annotated[str, Field(description="What the caller can do.")]
    data: NotRequired[dict[str, Any]]


class McpError(TypedDict):
    """Why a request has no result."""

    jsonrpc: Literal["2.0"]
    id: str | int | None
    error: McpReason


class McpSignIn(TypedDict):
    """Where users get tokens for the MCP server (RFC 9728)."""

    resource: Annotated[str, Field(description="The URL of the MCP server.")]
    resource_name: str
    authorization_servers: list[str]
    scopes_supported: list[str]
    bearer_methods_supported: list[str]
