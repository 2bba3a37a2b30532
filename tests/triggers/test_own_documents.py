"""Documents that people have added for themselves go when they are old, and only these."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shared.chat_types import Caller
from shared.documents import Rights
from shared.documents.own import folder_of
from shared.ingestion.changes import write
from shared.ingestion.document import Target
from shared.triggers.own_documents import tidy
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
