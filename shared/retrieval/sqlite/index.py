"""Writes the built-in index: source files with their passages, terms and vectors, in one SQLite file."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import apsw
import msgspec

from shared.chat_types import Passage
from shared.documents.own import PEOPLE
from shared.retrieval import FileEntry
from shared.retrieval.sqlite import file
from shared.retrieval.sqlite.file import EmbeddingInfo
from shared.retrieval.sqlite.passage_terms import context_of, terms_of_file

_OPTIMIZE = "INSERT INTO passage_terms (passage_terms) VALUES ('optimize')"


class SqliteIndex:
    """A `PassageIndex` in one SQLite file. What is written together is one transaction.

    Args:
        path: The SQLite file; it is created with its folder when it is first used.
        embedding_model: Name of the model that makes the vectors for `replace`; None: there are no vectors.
    """

    stores_terms = True  # it ranks by them

    def __init__(self, path: Path, embedding_model: str | None = None) -> None:
        self._path = path
        self._embedding_model = embedding_model
        self._lock = asyncio.Lock()
        self._db: apsw.Connection | None = None
        self._changed = False

    async def fingerprints(self, sourcefile: str | None = None) -> AsyncGenerator[tuple[str, str]]:
        """See `PassageIndex.fingerprints`."""
        query = "SELECT sourcefile, fingerprint FROM files WHERE sourcefile {} ? ORDER BY sourcefile LIMIT 500"
        which, name = query.format(">" if sourcefile is None else "="), sourcefile or ""
        while found := await self._run(partial(_fingerprints, query=which, name=name)):
            for one in found:
                yield one
            if sourcefile is not None:
                return
            name = found[-1][0]

    async def replace(self, *entries: FileEntry) -> None:
        """See `PassageIndex.replace`. All files are replaced, or none. Vectors of images are not stored or searched.

        Vectors of different models or lengths cannot be compared. So the first vectors of another model or length
        delete all earlier ones, and the files that had them have to be written again.
        """
        for entry in entries:
            if entry.vectors is not None and (
                self._embedding_model is None or len(entry.vectors) != len(entry.owners or entry.passages)
            ):
                raise ValueError("vectors need the name of their model, and there must be one a passage or part")
            if entry.terms is not None and len(entry.terms) != len(entry.passages):
                raise ValueError("there must be the terms of each passage")

        def work(db: apsw.Connection) -> None:
            for entry in entries:
                self._replace(db, entry)

        await self._run(work)
        self._changed = True

    async def remove(self, sourcefile: str) -> None:
        """See `PassageIndex.remove`. Of somebody's own document no word stays in the file."""
        await self._run(lambda db: _remove(db, sourcefile), wipes=sourcefile.startswith(PEOPLE))
        self._changed = True

    async def aclose(self) -> None:
        """Optimize the index after changes, so that searches are fast, and close the file."""
        async with self._lock:
            db, self._db = self._db, None
            if db is not None:
                await asyncio.to_thread(_close, db, optimize=self._changed)

    def _replace(self, db: apsw.Connection, entry: FileEntry) -> None:
        _remove(db, entry.sourcefile)
        db.execute(
            "INSERT INTO files (sourcefile, fingerprint, left_out) VALUES (?, ?, ?)",
            (entry.sourcefile, entry.fingerprint, entry.left_out),
        )
        rowids = _add(db, entry.sourcefile, entry.passages)
        terms = entry.terms
        if terms is None:
            terms = terms_of_file(
                [(one.whole, context_of(entry.sourcefile, one.title, one.headings)) for one in entry.passages]
            )
        file.add_terms(db, zip(rowids, terms, strict=True))
        if entry.vectors and self._embedding_model is not None:
            _create_vector_table(db, EmbeddingInfo(self._embedding_model, len(entry.vectors[0])))
            owners = rowids if entry.owners is None else [rowids[place] for place in entry.owners]
            _add_vectors(db, owners, entry.vectors)
        elif file.embedding_info(db) and db.execute("SELECT rowid FROM passage_vectors LIMIT 1").fetchone() is None:
            _drop_vectors(db)  # so that the index no longer states a model

    async def _run[T](self, work: Callable[[apsw.Connection], T], *, wipes: bool = False) -> T:
        async with self._lock:
            # A caller that is cancelled, however often, must not free the connection while the thread still writes.
            thread = asyncio.get_running_loop().run_in_executor(None, self._transact, work, wipes)
            try:
                return await asyncio.shield(thread)
            except asyncio.CancelledError:
                while not thread.done():
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait([thread])
                raise

    def _transact[T](self, work: Callable[[apsw.Connection], T], wipes: bool) -> T:
        if self._db is None:
            self._db = file.open_for_writing(self._path)
        with file.transaction(self._db, "IMMEDIATE"):
            done = work(self._db)
        if wipes:
            with file.translated():  # the terms of what is deleted stay until then, and the log keeps all that was
                self._db.execute(f"{_OPTIMIZE}; PRAGMA wal_checkpoint(TRUNCATE)")
        return done


