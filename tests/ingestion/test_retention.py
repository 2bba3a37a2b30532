"""Documents that people have added for themselves go when they are old, and only these."""

import asyncio
import errno
import hashlib
import os
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from shared.chat_types import Caller
from shared.documents import PENDING, Rights
from shared.documents.own import folder_of
from shared.ingestion.changes import write
from shared.ingestion.document import Target
from shared.ingestion.retention import delete_documents, delete_from_now_on
from shared.runtime.late_imports import Late
from tests.ingestion.memory_index import Workplace

OLD, OLDER, NEW = (f"{folder_of(Caller(key='ada'))}{name}.md" for name in ("old", "older", "new"))
KEPT = timedelta(days=1)


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Workplace]:
    """A store and an index with documents of a person, two of them old, and an old one of all."""
    place = Workplace(tmp_path)
    target = place.target()
    for name in (OLD, OLDER, NEW, "shared.md"):
        await write(name, b"Text.", None, Rights(), target)
    for name in (OLD, OLDER, "shared.md"):
        os.utime(place.content / name, (0, 0))
    yield place


async def target_of(place: Workplace) -> Target:
    return place.target()


async def test_what_a_person_added_before_a_time_is_deleted(place: Workplace) -> None:
    place.write("other.md", "Text.")
    await place.ingest()  # a folder's documents, of which these are none
    await delete_documents(Late(lambda: place.target().documents), partial(target_of, place), datetime.now(UTC) - KEPT)
    assert place.copies() == set(place.index.files) == {NEW, "shared.md", "other.md"}


async def test_a_document_that_cannot_be_deleted_keeps_no_other(place: Workplace) -> None:
    first = min(OLD, OLDER)
    # Where the store would note the rights of the note that it is being deleted.
    pending = f"{PENDING}{hashlib.sha256(first.encode()).hexdigest()}"
    (place.content.parent / "content-rights" / f"{hashlib.sha256(pending.encode()).hexdigest()}.json").mkdir()
    await delete_documents(Late(lambda: place.target().documents), partial(target_of, place), datetime.now(UTC) - KEPT)
    assert place.copies() == {first, NEW, "shared.md"}


async def test_a_fault_that_is_none_of_ours_ends_no_sweep_for_good(place: Workplace) -> None:
    faults = [OSError(errno.EMFILE, "Too many open files")]
    left: list[set[str]] = []

    async def opened() -> Target:
        if faults:
            raise faults.pop()
        return place.target()

    async def an_hour() -> None:
        left.append(await asyncio.to_thread(place.copies))
        if len(left) == 2:
            raise asyncio.CancelledError

    deletion = partial(delete_documents, Late(lambda: place.target().documents), opened)
    with pytest.raises(asyncio.CancelledError):
        await delete_from_now_on([(KEPT.days, deletion)], an_hour)
    assert left == [{OLD, OLDER, NEW, "shared.md"}, {NEW, "shared.md"}]
