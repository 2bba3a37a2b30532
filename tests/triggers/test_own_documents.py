"""Documents that people have added for themselves go when they are old, and only these."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shared.chat_types import Caller
from shared.documents import Rights
from shared.documents.own import folder_of
from shared.errors import TooLarge
from shared.ingestion.changes import write
from shared.ingestion.document import Target
from shared.parts import build_service
from shared.settings import Settings
from shared.triggers.own_documents import MOST_BYTES, Owner, tidy
from tests.ingestion.memory_index import Workplace

OLD, NEW = (f"{folder_of(Caller(key='ada'))}{name}.md" for name in ("old", "new"))


async def test_what_a_person_added_before_a_time_is_deleted(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    target = place.target()
    for name in (OLD, NEW, "shared.md"):
        await write(name, b"Text.", None, Rights(), target)
    for name in (OLD, "shared.md"):
        os.utime(place.content / name, (0, 0))

    async def opened() -> Target:
        return target

    place.write("other.md", "Text.")
    await place.ingest()  # a folder's documents, of which these are none
    await tidy(datetime.now(UTC) - timedelta(days=1), target.documents, opened)
    await place.sandbox.aclose()
    assert place.copies() == set(place.index.files) == {NEW, "shared.md", "other.md"}


async def test_the_documents_of_a_person_have_a_largest_size_together(tmp_path: Path) -> None:
    signed_in = {"AUTH_MODE": "api-key", "API_KEYS": f"ada:{'0' * 64}"}
    settings = Settings.read({"DATA_DIR": str(tmp_path), **signed_in})
    service = await asyncio.to_thread(build_service, settings)
    ada = Owner.of(service, Caller(key="ada"))
    old = tmp_path / "content" / OLD
    old.parent.mkdir(parents=True)
    old.write_bytes(b"Text.")
    assert await ada.replaced(NEW, MOST_BYTES - 5, overwrite=False) is None
    with pytest.raises(TooLarge, match="You may have 100,000,000 bytes of your own"):
        await ada.replaced(NEW, MOST_BYTES - 4, overwrite=False)
