"""The built-in search among up to 100,000 passages, against the same statement run by plain `apsw`.

Plain means: the words of the question are ready, the connection is open, and nothing but the rows comes back. Both run
in threads, since neither may block the event loop. The index is made anew, in half a minute.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import batched, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.passages import fill, questions
from bench.rounds import Comparison, by_turns
from shared.chat_types import RequestContext
from shared.retrieval import SearchQuery
from shared.retrieval.sqlite.file import open_for_reading
from shared.retrieval.sqlite.index import SqliteIndex
from shared.retrieval.sqlite.ranking import asked_words, match_expression
from shared.retrieval.sqlite.retriever import SqliteRetriever

SIZES = (1_000, 10_000, 100_000)
_ROUNDS = 7
_AT_ONCE = (1, 16)
_QUESTIONS = list(islice(questions(), 64))
_TOP = 3
_STATEMENT = f"""
WITH best AS (
    SELECT rowid, -rank AS score FROM passage_terms WHERE passage_terms MATCH ? ORDER BY +rank, rowid LIMIT {_TOP}
)
SELECT id, passages.content, sourcepage, sourcefile, category, oids, groups, score
FROM best JOIN passages USING (rowid) ORDER BY score DESC
"""  # noqa: S608 (the number is ours)

type Search = Callable[[str], Awaitable[object]]


class PlainSearch:
    """What the built-in search comes to without the app: a connection for each search at a time, and a statement."""

    def __init__(self, path: Path) -> None:
        self._idle = [open_for_reading(path) for _ in range(max(_AT_ONCE))]
        self._words = {question: match_expression(asked_words(question, ["en"])) for question in _QUESTIONS}

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
        searches: dict[str, Search] = {"ours": partial(_search, retriever), "plain apsw": plain}
        for at_once in _AT_ONCE:
            measures = {name: partial(_milliseconds, search, at_once) for name, search in searches.items()}
            values = await by_turns(measures, rounds)
            what = f"A search among {size:,} passages, {at_once} at once"
            comparisons.append(Comparison(what, "milliseconds", values, ("plain apsw",)))
            if at_once == 1:
                by_size[f"{size:,} passages"] = values["ours"]
        await retriever.aclose()
        plain.close()
    return [*comparisons, Comparison("Growth of our search", "milliseconds", by_size, (next(iter(by_size)),))]


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