def _fingerprints(db: apsw.Connection, query: str, name: str) -> list[tuple[str, str]]:
    return msgspec.convert(db.execute(query, (name,)).fetchall(), list[tuple[str, str]])


def _remove(db: apsw.Connection, sourcefile: str) -> None:
    rowids = [row[0] for row in db.execute("SELECT rowid FROM passages WHERE sourcefile = ?", (sourcefile,))]
    parts = [db.execute("SELECT rowid FROM vector_parts WHERE passage = ?", (rowid,)).fetchall() for rowid in rowids]
    removed = {"stemmed": rowids, "passages": rowids, "vector_parts": [row[0] for of_one in parts for row in of_one]}
    if file.embedding_info(db):
        removed["passage_vectors"] = removed["vector_parts"]
    for table, rows in removed.items():
        db.executemany(f"DELETE FROM {table} WHERE rowid = ?", [(rowid,) for rowid in rows])  # noqa: S608 (ours)
    db.execute("DELETE FROM files WHERE sourcefile = ?", (sourcefile,))


def _add(db: apsw.Connection, sourcefile: str, passages: Sequence[Passage]) -> list[int]:
    """Add passages, and return their row ids."""
    rows = (
        [
            msgspec.json.encode(value).decode() if name in file.LISTS else value
            for name in file.COLUMNS
            for value in (sourcefile if name == "sourcefile" else getattr(passage, name),)
        ]
        for passage in passages
    )
    marks = ", ".join("?" for _ in file.COLUMNS)
    added = db.executemany(
        f"INSERT INTO passages ({', '.join(file.COLUMNS)}) VALUES ({marks}) RETURNING rowid",  # noqa: S608 (ours)
        rows,
    )
    return [row[0] for row in added]


def _create_vector_table(db: apsw.Connection, wanted: EmbeddingInfo) -> None:
    if file.embedding_info(db) == wanted:
        return
    _drop_vectors(db)
    db.execute("INSERT INTO embedding (model, dimensions) VALUES (?, ?)", wanted)
    db.execute(
        f"CREATE VIRTUAL TABLE passage_vectors USING vec0(embedding FLOAT[{wanted.dimensions}] distance_metric=cosine)"
    )


def _drop_vectors(db: apsw.Connection) -> None:
    db.execute("DROP TABLE IF EXISTS passage_vectors; DELETE FROM embedding; DELETE FROM vector_parts")


def _add_vectors(db: apsw.Connection, owners: Sequence[int], vectors: Sequence[Sequence[float]]) -> None:
    blobs = [
        (owner, blob)
        for owner, vector in zip(owners, vectors, strict=True)
        if (blob := file.vector_blob(vector)) is not None
    ]
    added = db.executemany(
        "INSERT INTO vector_parts (passage) VALUES (?) RETURNING rowid", [(owner,) for owner, _ in blobs]
    )
    rows = [(row[0], blob) for row, (_, blob) in zip(added, blobs, strict=True)]
    db.executemany("INSERT INTO passage_vectors (rowid, embedding) VALUES (?, ?)", rows)


def _close(db: apsw.Connection, *, optimize: bool) -> None:
    with file.translated():
        try:
            if optimize:
                db.execute(f"{_OPTIMIZE}; PRAGMA optimize")
        finally:
            db.close()
