"""Knowledge bases of the stand-in for Azure AI Search: retrieval from one search index.

Source: Search Service REST API 2026-04-01, 'Knowledge Retrieval - Retrieve': its only effort is `minimal`, so a request
names what to search for itself.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from shared.chat_types import Json
from tests.stand_ins.ai_search_bodies import SearchBody
from tests.stand_ins.ai_search_documents import Index
from tests.stand_ins.ai_search_queries import answer
from tests.stand_ins.ai_search_refusals import invalid

_REFERENCES = 50
"""A source gives at most."""


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """A knowledge base with one knowledge source, an index."""

    source: str
    """The knowledge source's name."""
    index: str
    """The index's name."""
    source_data: tuple[str, ...] = ("id", "content", "category", "sourcepage", "sourcefile", "oids", "groups")
    """The fields that references bring along."""


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class _Intent(_Body):
    type: Literal["semantic"]
    search: Annotated[str, Field(min_length=1)]


class _SourceParams(_Body):
    kind: Literal["searchIndex"]
    knowledge_source_name: str
    include_references: bool = True
    include_reference_source_data: bool = False
    reranker_threshold: Annotated[float, Field(ge=0, le=4)] | None = None
    filter_add_on: str | None = None


class RetrievalBody(_Body):
    """What a retrieval may say."""

    intents: Annotated[list[_Intent], Field(min_length=1)]
    max_runtime_in_seconds: Annotated[int, Field(ge=10)] | None = None
    max_output_size_in_tokens: Annotated[int, Field(ge=5000)] | None = None
    include_activity: bool = False
    knowledge_source_params: list[_SourceParams] = []


def read_retrieval(body: Mapping[str, Json], base: KnowledgeBase) -> RetrievalBody:
    """Read a retrieval.

    Raises:
        Refusal: it says what the service does not know.
    """
    try:
        asked = RetrievalBody.model_validate(body)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise invalid(f"The parameter '{where}' in the request payload is not a valid parameter.") from wrong
        raise invalid(f"The request is invalid. Details: parameters : {where}: {first['msg']}") from wrong
    for params in asked.knowledge_source_params:
        if params.knowledge_source_name != base.source:
            raise invalid(f"The knowledge base has no knowledge source '{params.knowledge_source_name}'.")
    return asked


def retrieve(base: KnowledgeBase, index: Index, asked: RetrievalBody) -> dict[str, Json]:
    """Search for each intent, and answer with what was found.

    Raises:
        Refusal: the index cannot be asked this.
    """
    params = next(iter(asked.knowledge_source_params), None) or _SourceParams(
        kind="searchIndex", knowledge_source_name=base.source
    )
    activity: list[Json] = []
    references: dict[str, dict[str, Json]] = {}
    for number, intent in enumerate(asked.intents):
        hits = _search(index, intent.search, params)
        activity.append(_activity(base, number, intent.search, params, len(hits)))
        for hit in hits:
            key = str(hit[index.definition.key])
            references.setdefault(
                key, _reference(base, key, number, hit, with_data=params.include_reference_source_data)
            )
    activity.append({"type": "agenticReasoning", "id": len(asked.intents), "reasoningTokens": 0})
    found = sorted(references.values(), key=lambda one: -float(str(one["rerankerScore"])))
    for number, reference in enumerate(found):
        reference["id"] = str(number)
    result: dict[str, Json] = {"response": [{"content": [{"type": "text", "text": _extracts(index, found)}]}]}
    if asked.include_activity:
        result["activity"] = activity
    if params.include_references:
        result["references"] = [*found]
    return result


def _search(index: Index, text: str, params: _SourceParams) -> list[dict[str, Json]]:
    vectors = [one.name for one in index.definition.fields if index.definition.has_vectorizer(one.name)]
    words = re.sub(r"""[+|"()'\\*-]""", r"\\\g<0>", text)  # what a semantic intent says is no expression
    body: dict[str, Json] = {"search": words, "semanticQuery": text, "queryType": "semantic", "top": _REFERENCES}
    if params.filter_add_on:
        body["filter"] = params.filter_add_on
    if vectors:
        body["vectorQueries"] = [{"kind": "text", "text": text, "fields": ",".join(vectors)}]
    value = answer(index, SearchBody.model_validate(body), "")["value"]
    hits = [hit for hit in value if isinstance(hit, dict)] if isinstance(value, list) else []
    lowest = params.reranker_threshold or 0.0
    return [hit for hit in hits if float(str(hit["@search.rerankerScore"])) >= lowest]


def _activity(base: KnowledgeBase, number: int, search: str, params: _SourceParams, count: int) -> Json:
    return {
        "type": "searchIndex",
        "id": number,
        "knowledgeSourceName": base.source,
        "queryTime": "2026-01-01T00:00:00.000Z",
        "count": count,
        "elapsedMs": 1,
        "searchIndexArguments": {
            "search": search,
            "filter": params.filter_add_on,
            "sourceDataFields": [{"name": name} for name in base.source_data],
            "searchFields": [],
            "semanticConfigurationName": "default",
        },
    }


def _reference(
    base: KnowledgeBase, key: str, activity: int, hit: dict[str, Json], *, with_data: bool
) -> dict[str, Json]:
    data: Json = {name: hit[name] for name in base.source_data if name in hit} if with_data else None
    return {
        "type": "searchIndex",
        "id": "",
        "activitySource": activity,
        "sourceData": data,
        "rerankerScore": hit["@search.rerankerScore"],
        "docKey": key,
    }


def _extracts(index: Index, references: list[dict[str, Json]]) -> str:
    """The answer's text: the found texts, as JSON."""
    extracts: list[Json] = []
    for reference in references:
        document = index.documents[str(reference["docKey"])]
        extracts.append(
            {"ref_id": reference["id"], "title": document.get("sourcepage"), "content": document.get("content")}
        )
    return json.dumps(extracts)
