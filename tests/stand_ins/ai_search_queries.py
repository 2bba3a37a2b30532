"""Searches of the stand-in for Azure AI Search: what a request may say, and the answer to it.

It ranks as the service does, in small: words by BM25, vectors by cosine, several rankings by reciprocal rank fusion,
and the semantic ranker by how much of the question a text says.

Source: Search Service REST API 2026-04-01, 'Documents - Search Post'; 'Service limits'; 'Hybrid search scoring (RRF)'.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from shared.chat_types import Json
from shared.retrieval.terms import fold, words
from tests.stand_ins.ai_search_indexes import Document, Index, IndexField, SemanticConfiguration
from tests.stand_ins.ai_search_odata import compile_filter, passing, sort_keys
from tests.stand_ins.ai_search_refusals import Refusal, invalid, invalid_parameter, no_such_field
from tests.stand_ins.hashed_embedder import hashed_vector

_PAGE, _LARGEST_PAGE = 50, 1000
_MOST_SKIPPED = 100_000
_LONGEST_SEARCH = 100_000
"""Characters."""
_RANKED_BY_MEANING = 50
_RRF = 60

_VECTOR_FIELDS = 10


class _Query(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    fields: str
    k: Annotated[int, Field(ge=1, le=10_000)] | None = None
    exhaustive: bool | None = None
    oversampling: float | None = None
    weight: Annotated[float, Field(gt=0)] = 1.0


class _VectorQuery(_Query):
    kind: Literal["vector"]
    vector: list[float]


class _TextQuery(_Query):
    kind: Literal["text"]
    text: str


class SearchBody(BaseModel):
    """What a search may say: parameters of previews (`queryLanguage`, `speller`, `queryRewrites`) are unknown."""

    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    count: bool = False
    filter: str | None = None
    highlight_post_tag: str | None = None
    highlight_pre_tag: str | None = None
    minimum_coverage: float | None = None
    orderby: str | None = None
    query_type: Literal["simple", "full", "semantic"] = "simple"
    scoring_statistics: Literal["local", "global"] | None = None
    session_id: str | None = None
    search: Annotated[str, Field(max_length=_LONGEST_SEARCH)] | None = None
    search_fields: str | None = None
    search_mode: Literal["any", "all"] = "any"
    select: str | None = None
    skip: Annotated[int, Field(ge=0, le=_MOST_SKIPPED)] = 0
    top: Annotated[int, Field(ge=0)] | None = None
    semantic_configuration: str | None = None
    semantic_error_handling: Literal["partial", "fail"] | None = None
    semantic_max_wait_in_milliseconds: Annotated[int, Field(ge=700)] | None = None
    semantic_query: str | None = None
    answers: Literal["none"] | None = None
    captions: Annotated[str, Field(pattern=r"^(none|extractive(\|highlight-(true|false))?)$")] | None = None
    vector_queries: list[Annotated[_VectorQuery | _TextQuery, Field(discriminator="kind")]] = []
    vector_filter_mode: Literal["postFilter", "preFilter", "strictPostFilter"] | None = None

    @property
    def meaning(self) -> str:
        """What the semantic ranker compares with; empty: it is not asked, or there is nothing to compare."""
        if self.semantic_query is not None:
            return self.semantic_query
        is_text = self.query_type == "semantic" and self.search not in {None, "*"}
        return (self.search or "") if is_text else ""

    @property
    def is_semantic(self) -> bool:
        return self.query_type == "semantic" or self.semantic_query is not None


def read_search(body: Mapping[str, Json]) -> SearchBody:
    """Read a search.

    Raises:
        Refusal: it says what the service does not know.
    """
    try:
        return SearchBody.model_validate(body)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise invalid(
                f"The request is invalid. Details: parameters : The parameter '{where}' in the request payload is not "
                "a valid parameter for the operation 'search'."
            ) from wrong
        raise invalid(f"The request is invalid. Details: parameters : {where}: {first['msg']}") from wrong


def answer(index: Index, asked: SearchBody, url: str) -> dict[str, Json]:
    """Search an index.

    Args:
        index: What to search.
        asked: What for.
        url: The request's, for the link to the next page.

    Raises:
        Refusal: the index cannot be asked this.
    """
    select = _select(asked, index)
    configuration = _semantic_configuration(asked, index)
    test = compile_filter(asked.filter, index.definition) if asked.filter else None
    order = sort_keys(asked.orderby.split(","), index.definition) if asked.orderby else []
    if order and asked.is_semantic:
        raise invalid_parameter("Semantic ranking cannot be combined with 'orderBy'.", "orderby")
    found = _ranked(index, asked, passing(index.documents, test))
    for name, descending in reversed(order):
        found.sort(key=lambda hit: _sortable(index.documents[hit[0]].get(name)), reverse=descending)
    hits: list[dict[str, Json]] = [{"key": key, "@search.score": score} for key, score in found]
    if configuration and asked.meaning.strip():
        hits = _by_meaning(index, asked, configuration, hits)
    return _page(index, asked, hits, select, url)


def _page(
    index: Index, asked: SearchBody, hits: Sequence[dict[str, Json]], select: list[str], url: str
) -> dict[str, Json]:
    wanted = asked.top if asked.top is not None else len(hits)
    size = min(wanted, _LARGEST_PAGE if asked.top is not None else _PAGE)
    shown = hits[asked.skip : asked.skip + size]
    value: list[Json] = []
    for hit in shown:
        scores = {name: part for name, part in hit.items() if name != "key"}
        value.append({**scores, **index.shown(index.documents[str(hit["key"])], select)})
    result: dict[str, Json] = {"@odata.count": len(hits)} if asked.count else {}
    if size < wanted and asked.skip + size < len(hits):
        following = asked.model_copy(update={"skip": asked.skip + size})
        if asked.top is not None:
            following = following.model_copy(update={"top": asked.top - size})
        result["@search.nextPageParameters"] = following.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude_defaults=True
        )
        result["@odata.nextLink"] = url
    return {**result, "value": value}


def _select(asked: SearchBody, index: Index) -> list[str]:
    names = [name.strip() for name in asked.select.split(",")] if asked.select else []
    for name in names:
        found = _known(index, name, "$select")
        if not found.retrievable:
            raise invalid_parameter(f"The field '{name}' is not a retrievable field.", "$select")
    return names


def _known(index: Index, name: str, parameter: str) -> IndexField:
    found = index.definition.field(name)
    if found is None:
        raise no_such_field(name, parameter)
    return found


def _semantic_configuration(asked: SearchBody, index: Index) -> SemanticConfiguration | None:
    if not asked.is_semantic:
        if asked.captions not in {None, "none"}:
            raise invalid_parameter("Captions need a query of type 'semantic'.", "captions")
        return None
    found = index.definition.semantic_configuration(asked.semantic_configuration)
    if found is None and asked.semantic_configuration:
        raise invalid_parameter(
            f"Unknown semantic configuration '{asked.semantic_configuration}'.", "semanticConfiguration"
        )
    if found is None:
        raise invalid_parameter(
            "The 'semanticConfiguration' parameter must be specified and non-empty when 'queryType' is set to "
            "'semantic' and the index has no default one.",
            "semanticConfiguration",
        )
    return found


def _ranked(index: Index, asked: SearchBody, keys: Sequence[str]) -> list[tuple[str, float]]:
    """Keys with their scores, best first."""
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
        found = _known(index, name, "searchFields")
        if not found.allows("searchable") or found.is_vector:
            raise invalid_parameter(f"The field '{name}' is not searchable.", "searchFields")
    if asked.search in {None, "", "*"}:
        return [(key, 1.0) for key in keys]
    searched = [
        one.name
        for one in index.definition.fields
        if one.is_text and one.allows("searchable") and (names is None or one.name in names)
    ]
    texts = {key: _terms(" ".join(_text(index.documents[key].get(name)) for name in searched)) for key in keys}
    return _bm25(_terms(asked.search or ""), texts, every=asked.search_mode == "all")


def _bm25(question: Sequence[str], texts: Mapping[str, Sequence[str]], *, every: bool) -> list[tuple[str, float]]:
    wanted = list(dict.fromkeys(question))
    counts = {key: Counter(text) for key, text in texts.items()}
    average = sum(map(len, texts.values())) / max(1, len(texts)) or 1.0
    scores: dict[str, float] = {}
    for key, count in counts.items():
        present = [term for term in wanted if count[term]]
        if not present or (every and len(present) < len(wanted)):
            continue
        score = 0.0
        for term in present:
            having = sum(1 for other in counts.values() if other[term])
            rarity = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
            length = 0.25 + 0.75 * len(texts[key]) / average
            score += rarity * count[term] * 2.2 / (count[term] + 1.2 * length)
        scores[key] = score
    return sorted(scores.items(), key=lambda hit: -hit[1])


def _by_vector(index: Index, query: _VectorQuery | _TextQuery, keys: Sequence[str]) -> list[list[tuple[str, float]]]:
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
        rankings.append(sorted(scored, key=lambda hit: -hit[1])[: query.k or _PAGE])
    return rankings


def _query_vector(index: Index, query: _VectorQuery | _TextQuery, name: str) -> list[float]:
    found = index.definition.field(name)
    if found is None:
        raise invalid_parameter(f"Unknown field '{name}' in vector field list.", "vectorQueries")
    if not found.is_vector or found.dimensions is None:
        raise invalid_parameter(f"Field '{name}' in the vector field list is not a vector field.", "vectorQueries")
    if isinstance(query, _TextQuery):
        if not index.definition.has_vectorizer(name):
            raise invalid_parameter(f"Field '{name}' does not have a vectorizer defined.", "vectorQueries")
        return hashed_vector(query.text, found.dimensions)
    if len(query.vector) != found.dimensions:
        raise invalid_parameter(
            f"The vector query has {len(query.vector)} dimensions; field '{name}' has {found.dimensions}.",
            "vectorQueries",
        )
    return query.vector


def _by_meaning(
    index: Index, asked: SearchBody, configuration: SemanticConfiguration, hits: Sequence[dict[str, Json]]
) -> list[dict[str, Json]]:
    """Rank the first hits again; those behind them are not in the answer."""
    ranked: list[dict[str, Json]] = []
    for hit in hits[:_RANKED_BY_MEANING]:
        document = index.documents[str(hit["key"])]
        found = dict(hit)
        found["@search.rerankerScore"] = reranker_score(asked.meaning, document, configuration)
        if asked.captions and asked.captions != "none":
            tags = ("", "")
            if not asked.captions.endswith("false"):
                tags = (asked.highlight_pre_tag or "<em>", asked.highlight_post_tag or "</em>")
            found["@search.captions"] = [_caption(asked.meaning, document, configuration, tags)]
        ranked.append(found)
    return sorted(ranked, key=lambda hit: -float(str(hit["@search.rerankerScore"])))


def reranker_score(question: str, document: Document, configuration: SemanticConfiguration) -> float:
    """0 to 4: how much of the question's words a document has."""
    wanted = set(_terms(question))
    there = set(_terms(" ".join(_text(document.get(name)) for name in configuration.text_fields)))
    return 4.0 * len(wanted & there) / max(1, len(wanted))


