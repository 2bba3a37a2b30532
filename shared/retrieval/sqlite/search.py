"""SQL queries on the built-in index. Values from requests are always bound, never part of the SQL."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote

import apsw
import msgspec

from shared.chat_types import Access, Extent, Passage
from shared.documents.own import PEOPLE
from shared.retrieval import MOST_READ, SearchQuery, words_in_name
from shared.retrieval.sqlite import ranking
from shared.retrieval.sqlite.file import COLUMNS, LISTS, vector_blob
from shared.retrieval.sqlite.ranking import AskedWord
from shared.words.stop_words import STOP_WORDS, language_of, languages_of, stop_words_in
from shared.words.terms import MOST_MISSPELT, head_of, one_letter_off
from shared.words.terms import words as words_of

_UNSEEN = 80
"""Passages without any word of the question that are added to those of the index to compute how rare words are.
Else, in an index of one passage, a word that it lacks would weigh several times as much as one that it has."""
_SAMPLED = 200
"""Number of vectors by which it is estimated how close an average passage is."""
_PARTS_EACH, _LEAST_PARTS = 4, 200
"""Vectors to look at for each passage that is wanted, as passages have several, and in all."""
_MOST_TITLES, _MOST_FILES = 6, 20
"""Titles to return, and files to look at for them: the rights of each have to be checked."""

type Ranking = Sequence[tuple[int, float]]
"""Row ids with their scores, best first."""


class RankedByText(NamedTuple):
    """What a search by text finds."""

    ranking: Ranking = ()
    """The passages."""
    rarities: Mapping[str, float] = {}
    """The inverse document frequency of each word of the query, by its spelling, among the passages of its language."""
    foreign: str | None = None
    """The language of the query, if next to no passage is in it."""
    languages: tuple[str, ...] = ()
    """Those of the index, if the query's is foreign or may be: nothing tells it, and nothing was found."""


def rank_by_text(db: apsw.Connection, query: SearchQuery, limit: int) -> RankedByText:
    """Find the passages that contain words of the query, ranked by `ranked`. Scores are above 0.

    Of equal scores, the passage that was indexed first comes first.
    """
    sizes = msgspec.convert(db.execute(_LANGUAGES).fetchall(), list[tuple[str, int, int]])
    languages = [language for language, _, _ in sizes]
    total = max(sum(passages for _, passages, _ in sizes), 1)
    typed = ranking.asked_words(query.text, languages)
    _correct(db, words := [*typed], languages, counts := _counts(db, typed))
    asked = ranking.weighed(words, counts, total)
    least = max(ranking.CANDIDATES_EACH * limit, ranking.LEAST_CANDIDATES)
    condition, values = _filter(query)
    found = ranking.candidates(asked, partial(_holders, db), math.inf if condition else least)
    rowids: Sequence[int] = list(found.scores)
    if condition:
        best_first = sorted(found.scores, key=found.scores.__getitem__, reverse=True)
        rowids = _first_of(db, best_first, condition, values, least)
    rows = db.execute(
        f"SELECT rowid, terms, context FROM stemmed WHERE rowid IN {_LISTED}",  # noqa: S608 (ours)
        {"rowids": _json(rowids)},
    )
    passages = msgspec.convert(rows.fetchall(), list[tuple[int, bytes, bytes]])
    best = ranking.ranked(passages, found, asked, sum(length for _, _, length in sizes) / total, limit)
    # Among many languages every word of one is rare, and those that say little would count as much as the subject.
    own = language_of(query.text[: ranking.LONGEST_TEXT], languages)
    among = next((passages for language, passages, _ in sizes if language == own), total)
    rarities = {word.spelling: ranking.rarity_of(word, counts, among + _UNSEEN) for word in words}
    spoken = {language for language, passages, _ in sizes if passages >= _SPOKEN_SHARE * total}
    asked_in = languages_of(query.text[: ranking.LONGEST_TEXT])
    says_something = asked_in and any(word.spelling not in STOP_WORDS[asked_in[0]] for word in typed)  # `hi` is Catalan
    is_foreign = says_something and spoken and spoken.isdisjoint(asked_in) and not _is_known(query.text, typed, counts)
    may_be = is_foreign or not (best or asked_in or query.text.isascii())  # languages without spaces have no stop words
    return RankedByText(best, rarities, asked_in[0] if is_foreign else None, tuple(languages if may_be else ()))


def _is_known(text: str, words: Sequence[AskedWord], counts: Mapping[str, int]) -> bool:
    """Whether the index has most words of a text with one stop word: `care` is Romanian, `dental care` is not."""
    known = sum(any(term in counts for term in word.terms) for word in words)
    return max(stop_words_in(words_of(text[: ranking.LONGEST_TEXT])).values()) == 1 and 2 * known > len(words)


