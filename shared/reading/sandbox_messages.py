"""The messages between the app and the processes that read files, as MessagePack. See `sandbox`."""

from enum import IntEnum
from typing import Literal

import msgspec

from shared.reading import Chunk, Page
from shared.reading.limits import ReadLimits
from shared.retrieval import PassageTerms


class ReadTask(msgspec.Struct, tag=True, frozen=True):
    """Read the text of a file."""

    suffix: str
    """The suffix of its name, such as `.pdf`: a key of `READERS`."""
    charset: str | None
    """The encoding that the sender of plain text declared; None if unknown."""
    limits: ReadLimits
    """What the file may hold."""


class RenderTask(msgspec.Struct, tag=True, frozen=True):
    """Render pages of a PDF."""

    numbers: list[int]
    """Page numbers, from 1."""


class RecognizeTask(msgspec.Struct, tag=True, frozen=True):
    """Recognize the text in a scan."""

    numbers: list[int]
    """Page numbers of a PDF, from 1; empty: the file is an image."""


class EmbedTask(msgspec.Struct, tag=True, frozen=True):
    """Make vectors of texts. The bytes are the texts as MessagePack."""

    questions: bool
    """Whether they are questions; else they are passages."""


class ApiTask(msgspec.Struct, tag=True, frozen=True):
    """Read an OpenAPI document by `read_operations` of `shared.tools.openapi`, which is above this package."""

    operations: list[str]
    without: str | None


class SplitTask(msgspec.Struct, tag=True, frozen=True):
    """Split texts into chunks. The bytes are the texts as MessagePack."""

    names: list[str]
    """The name of the document; of each file in `SplitFilesTask`."""
    limit: int
    """Chunks that there may be."""
    terms: bool
    """Whether the terms of the chunks are made as well."""


class SplitFilesTask(msgspec.Struct, tag=True, frozen=True):
    """Read files of plain text, and split each. The bytes are a list of the files as MessagePack."""

    split: SplitTask
    """How to split a file."""
    limits: ReadLimits
    """What a file may hold."""


class Parsers(IntEnum):
    """What a reader has imported. Its number is the byte with which the app asks for the reader."""

    TEXT = 0
    """What reads plain text."""
    PDF = 1
    """What reads PDF files and images."""
    ALL = 2
    """What reads all formats: a mail may have any of them attached."""
    SPLIT = 3
    """What reads plain text and splits texts: also a vocabulary of tokens."""
    NONE = 4
    """Nothing of these."""


type Single = ReadTask | ApiTask | RenderTask | RecognizeTask | EmbedTask | SplitTask
"""A task with one result."""
type Task = Single | SplitFilesTask


_PARSERS = {".pdf": Parsers.PDF} | dict.fromkeys((".csv", ".markdown", ".md", ".rtf", ".tsv", ".txt"), Parsers.TEXT)


def parsers_for(task: Task) -> Parsers:
    """Return what a reader needs for a task."""
    match task:
        case ReadTask():
            return _PARSERS.get(task.suffix, Parsers.ALL)
        case RenderTask() | RecognizeTask():
            return Parsers.PDF
        case SplitTask() | SplitFilesTask():
            return Parsers.SPLIT
        case EmbedTask():
            return Parsers.TEXT
        case ApiTask():
            return Parsers.NONE


class Job(msgspec.Struct, frozen=True):
    """What the app sends to a reader; the bytes of the file follow."""

    task: Task
    size: int
    """Bytes of the file."""
    memory: int
    """Bytes of address space that the reader may take."""
    seconds: int
    """CPU time that the reader may take."""
    keep: bool = False
    """Whether the reader waits for another job afterwards, instead of ending."""


class PagesRead(msgspec.Struct, tag=True, frozen=True):
    """The pages of a file."""

    pages: list[Page]


class ApiRead(msgspec.Struct, tag=True, frozen=True):
    """What `read_operations` returns."""

    operations: list[bytes]
    problems: list[str]


class TextsSplit(msgspec.Struct, tag=True, frozen=True):
    """The chunks of texts."""

    title: str
    """The title of the document."""
    chunks: list[list[Chunk]]
    """Of each text."""
    terms: list[PassageTerms] | None
    """The terms of each chunk, of all texts in order; None: the task did not want them."""
    date: str = ""
    """The day that the document states as its own; empty where it was read before."""


class PagesRendered(msgspec.Struct, tag=True, frozen=True):
    """Page numbers, each with its image as JPEG."""

    images: list[tuple[int, bytes]]


class TextsEmbedded(msgspec.Struct, tag=True, frozen=True):
    """The vectors of texts."""

    vectors: bytes
    """All of them, one after another, as 32-bit floats."""


class Refused(msgspec.Struct, tag=True, frozen=True):
    """Why the file cannot be read, as the end of the sentence 'the file …'."""

    reason: str
    kind: Literal["unreadable", "limit"]
    """Names the error that the app raises."""


class FilesSplit(msgspec.Struct, tag=True, frozen=True):
    """The result for each file."""

    files: list[TextsSplit | Refused]


type Reply = PagesRead | ApiRead | TextsSplit | FilesSplit | PagesRendered | TextsEmbedded | Refused
