"""What a search of the stand-in for Azure AI Search may say.

Source: Search Service REST API 2026-04-01, 'Documents - Search Post'; 'Service limits'.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from shared.chat_types import Json
from tests.stand_ins.ai_search_refusals import invalid

_MOST_SKIPPED = 100_000
_LONGEST_SEARCH = 100_000
"""Characters."""


class _Query(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    fields: str
    k: Annotated[int, Field(ge=1, le=10_000)] | None = None
    exhaustive: bool | None = None
    oversampling: float | None = None
    weight: Annotated[float, Field(gt=0)] = 1.0


class VectorQuery(_Query):
    kind: Literal["vector"]
    vector: list[float]


class TextQuery(_Query):
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
    vector_queries: list[Annotated[VectorQuery | TextQuery, Field(discriminator="kind")]] = []
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