def _caption(
    question: str, document: Document, configuration: SemanticConfiguration, tags: tuple[str, str]
) -> dict[str, Json]:
    """The sentence that has most of the question's words, and the same with those in tags."""
    wanted = set(_terms(question))
    text = _text(document.get(configuration.text_fields[0]))
    sentences = [sentence.strip() for sentence in text.split(". ")]
    best = max(sentences, key=lambda sentence: len(wanted & set(_terms(sentence))))
    if tags == ("", ""):
        return {"text": best, "highlights": ""}
    marked = " ".join(f"{tags[0]}{word}{tags[1]}" if wanted & set(_terms(word)) else word for word in best.split(" "))
    return {"text": best, "highlights": marked if marked != best else ""}


def _terms(text: str) -> list[str]:
    return [fold(word) for word in words(text)]


def _text(value: Json) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else ""


def _numbers(value: Json) -> list[float]:
    return [float(part) for part in value if isinstance(part, int | float)] if isinstance(value, list) else []


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    length = math.hypot(*left) * math.hypot(*right)
    return sum(one * other for one, other in zip(left, right, strict=True)) / length if length else 0.0


def _sortable(value: Json) -> tuple[bool, str]:
    """Null comes first."""
    return value is not None, str(value)


__all__ = ["Refusal", "SearchBody", "answer", "read_search", "reranker_score"]
