"""A listing of documents and what the index has, side by side in a temporary file: neither has to fit into memory.

SQLite brings them together, since services do not list in one order: an index of Azure AI Search cannot sort by names,
and a container has an order of its own.
"""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from itertools import chain
from typing import Any

from shared.documents.own import PEOPLE
from shared.errors import Unavailable
from shared.ingestion import FileReport, Outcome
from shared.ingestion.document import Origin
from shared.retrieval import PassageIndex

_TOGETHER = 500
"""Names in memory at a time."""
_TABLES = """
PRAGMA cache_size = -1024; -- KiB
PRAGMA journal_mode = OFF;
-- `listed`: NULL for what the listing has not, empty where nothing is to be done, else the path of a file.
CREATE TABLE documents (name TEXT PRIMARY KEY, known TEXT, is_stored INT, listed BLOB, size INT) WITHOUT ROWID;
CREATE VIEW gone AS SELECT name, known FROM documents WHERE listed IS NULL;
CREATE VIEW to_do AS SELECT * FROM documents WHERE length(listed) > 0;
CREATE TABLE reports (name TEXT, outcome TEXT, detail TEXT);
"""
_TOTAL = (
    "SELECT (SELECT count(*) FROM reports) + (SELECT count(*) FROM to_do) + "
    "(SELECT count(*) FROM gone WHERE known LIKE ? || ':%')"
)


class Comparison:
    """The names of a listing and of an index. It works in threads, one at a time.

    Args:
        db: The temporary file, empty.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._lock = threading.Lock()

    async def add_index(self, index: PassageIndex) -> None:
        """Add what the index has."""
        async for some in together(index.fingerprints()):
            shared = [one for one in some if not one[0].startswith(PEOPLE)]  # what people add is no part of a listing
            await self.run(partial(self.fill, "known", shared))

    def add_documents(self, listed: Iterable[tuple[str, bool]]) -> None:
        """Add documents of the store, and whether something is to be done for them. Call it in `run`."""
        self.fill("listed", ((name, b"?" if to_do else b"") for name, to_do in listed))

    def report(self, reports: Iterable[FileReport]) -> None:
        """Add reports. Call it in `run`."""
        rows = ((one.name, one.outcome, one.detail) for one in reports)
        self.db.executemany("INSERT INTO reports VALUES (?, ?, ?)", rows)

    def known(self, names: Sequence[str]) -> dict[str, str]:
        """Return the fingerprints that the index has of some documents. Call it in `run`."""
        found = (self.db.execute("SELECT name, known FROM documents WHERE name = ?", (name,)) for name in names)
        return dict(chain.from_iterable(found))

    async def total(self, origin: Origin) -> int:
        """Return the number of reports, of documents of this origin that are gone, and of those to be done."""
        return await self.run(lambda: self.db.execute(_TOTAL, (origin,)).fetchone()[0])

    async def reports(self) -> AsyncGenerator[FileReport]:
        """Yield the reports."""
        async for name, outcome, detail in self.rows("SELECT * FROM reports ORDER BY name"):
            yield FileReport(name, Outcome(outcome), detail)

    async def gone(self, origin: Origin) -> AsyncGenerator[str]:
        """Yield the names that the index has of this origin, and the listing has not."""
        async for (name,) in self.rows("SELECT name FROM gone WHERE known LIKE ? || ':%' ORDER BY name", origin):
            yield name

    async def to_do(self) -> AsyncGenerator[str]:
        """Yield the names of the documents to be done, those that the index has first."""
        async for (name,) in self.rows("SELECT name FROM to_do ORDER BY known IS NULL, name"):
            yield name

    async def run[T](self, work: Callable[[], T]) -> T:
        """Do a part of the work in a thread.

        Raises:
            Unavailable: the temporary file cannot be written.
        """

        def alone() -> T:
            with self._lock:  # the work of a caller that was cancelled may still go on
                return work()

        try:
            return await asyncio.to_thread(alone)
        except sqlite3.Error as fault:
            raise Unavailable(f"A temporary file cannot be used ({fault}). Is there room for it?") from fault

    async def rows(self, query: str, *values: str) -> AsyncGenerator[Sequence[Any]]:
        """Yield the rows of a query."""
        cursor = await self.run(lambda: self.db.execute(query, values))
        while rows := await self.run(lambda: cursor.fetchmany(_TOGETHER)):
            for row in rows:
                yield row

    def fill(self, column: str, values: Iterable[tuple[str, object]]) -> None:
        """Set a column of some documents, by their names."""
        self.db.executemany(
            f"INSERT INTO documents (name, {column}) VALUES (?, ?) "  # noqa: S608 (a column of ours)
            f"ON CONFLICT (name) DO UPDATE SET {column} = excluded.{column}",
            values,
        )


@asynccontextmanager
async def comparing[Kind: Comparison](
    index: PassageIndex, kind: Callable[[sqlite3.Connection], Kind] = Comparison
) -> AsyncGenerator[Kind]:
    """Make a comparison that has what the index has, for a while."""
    db = await asyncio.to_thread(sqlite3.connect, "", check_same_thread=False)  # a file that nobody else sees
    comparison = kind(db)
    try:
        await comparison.run(lambda: db.executescript(_TABLES))
        await comparison.add_index(index)
        yield comparison
    finally:
        await comparison.run(db.close)


async def together[T](found: AsyncGenerator[T]) -> AsyncGenerator[list[T]]:
    """Yield some at a time of what a generator yields, and close it."""
    some: list[T] = []
    async with aclosing(found):
        async for one in found:
            some.append(one)
            if len(some) == _TOGETHER:
                yield some
                some = []
    if some:
        yield some
