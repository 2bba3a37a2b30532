"""Documents to passages in this process, as ingestion makes them."""

from collections.abc import Sequence
from importlib import import_module

from shared.chat_types import Passage
from shared.documents import Rights
from shared.ingestion.passages import MAX_PASSAGES, passages_of
from shared.reading import Page
from shared.reading.chunks import chunks_of, title_of
from shared.reading.sandbox import Sandbox
from shared.reading.sandbox_messages import WORK


def split(sourcefile: str, pages: Sequence[Page], limit: int = MAX_PASSAGES) -> list[Passage]:
    """The passages of a document with these pages."""
    texts = [page.text for page in pages]
    numbers = (page.number for page in pages)
    return passages_of(sourcefile, title_of(texts), numbers, chunks_of(texts, limit), Rights())


class SandboxHere(Sandbox):
    """Reads in this process, for tests that index small texts many times and are not about how they are read."""

    def __init__(self) -> None:
        super().__init__(readers=1, memory=0, seconds=60)

    async def run[T](self, kind: type[T], work: str, data: bytes, *arguments: object) -> T:  # noqa: ARG002 (it is that)
        """Do some work at once."""
        function = getattr(import_module(WORK[work].module), WORK[work].function)
        return function(data, *arguments)
