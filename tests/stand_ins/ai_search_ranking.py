"""How the stand-in for Azure AI Search ranks.

As the service does, in small: words by BM25, vectors by cosine, several rankings by reciprocal rank fusion, and the
semantic ranker by how much of the question a text says.

Source: 'Hybrid search scoring (RRF)', 'Semantic ranking in Azure AI Search'.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from shared.chat_types import Json
from tests.stand_ins.ai_search_bodies import SearchBody, TextQuery, VectorQuery
from tests.stand_ins.ai_search_definitions import IndexField, SemanticConfiguration
from tests.stand_ins.ai_search_documents import Document, Index
from tests.stand_ins.ai_search_refusals import invalid_parameter, no_such_field
from tests.stand_ins.ai_search_simple_syntax import Query, parse, terms_of
from tests.stand_ins.hashed_embedder import hashed_vector

_RANKED_BY_MEANING = 50
_RRF = 60
_VECTOR_FIELDS = 10
_NEAREST = 50
"""Of a vector query that does not say how many."""


def ranked(index: Index, asked: SearchBody, keys: Sequence[str]) -> list[tuple[str, float]]:
    """The best of these documents, by key with the score, best first.

    Raises:
        Refusal: the index cannot be asked this.
    """
    rankings: list[tuple[float, list[tuple[str, float]]]] = []
    for query in asked.vector_queries:
        rankings += [(query.weight, ranking) for ranking in _by_vector(index, query, keys)]
    if asked.search or not rankings:
        rankings.append((1.0, _by_words(index, asked, keys)))
    if len(rankings) == 1:
        return rankings[0][1]
    fused: Counter[str] = Counter()
    for weight, ranking in rankings:
        for rank, (key, _) in enumerate(ranking, start=1):
            fused[key] += weight / (_RRF + rank)  # pyright: ignore[reportArgumentType] (a Counter adds fractions too)
    return sorted(((key, float(score)) for key, score in fused.items()), key=lambda hit: -hit[1])


def _by_words(index: Index, asked: SearchBody, keys: Sequence[str]) -> list[tuple[str, float]]:
    names = [name.strip() for name in asked.search_fields.split(",")] if asked.search_fields else None
    for name in names or []:
        found = known(index, name, "searchFields")
        if not found.allows("searchable") or found.is_vector:
            raise invalid_parameter(f"The field '{name}' is not searchable.", "searchFields")
    if asked.search in {None, "", "*"}:
        return [(key, 1.0) for key in keys]
    searched = [
        one.name
        for one in index.definition.fields
        if one.is_text and one.allows("searchable") and (names is None or one.name in names)
    ]
    texts = {key: terms_of(" ".join(_text(index.documents[key].get(name)) for name in searched)) for key in keys}
    query = parse(asked.search or "", every=asked.search_mode == "all")
    return _bm25(query, texts) if query else []


def _bm25(query: Query, texts: Mapping[str, Sequence[str]]) -> list[tuple[str, float]]:
    wanted = list(dict.fromkeys(query.terms))
    counts = {key: Counter(text) for key, text in texts.items()}
    average = sum(map(len, texts.values())) / max(1, len(texts)) or 1.0
    scores: dict[str, float] = {}
    for key, count in counts.items():
        if not query.matches(texts[key]):
            continue
        present = [term for term in wanted if count[term]]
        score = 0.0
        for term in present:
            having = sum(1 for other in counts.values() if other[term])
            rarity = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
            length = 0.25 + 0.75 * len(texts[key]) / average
            score += rarity * count[term] * 2.2 / (count[term] + 1.2 * length)
        scores[key] = score
    return sorted(scores.items(), key=lambda hit: -hit[1])


def _by_vector(index: Index, query: VectorQuery | TextQuery, keys: Sequence[str]) -> list[list[tuple[str, float]]]:
    """A ranking for each field that the query names."""
    names = [name.strip() for name in query.fields.split(",")]
    if len(names) > _VECTOR_FIELDS:
        raise invalid_parameter("There are too many fields in a vector query.", "vectorQueries")
    rankings: list[list[tuple[str, float]]] = []
    for name in names:
        vector = _query_vector(index, query, name)
        scored: list[tuple[str, float]] = []
        for key in keys:
            stored = _numbers(index.documents[key].get(name))
            if stored:
                scored.append((key, 1 / (2 - _cosine(vector, stored))))
        rankings.append(sorted(scored, key=lambda hit: -hit[1])[: query.k or _NEAREST])
    return rankings


def _query_vector(index: Index, query: VectorQuery | TextQuery, name: str) -> list[float]:
    found = index.definition.field(name)
    if found is None:
        raise invalid_parameter(f"Unknown field '{name}' in vector field list.", "vectorQueries")
    if not found.is_vector or found.dimensions is None:
        raise invalid_parameter(f"Field '{name}' in the vector field list is not a vector field.", "vectorQueries")
    if isinstance(query, TextQuery):
        if not index.definition.has_vectorizer(name):
            raise invalid_parameter(f"Field '{name}' does not have a vectorizer defined.", "vectorQueries")
        return hashed_vector(query.text, found.dimensions)
    if len(query.vector) != found.dimensions:
        raise invalid_parameter(
            f"The vector query has {len(query.vector)} dimensions; field '{name}' has {found.dimensions}.",
            "vectorQueries",
        )
    return query.vector


def by_meaning(
    index: Index, asked: SearchBody, configuration: SemanticConfiguration, hits: Sequence[dict[str, Json]]
) -> list[dict[str, Json]]:
    """Rank the first hits again; those behind them are not in the answer."""
    ranked: list[dict[str, Json]] = []
    for hit in hits[:_RANKED_BY_MEANING]:
        document = index.documents[str(hit["key"])]
        found = dict(hit)
        found["@search.rerankerScore"] = _reranker_score(asked.meaning, document, configuration)
        if asked.captions and asked.captions != "none":
            tags = ("", "")
            if not asked.captions.endswith("false"):
                tags = (asked.highlight_pre_tag or "<em>", asked.highlight_post_tag or "</em>")
            found["@search.captions"] = [_caption(asked.meaning, document, configuration, tags)]
        ranked.append(found)
    return sorted(ranked, key=lambda hit: -float(str(hit["@search.rerankerScore"])))


def _reranker_score(question: str, document: Document, configuration: SemanticConfiguration) -> float:
    """0 to 4: how much of the question's words a document has."""
    wanted = set(terms_of(question))
    there = set(terms_of(" ".join(_text(document.get(name)) for name in configuration.text_fields)))
    return 4.0 * len(wanted & there) / max(1, len(wanted))


