"""The built-in search among up to 100,000 passages, against a plain FTS5 table with the `porter` tokenizer.

Plain means: FTS5 ranks by its `bm25()`, the words of the question are ready, the connection is open, and nothing but
the rows comes back. Both run in threads, since neither may block the event loop. The indexes are made anew, in a
minute.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import batched, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import apsw

from bench.passages import fill, questions
from bench.rounds import Comparison, by_turns
from shared.chat_types import RequestContext
from shared.retrieval import SearchQuery
from shared.retrieval.sqlite.index import SqliteIndex
from shared.retrieval.sqlite.retriever import SqliteRetriever
from shared.words.stop_words import STOP_WORDS
from shared.words.terms import spelled, words

SIZES = (1_000, 10_000, 100_000)
_ROUNDS = 7
_AT_ONCE = (1, 16)
_QUESTIONS = list(islice(questions(), 64))
_TOP = 3
_PLAIN = """
ATTACH ? AS ours;
CREATE VIRTUAL TABLE plain USING fts5 (content, tokenize = 'porter');
INSERT INTO plain (rowid, content) SELECT rowid, content FROM ours.passages;
INSERT INTO plain (plain) VALUES ('optimize');
DETACH ours
"""
_STATEMENT = f"SELECT content, rank FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT {_TOP}"  # noqa: S608 (ours)

type Search = Callable[[str], Awaitable[object]]


class PlainSearch:
    """Full-text search without the app: a connection for each search at a time, and a statement.

    Args:
        path: The built-in index, whose passages are copied into a file beside it.
    """

    def __init__(self, path: Path) -> None:
        plain = f"{path}.plain"
        self._idle = [apsw.Connection(plain) for _ in range(max(_AT_ONCE))]
        self._idle[0].execute(_PLAIN, (str(path),))
        self._words = {question: _any_of(question) for question in _QUESTIONS}

    async def __call__(self, question: str) -> object:
        """The rows."""
        return await asyncio.to_thread(self._rows, question)

    def close(self) -> None:
        """Close the connections."""
        for db in self._idle:
            db.close()

    def _rows(self, question: str) -> object:
        db = self._idle.pop()
        try:
            return db.execute(_STATEMENT, (self._words[question],)).fetchall()
        finally:
            self._idle.append(db)


async def report() -> list[Comparison]:
    """Compare for each size and number of searches at once; then ours by size."""
    with TemporaryDirectory() as folder:
        return await compare(Path(folder), SIZES, _ROUNDS)


async def compare(folder: Path, sizes: tuple[int, ...], rounds: int) -> list[Comparison]:
    """Make an index of each size in a folder, and search it."""
    comparisons: list[Comparison] = []
    by_size: dict[str, list[float]] = {}
    for size in sizes:
        path = folder / f"{size}.sqlite"
        index = SqliteIndex(path)
        await fill(index, size)
        await index.aclose()
        retriever, plain = SqliteRetriever(path, None), PlainSearch(path)
        searches: dict[str, Search] = {"ours": partial(_search, retriever), "plain FTS5": plain}
        for at_once in _AT_ONCE:
            measures = {name: partial(_milliseconds, search, at_once) for name, search in searches.items()}
            values = await by_turns(measures, rounds)
            what = f"A search among {size:,} passages, {at_once} at once"
            comparisons.append(Comparison(what, "milliseconds", values, ("plain FTS5",)))
            if at_once == 1:
                by_size[f"{size:,} passages"] = values["ours"]
        await retriever.aclose()
        plain.close()
    return [*comparisons, Comparison("Growth of our search", "milliseconds", by_size, (next(iter(by_size)),))]


def _any_of(question: str) -> str:
    """The FTS5 query for passages with any of the words of a question but its stop words."""
    return " OR ".join(f'"{word}"' for word in words(question) if spelled(word) not in STOP_WORDS["en"])


async def _search(retriever: SqliteRetriever, question: str) -> object:
    context = RequestContext("bench", asyncio.get_running_loop().time() + 60)
    return await retriever.search(SearchQuery(question, top=_TOP), context)


async def _milliseconds(search: Search, at_once: int) -> float:
    """The median of what each search takes when so many run at the same time."""
    times: list[float] = []
    loop = asyncio.get_running_loop()

    async def timed(question: str) -> None:
        begun = loop.time()
        await search(question)
        times.append(loop.time() - begun)

    for together in batched(_QUESTIONS, at_once, strict=False):
        await asyncio.gather(*map(timed, together))
    return median(times) * 1000
