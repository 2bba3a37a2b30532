"""Vectors for the passages of a file, in batches and several batches at a time."""

import asyncio
from collections.abc import Sequence
from itertools import batched, chain

from shared.chat_types import Passage
from shared.errors import SwitchboardError
from shared.retrieval import Embedder

_BATCH = 64
"""Texts a call: with 500 tokens each well below what services accept at once."""
_AT_ONCE = 4
"""Calls at the same time."""


async def embed_passages(embedder: Embedder, passages: Sequence[Passage]) -> list[list[float]]:
    """One vector a passage, in order.

    Raises:
        SwitchboardError: the first fault of the embedder; the other calls are cancelled.
    """
    turns = asyncio.Semaphore(_AT_ONCE)

    async def embed(batch: Sequence[Passage]) -> list[list[float]]:
        async with turns:
            return await embedder.embed([passage.content for passage in batch])

    try:
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(embed(batch)) for batch in batched(passages, _BATCH, strict=False)]
    except* SwitchboardError as faults:
        raise _first(faults) from None
    return list(chain.from_iterable(call.result() for call in calls))


def _first(faults: ExceptionGroup[SwitchboardError]) -> SwitchboardError:
    first = faults.exceptions[0]
    return _first(first) if isinstance(first, ExceptionGroup) else first