def _caption(
    question: str, document: Document, configuration: SemanticConfiguration, tags: tuple[str, str]
) -> dict[str, Json]:
    """The sentence that has most of the question's words, and the same with those in tags."""
    wanted = set(terms_of(question))
    text = _text(document.get(configuration.text_fields[0]))
    sentences = [sentence.strip() for sentence in text.split(". ")]
    best = max(sentences, key=lambda sentence: len(wanted & set(terms_of(sentence))))
    if tags == ("", ""):
        return {"text": best, "highlights": ""}
    marked = " ".join(f"{tags[0]}{word}{tags[1]}" if wanted & set(terms_of(word)) else word for word in best.split(" "))
    return {"text": best, "highlights": marked if marked != best else ""}


def _text(value: Json) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else ""


def _numbers(value: Json) -> list[float]:
    return [float(part) for part in value if isinstance(part, int | float)] if isinstance(value, list) else []


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    length = math.hypot(*left) * math.hypot(*right)
    return sum(one * other for one, other in zip(left, right, strict=True)) / length if length else 0.0


def known(index: Index, name: str, parameter: str) -> IndexField:
    """A field that a parameter names.

    Raises:
        Refusal: there is none.
    """
    found = index.definition.field(name)
    if found is None:
        raise no_such_field(name, parameter)
    return found
