"""Types of the routes of documents."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from tools.description.protocols import Reason, Values


class ListedDocument(TypedDict):
    """A document in the list."""

    name: Annotated[str, Field(description="Its path, as answers cite it.")]
    type: Annotated[str, Field(description="The media type.")]
    size: Annotated[int, Field(description="Bytes.")]
    last_modified: Annotated[str, Field(description="ISO 8601, in UTC.")]
    passages: Annotated[int, Field(description="Passages in the index that the caller may see; 0: it is not indexed.")]
    pages: Annotated[int | None, Field(description="Pages that they are on; null: not known.")]
    left_out: Annotated[str, Field(description="What was not read, such as 'hidden slides (3)'; empty: nothing known.")]


class FailedDocument(TypedDict):
    """A document that could not be indexed when it was last read."""

    name: str
    state: Literal["failed"]
    detail: Annotated[str, Field(description="Why, as a sentence.")]
    when: Annotated[str, Field(description="ISO 8601, in UTC.")]
    reason: NotRequired[Reason]
    values: NotRequired[Values]


class Documents(TypedDict):
    """A page of the list of documents."""

    documents: list[ListedDocument]
    failed: Annotated[list[FailedDocument], Field(description="On the first page, for who manages documents.")]
    may_write: Annotated[bool, Field(description="Whether the caller may upload and delete documents.")]
    why_no_own: Annotated[str | None, Field(description="Why nobody has documents of their own here; null: they can.")]


class IndexedDocument(TypedDict):
    """A document that is indexed."""

    name: str
    state: Literal["indexed"]
    detail: Annotated[str, Field(description="How many passages, and what was not read.")]


class UploadStep(TypedDict):
    """A step of indexing a document."""

    state: Annotated[str, Field(description="reading, embedding, writing; the last one: indexed or failed.")]
    name: NotRequired[str]
    detail: NotRequired[Annotated[str, Field(description="With the last state: how many passages, or why it failed.")]]
    code: NotRequired[Annotated[str, Field(description="The error's code, where an error was the reason.")]]
    reason: NotRequired[Reason]
    values: NotRequired[Values]


class QueuedDocument(TypedDict):
    """A document that will be indexed later."""

    name: str
    state: Literal["queued"]
    detail: str


class Room(TypedDict):
    """What a person's own documents take together, or may take."""

    documents: int
    bytes: int
    pages: Annotated[int, Field(description="Pages; of a document without pages its passages.")]


class OwnDocuments(TypedDict):
    """What somebody has added for themselves."""

    documents: list[ListedDocument]
    failed: list[FailedDocument]
    used: Room
    limits: Room
    kept_days: Annotated[int | None, Field(description="Days after which each is deleted; null: never.")]
