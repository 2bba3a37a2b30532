"""Searches of the stand-in for Azure AI Search: from a request to its page of the answer.

Source: Search Service REST API 2026-04-01, 'Documents - Search Post'; 'Shape search results'.
"""

from collections.abc import Sequence

from shared.chat_types import Json
from tests.stand_ins.ai_search_bodies import SearchBody
from tests.stand_ins.ai_search_definitions import SemanticConfiguration
from tests.stand_ins.ai_search_documents import Index
from tests.stand_ins.ai_search_odata import compile_filter, passing, sort_keys
from tests.stand_ins.ai_search_ranking import by_meaning, known, ranked
from tests.stand_ins.ai_search_refusals import invalid_parameter

_PAGE, _LARGEST_PAGE = 50, 1000


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
    found = ranked(index, asked, passing(index.documents, test))
    for name, descending in reversed(order):
        found.sort(key=lambda hit: _sortable(index.documents[hit[0]].get(name)), reverse=descending)
    hits: list[dict[str, Json]] = [{"key": key, "@search.score": score} for key, score in found]
    if configuration and asked.meaning.strip():
        hits = by_meaning(index, asked, configuration, hits)
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
        found = known(index, name, "$select")
        if not found.retrievable:
            raise invalid_parameter(f"The field '{name}' is not a retrievable field.", "$select")
    return names


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


def _sortable(value: Json) -> tuple[bool, str]:
    """Null comes first."""
    return value is not None, str(value)
