"""The messages between the app and the processes that read files, as MessagePack. See `sandbox`."""

from enum import IntEnum
from typing import Any, Literal, NamedTuple

import msgspec

from shared.reading import NOTHING_STATED, Chunk, Stated
from shared.reading.limits import ReadLimits
from shared.retrieval import PassageTerms


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


class Work(NamedTuple):
    """A function that readers call with the bytes of a file and with arguments."""

    module: str
    function: str
    arguments: Any
    """The type of the tuple of arguments."""
    parsers: Parsers
    """What it needs."""
    models: str = ""
    """The module whose models it needs: they take more memory than a reader of other files may have. Empty: none."""


_READ = Work("shared.reading.readers", "read_all_pages", tuple[str, str | None, ReadLimits], Parsers.ALL)
_SERVER, _EMBEDDING, _RECOGNITION = "shared.reading.sandbox_server", "local.embedding", "local.recognition"
WORK = {
    "read": _READ,
    "read pdf": _READ._replace(parsers=Parsers.PDF),
    "read text": _READ._replace(parsers=Parsers.TEXT),
    "render": Work("shared.reading.pdf", "render_pages", tuple[list[int]], Parsers.PDF),
    "split": Work(_SERVER, "split", tuple[str, int, bool], Parsers.SPLIT),
    "split files": Work(_SERVER, "split_files", tuple[list[str], int, bool, ReadLimits], Parsers.SPLIT),
    "recognize": Work(_RECOGNITION, "recognize", tuple[list[int]], Parsers.PDF, _RECOGNITION),
    "embed": Work(_EMBEDDING, "embed", tuple[bool], Parsers.TEXT, _EMBEDDING),
    "read api": Work(_SERVER, "read_api", tuple[list[str], str | None], Parsers.NONE, "shared.tools.openapi"),
}
"""All that readers do."""
MARKDOWN = (".md", ".mdx", ".markdown")
"""The suffixes of files in Markdown."""
READS = {".pdf": "read pdf"} | dict.fromkeys((".csv", *MARKDOWN, ".rtf", ".tsv", ".txt"), "read text")
"""By the suffix of a file, the work that reads it, where that is not `read`."""


class Job(msgspec.Struct, frozen=True):
    """What the app sends to a reader; the bytes of the file follow."""

    work: str
    """A key of `WORK`."""
    arguments: msgspec.Raw
    size: int
    """Bytes of the file."""
    memory: int
    """Bytes of address space that the reader may take."""
    seconds: int
    """CPU time that the reader may take."""


class TextsSplit(msgspec.Struct, tag=True, frozen=True):
    """The chunks of texts."""

    title: str
    """The title of the document."""
    chunks: list[list[Chunk]]
    """Of each text."""
    terms: list[PassageTerms] | None
    """The terms of each chunk, of all texts in order; None: the job did not want them."""
    stated: Stated = NOTHING_STATED
    """What the document states of itself; nothing where it was read before."""
    left_out: str = ""
    """What of it was not read; empty where it was read before."""


class Refused(msgspec.Struct, tag=True, frozen=True):
    """Why the file cannot be read, as the end of the sentence 'the file …'."""

    reason: str
    kind: Literal["unreadable", "limit"]
    """Names the error that the app raises."""


class Done(msgspec.Struct, tag=True, frozen=True):
    """What the function returned."""

    result: msgspec.Raw


type Reply = Done | Refused
