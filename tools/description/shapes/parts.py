"""Types that those of several routes and protocols have."""

from typing import Annotated, Any, TypedDict

from pydantic import Field

type ErrorCode = Annotated[str, Field(description="The error's code.")]

FilterResults = Annotated[Any, Field(description="What a content filter found, in the shape of Azure OpenAI's.")]

FilterOffsets = Annotated[
    Any, Field(description="In a stream: which part of the text a filter found it in, as Azure OpenAI says.")
]

SessionState = Annotated[
    Any, Field(description="The client's own memory, as it sent it, or the id of the chat that the app keeps for it.")
]

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""The type of a time in an answer."""


class Address(TypedDict):
    """What the app takes for the address of this caller, who has one budget with all of this address."""

    address: Annotated[str, Field(description="An IPv4 address, or the first 64 bits of one of IPv6.")]
    header: Annotated[str, Field(description="The header that says so; empty: the other end of the connection.")]
