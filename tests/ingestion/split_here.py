"""Documents to passages in this process, as ingestion makes them."""

from collections.abc import Sequence

from shared.chat_types import Passage
from shared.documents import Rights
from shared.ingestion.passages import MAX_PASSAGES, passages_of
from shared.reading import Page
from shared.reading.chunks import chunks_of, title_of


def split(sourcefile: str, pages: Sequence[Page], limit: int = MAX_PASSAGES) -> list[Passage]:
    """The passages of a document with these pages."""
    texts = [page.text for page in pages]
    numbers = (page.number for page in pages)
    return passages_of(sourcefile, title_of(texts), numbers, chunks_of(texts, limit), Rights())
