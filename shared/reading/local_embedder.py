"""Vectors of texts made on this machine, in processes with limits: what `EMBEDDINGS=local` chooses."""

import asyncio
import os
from array import array
from collections.abc import Sequence
from itertools import batched

from shared.errors import Unavailable
from shared.reading import UnreadableError
from shared.reading.limits import MAX_EMBEDDING_MEMORY_BYTES, MAX_EMBEDDING_SECONDS
from shared.reading.sandbox import Sandbox

DIMENSIONS = 384
"""Numbers in a vector."""
_TEXTS_AT_ONCE = 8
"""Texts that one process embeds."""
_FAILED = (
    f"EMBEDDINGS=local has made no vectors within {MAX_EMBEDDING_SECONDS:.0f} seconds, or its process has ended. Try "
    "again. If it stays so, this machine is too busy, or has a processor without AVX2: set EMBEDDINGS to off."
)


class LocalEmbedder:
    """An `Embedder` by a model that comes with the package of the extra `embeddings`."""

    model = "multilingual-e5-small-q4-parts"
    """Name of the model. Vectors of different models cannot be compared."""
    part_size = 250
    """Characters of a part: of a whole passage a small model keeps its subject, and loses most of what it says."""

    def __init__(self) -> None:
        self._sandbox = Sandbox(
            readers=os.process_cpu_count() or 1, memory=MAX_EMBEDDING_MEMORY_BYTES, seconds=MAX_EMBEDDING_SECONDS
        )

    async def embed(self, texts: Sequence[str], *, questions: bool = False) -> list[list[float]]:
        """See `Embedder.embed`."""
        try:
            async with asyncio.TaskGroup() as group:
                calls = [
                    group.create_task(self._sandbox.embed([_encodable(text) for text in batch], questions=questions))
                    for batch in batched(texts, _TEXTS_AT_ONCE, strict=False)
                ]
        except* (UnreadableError, Unavailable):
            raise Unavailable(_FAILED) from None
        numbers = array("f", b"".join(call.result() for call in calls))
        return [list(vector) for vector in batched(numbers, DIMENSIONS, strict=True)]

    async def aclose(self) -> None:
        """Do nothing: each process has ended with its texts."""


def _encodable(text: str) -> str:
    """A text without halves of characters, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