_SPOKEN_SHARE = 0.02
"""The share of passages that an index has in each of its languages. Of fewer, the language may be a mistake."""
_LANGUAGES = "SELECT language, passages, terms FROM languages WHERE passages > 0 ORDER BY passages DESC, language"
_LISTED = "(SELECT value FROM json_each(:rowids))"


def _json(values: Sequence[int] | Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()


def _correct(db: apsw.Connection, words: list[AskedWord], languages: Sequence[str], counts: dict[str, int]) -> None:
    """Let each of the first words that no passage has stand for the most frequent one that is one letter off."""
    unknown = [place for place, word in enumerate(words) if counts.keys().isdisjoint(word.terms)]
    for place in unknown[:MOST_MISSPELT]:
        spelling = words[place].spelling
        near = [AskedWord(spelling, terms, head_of(one)) for one, terms in one_letter_off(spelling, languages)]
        there = _counts(db, near)
        meant = max(near, key=lambda one: max(there.get(term, 0) for term in one.terms), default=words[place])
        if not there.keys().isdisjoint(meant.terms):
            counts |= there
            words[place] = meant


def _counts(db: apsw.Connection, words: Sequence[AskedWord]) -> dict[str, int]:
    """The number of passages that have each of the words' terms, if any has."""
    rows = db.execute(
        "SELECT term, doc FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))",
        (_json([term for word in words for term in word.every]),),
    )
    return dict(msgspec.convert(rows.fetchall(), list[tuple[str, int]]))


_decode_rowids = msgspec.json.Decoder(list[int]).decode


def _holders(db: apsw.Connection, phrase: str) -> list[int]:
    """The passages that an FTS5 query finds. As one string of JSON they come in a third of the time of rows."""
    found = db.execute("SELECT json_group_array(rowid) FROM passage_terms WHERE passage_terms MATCH ?", (phrase,))
    return _decode_rowids(found.get)


def _first_of(
    db: apsw.Connection, rowids: Sequence[int], condition: str, values: Mapping[str, str | None], least: int
) -> list[int]:
    """The first `least` passages that meet a condition. So it is seldom checked, as it takes longer than the search."""
    found: list[int] = []
    start, size = 0, least
    while start < len(rowids) and len(found) < least:
        bound = {**values, "rowids": _json(rowids[start : start + size])}
        rows = db.execute(f"SELECT rowid FROM passages WHERE rowid IN {_LISTED} {condition}", bound)  # noqa: S608 (ours)
        found += [row[0] for row in rows]
        start, size = start + size, 2 * size
    return found


def rank_by_vector(db: apsw.Connection, query: SearchQuery, vector: Sequence[float], limit: int) -> Ranking:
    """Find the passages with the most similar vectors. The score is the cosine of its best part, -1 to 1."""
    blob = vector_blob(vector)
    if blob is None:
        return ()
    condition, values = _filter(query)
    allowed = f"SELECT rowid FROM passages WHERE TRUE {condition}"  # noqa: S608 (ours)
    parts = f"SELECT rowid FROM vector_parts WHERE passage IN ({allowed})"  # noqa: S608 (ours)
    among = f"AND rowid IN ({parts})" if condition else ""
    rows = db.execute(
        "SELECT passage, 1 - distance FROM (SELECT rowid, distance FROM passage_vectors "  # noqa: S608 (ours)
        f"WHERE embedding MATCH :vector AND k = :limit {among}) JOIN vector_parts USING (rowid) ORDER BY distance",
        {**values, "vector": blob, "limit": max(_PARTS_EACH * limit, _LEAST_PARTS)},
    )
    best = dict(reversed(msgspec.convert(rows.fetchall(), list[tuple[int, float]])))
    return sorted(best.items(), key=lambda one: -one[1])[:limit]


def closeness_of(db: apsw.Connection, vector: Sequence[float], passages: Sequence[int]) -> dict[int, list[float]]:
    """Return how close each part of some passages is: 0 is as close as an average part of others, 1 the same vector.

    A cosine alone does not say it: each model uses a narrow range of its own, and each language a part of that range.
    """
    newest = db.execute("SELECT max(rowid) FROM vector_parts").get or 0
    bound = {"vector": vector_blob(vector), "passages": _json(passages), "nearest": passages[0] if passages else 0}
    average: float = db.execute(
        "SELECT ifnull(avg(1 - vec_distance_cosine(embedding, :vector)), 1) FROM passage_vectors "  # noqa: S608 (ours)
        f"WHERE rowid IN {_LISTED} AND rowid NOT IN (SELECT rowid FROM vector_parts WHERE passage = :nearest)",
        {**bound, "rowids": _json(list(range(1, newest + 1, newest // _SAMPLED + 1)))},
    ).get
    rows = db.execute(
        "SELECT passage, 1 - vec_distance_cosine(embedding, :vector) FROM vector_parts JOIN passage_vectors "
        "USING (rowid) WHERE passage IN (SELECT value FROM json_each(:passages)) ORDER BY rowid",
        bound,
    )
    found: dict[int, list[float]] = {}
    for passage, cosine in msgspec.convert(rows.fetchall() if average < 1 else [], list[tuple[int, float]]):
        found.setdefault(passage, []).append((cosine - average) / (1 - average))
    return found


def load_passages(
    db: apsw.Connection, ranking: Ranking, others: Mapping[int, Mapping[str, object]] = MappingProxyType({})
) -> tuple[Passage, ...]:
    """Load the passages of a ranking, in its order, with what else is known of some as further fields.

    One that was replaced since then is left out.
    """
    rows = db.execute(
        f"SELECT rowid, {', '.join(COLUMNS)} FROM passages "  # noqa: S608 (ours)
        f"WHERE rowid IN {_LISTED}",
        {"rowids": _json([rowid for rowid, _ in ranking])},
    )
    found = {row[0]: row for row in rows}
    return tuple(_passage(found[rowid], score, others.get(rowid, {})) for rowid, score in ranking if rowid in found)


def titles_in(db: apsw.Connection, access: Access | None) -> tuple[str, ...]:
    """Read titles of the first documents that `access` allows, or their names."""
    condition, values = _visible(access) if access else ("TRUE", {})
    rows = db.execute(
        "SELECT sourcefile, (SELECT title FROM passages "  # noqa: S608 (the parts are ours)
        f"WHERE passages.sourcefile = some.sourcefile AND {condition} LIMIT 1) AS title "
        "FROM (SELECT sourcefile FROM files LIMIT :most) AS some WHERE title IS NOT NULL",
        {**values, "most": _MOST_FILES},
    )
    found = msgspec.convert(rows.fetchall(), list[tuple[str, str]])
    return tuple(dict.fromkeys(title or words_in_name(name) for name, title in found))[:_MOST_TITLES]


def is_visible(db: apsw.Connection, document: str, access: Access) -> bool:
    """Check whether `access` allows a passage of this file."""
    condition, values = _visible(access)
    found = db.execute(
        f"SELECT 1 FROM passages WHERE sourcefile = :document AND {condition} LIMIT 1",  # noqa: S608 (the parts are ours)
        {**values, "document": document},
    )
    return found.fetchone() is not None


def extent_of(db: apsw.Connection, sourcefile: str, access: Access | None) -> Extent | None:
    """Count the passages of a file that `access` allows, and the pages that they are on."""
    condition, values = _visible(access) if access else ("TRUE", {})
    row = db.execute(
        "SELECT count(*), count(DISTINCT sourcepage), (SELECT left_out FROM files WHERE sourcefile = :sourcefile) "  # noqa: S608 (ours)
        f"FROM passages WHERE sourcefile = :sourcefile AND {condition}",
        {**values, "sourcefile": sourcefile},
    ).fetchone()
    passages, pages, left_out = msgspec.convert(row, tuple[int, int, str | None])
    return Extent(passages, pages, left_out or "") if passages else None


def passages_of(db: apsw.Connection, document: str, access: Access | None) -> list[Passage]:
    """Read the passages with this `sourcepage` or `sourcefile` that `access` allows, in the order of the text."""
    condition, values = _visible(access) if access else ("TRUE", {})
    # A `sourcepage` begins with the escaped path of its file, and only `sourcefile` has an index.
    rows = db.execute(
        f"SELECT rowid, {', '.join(COLUMNS)} FROM passages "  # noqa: S608 (ours)
        "WHERE sourcefile IN (:document, :file) AND (sourcefile = :document OR sourcepage = :document) "
        f"AND {condition} ORDER BY rowid LIMIT :limit",
        {**values, "document": document, "file": unquote(document.partition("#")[0]), "limit": MOST_READ},
    )
    return [_passage(row, None) for row in rows]


def _passage(
    row: Sequence[object], score: float | None, others: Mapping[str, object] = MappingProxyType({})
) -> Passage:
    """Make a passage of its row id and columns."""
    values = dict(zip(COLUMNS, row[1:], strict=True))
    lists = {name: msgspec.json.decode(str(values[name])) for name in LISTS}
    return msgspec.convert({**values, **lists, "score": score, **others}, Passage)


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
    shared, values = ("TRUE", dict[str, str]()) if access.all_shared else _visible_shared(access)
    condition = f"(sourcefile NOT GLOB :people AND {shared})"
    values |= {"people": f"{PEOPLE}*"}
    if access.own:
        condition = f"({condition} OR sourcefile GLOB :own)"
        values |= {"own": f"{access.own}*"}
    return condition, {**values}


def _visible_shared(access: Access) -> tuple[str, dict[str, str]]:
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
