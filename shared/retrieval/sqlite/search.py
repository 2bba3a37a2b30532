"""SQL queries on the built-in index. Values from requests are always bound, never part of the SQL."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

import apsw
import msgspec

from shared.chat_types import Access, Passage
from shared.retrieval import MOST_READ, SearchQuery
from shared.retrieval.sqlite.file import vector_blob
from shared.retrieval.sqlite.ranking import MOST_CANDIDATES, AskedWord, asked_words, match_expression, ranked

type Ranking = Sequence[tuple[int, float]]
"""Row ids with their scores, best first."""


def rank_by_text(db: apsw.Connection, query: SearchQuery, limit: int) -> Ranking:
    """Find the passages that contain words of the query, ranked by `ranked`. Scores are above 0.

    Of equal scores, the passage that was indexed first comes first.
    """
    sizes = msgspec.convert(db.execute(_LANGUAGES).fetchall(), list[tuple[str, int, int]])
    asked = asked_words(query.text, [language for language, _, _ in sizes])
    if not asked:
        return ()
    condition, values = _filter(query)
    source = "passage_terms JOIN passages ON passages.rowid = passage_terms.rowid" if condition else "passage_terms"
    # For `ORDER BY rank` FTS5 sorts all matches; for an expression SQLite keeps only the best, in half the time.
    best = (
        f"SELECT passage_terms.rowid FROM {source} WHERE passage_terms MATCH :match {condition} "  # noqa: S608 (ours)
        "ORDER BY +rank, passage_terms.rowid LIMIT :limit"
    )
    rows = db.execute(
        f"SELECT rowid, terms FROM stemmed WHERE rowid IN ({best})",  # noqa: S608 (ours)
        {**values, "match": match_expression(asked), "limit": max(limit, MOST_CANDIDATES)},
    )
    found = dict(msgspec.convert(rows.fetchall(), list[tuple[int, str]]))
    total = sum(passages for _, passages, _ in sizes)
    mean_length = sum(characters for _, _, characters in sizes) / max(total, 1)
    return ranked(found, asked, _counts(db, asked), total, mean_length)[:limit] if found else ()


_LANGUAGES = "SELECT language, passages, characters FROM languages WHERE passages > 0 ORDER BY passages DESC, language"


def _counts(db: apsw.Connection, asked: Sequence[AskedWord]) -> dict[str, int]:
    """The number of passages that have each term, and each prefix followed by `*`."""
    terms = [term for word in asked for term in word.terms]
    rows = db.execute(
        "SELECT term, doc FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode(terms).decode(),),
    )
    found = dict.fromkeys(terms, 0) | dict(msgspec.convert(rows.fetchall(), list[tuple[str, int]]))
    for prefix in {word.prefix for word in asked if word.prefix}:
        row = db.execute(
            "SELECT total(doc) FROM vocabulary WHERE term >= ?1 AND term < ?1 || char(0x10ffff)", (prefix,)
        ).fetchone()
        found[f"{prefix}*"] = int(row[0]) if row else 0
    return found


def rank_by_vector(db: apsw.Connection, query: SearchQuery, vector: Sequence[float], limit: int) -> Ranking:
    """Find the passages with the most similar vectors. The score is the cosine, -1 to 1."""
    blob = vector_blob(vector)
    if blob is None:
        return ()
    condition, values = _filter(query)
    among = f"AND rowid IN (SELECT rowid FROM passages WHERE TRUE {condition})" if condition else ""  # noqa: S608
    rows = db.execute(
        "SELECT rowid, 1 - distance FROM passage_vectors "  # noqa: S608 (the parts are ours)
        f"WHERE embedding MATCH :vector AND k = :limit {among} ORDER BY distance",
        {**values, "vector": blob, "limit": limit},
    )
    return msgspec.convert(rows.fetchall(), list[tuple[int, float]])


def load_passages(db: apsw.Connection, ranking: Ranking) -> tuple[Passage, ...]:
    """Load the passages of a ranking, in its order. One that was replaced since then is left out."""
    rows = db.execute(
        "SELECT rowid, id, content, sourcepage, sourcefile, category, oids, groups FROM passages "
        "WHERE rowid IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode([rowid for rowid, _ in ranking]).decode(),),
    )
    found = {row.rowid: row for row in msgspec.convert(rows.fetchall(), list[_Row])}
    return tuple(_passage(found[rowid], score) for rowid, score in ranking if rowid in found)


def is_visible(db: apsw.Connection, document: str, access: Access) -> bool:
    """Check whether `access` allows a passage of this file."""
    condition, values = _visible(access)
    found = db.execute(
        f"SELECT 1 FROM passages WHERE sourcefile = :document AND {condition} LIMIT 1",  # noqa: S608 (the parts are ours)
        {**values, "document": document},
    )
    return found.fetchone() is not None


def passages_of(db: apsw.Connection, document: str, access: Access | None) -> list[Passage]:
    """Read the passages with this `sourcepage` or `sourcefile` that `access` allows, in the order of the text."""
    condition, values = _visible(access) if access else ("TRUE", {})
    # A `sourcepage` begins with the escaped path of its file, and only `sourcefile` has an index.
    rows = db.execute(
        "SELECT rowid, id, content, sourcepage, sourcefile, category, oids, groups FROM passages "  # noqa: S608 (ours)
        "WHERE sourcefile IN (:document, :file) AND (sourcefile = :document OR sourcepage = :document) "
        f"AND {condition} ORDER BY rowid LIMIT :limit",
        {**values, "document": document, "file": unquote(document.partition("#")[0]), "limit": MOST_READ},
    )
    return [_passage(row, None) for row in msgspec.convert(rows.fetchall(), list[_Row])]


class _Row(NamedTuple):
    rowid: int
    id: str
    content: str
    sourcepage: str
    sourcefile: str
    category: str | None
    oids: str
    groups: str


def _passage(row: _Row, score: float | None) -> Passage:
    return Passage(
        id=row.id,
        content=row.content,
        sourcepage=row.sourcepage,
        sourcefile=row.sourcefile,
        category=row.category,
        oids=msgspec.json.decode(row.oids, type=tuple[str, ...]),
        groups=msgspec.json.decode(row.groups, type=tuple[str, ...]),
        score=score,
    )


def _filter(query: SearchQuery) -> tuple[str, dict[str, str | None]]:
    """The query's filters as conditions on `passages`, each after an `AND`, and the values to bind."""
    conditions = ""
    values: dict[str, str | None] = {}
    if query.include_category is not None:
        conditions += "AND category = :include "
        values["include"] = query.include_category
    if query.exclude_category is not None:
        conditions += "AND category IS NOT :exclude "
        values["exclude"] = query.exclude_category
    if query.access:
        condition, who = _visible(query.access)
        conditions += f"AND {condition} "
        values |= who
    return conditions, values


def _visible(access: Access) -> tuple[str, dict[str, str | None]]:
    """The condition that `access` allows a passage, and the values to bind."""
    ways = [
        "EXISTS (SELECT 1 FROM json_each(passages.oids) JOIN json_each(:oids) AS own USING (value))",
        "EXISTS (SELECT 1 FROM json_each(passages.groups) JOIN json_each(:groups) AS own USING (value))",
    ]
    if access.open_documents:
        ways.append("(oids = '[]' AND groups = '[]')")
    return f"({' OR '.join(ways)})", {
        "oids": msgspec.json.encode(access.named_oids).decode(),
        "groups": msgspec.json.encode(access.named_groups).decode(),
    }
