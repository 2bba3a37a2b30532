"""Indexes of the stand-in for Azure AI Search: what a definition may say.

Source: Search Service REST API 2026-04-01, 'Indexes - Create'.
"""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from shared.chat_types import Json
from tests.stand_ins.ai_search_refusals import invalid

_INDEX_NAME = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{0,126}[a-z0-9]")
_FIELD_NAME = re.compile(r"(?!azureSearch)[A-Za-z][A-Za-z0-9_]{0,127}")

type FieldType = Literal[
    "Edm.String",
    "Edm.Boolean",
    "Edm.Int32",
    "Edm.Int64",
    "Edm.Double",
    "Edm.DateTimeOffset",
    "Collection(Edm.String)",
    "Collection(Edm.Single)",
]


class _Body(BaseModel):
    """A part of a definition: what the service does not know, it refuses."""

    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class IndexField(_Body):
    """A field."""

    name: str
    type: FieldType
    key: bool = False
    retrievable: bool = True
    stored: bool = True
    searchable: bool | None = None
    filterable: bool | None = None
    sortable: bool | None = None
    facetable: bool | None = None
    analyzer: str | None = None
    dimensions: Annotated[int, Field(ge=2, le=4096)] | None = None
    vector_search_profile: str | None = None

    @property
    def is_vector(self) -> bool:
        return self.type == "Collection(Edm.Single)"

    @property
    def is_text(self) -> bool:
        return self.type in {"Edm.String", "Collection(Edm.String)"}

    def allows(self, attribute: Literal["searchable", "filterable", "sortable", "facetable"]) -> bool:
        """Whether it has an attribute: what a definition leaves out is on wherever it can be."""
        said = {
            "searchable": self.searchable,
            "filterable": self.filterable,
            "sortable": self.sortable,
            "facetable": self.facetable,
        }[attribute]
        if said is not None:
            return said
        if self.is_vector:
            return attribute == "searchable"
        return not (attribute == "sortable" and self.type.startswith("Collection"))

    def whole(self) -> "IndexField":
        """The same with what was left out."""
        return self.model_copy(
            update={
                "searchable": self.allows("searchable"),
                "filterable": self.allows("filterable"),
                "sortable": self.allows("sortable"),
                "facetable": self.allows("facetable"),
            }
        )


class _HnswParameters(_Body):
    m: int | None = None
    ef_construction: int | None = None
    ef_search: int | None = None
    metric: Literal["cosine", "euclidean", "dotProduct"] = "cosine"


class _Algorithm(_Body):
    name: str
    kind: Literal["hnsw", "exhaustiveKnn"]
    hnsw_parameters: _HnswParameters | None = None


class _Profile(_Body):
    name: str
    algorithm: str
    vectorizer: str | None = None
    compression: str | None = None


class _AzureOpenAIParameters(_Body):
    resource_uri: str = Field(pattern=r"^https://")
    deployment_id: str
    model_name: Literal["text-embedding-ada-002", "text-embedding-3-large", "text-embedding-3-small"]
    api_key: str | None = None


class _Vectorizer(_Body):
    name: str
    kind: Literal["azureOpenAI"]
    azure_open_ai_parameters: _AzureOpenAIParameters = Field(alias="azureOpenAIParameters")


class _VectorSearch(_Body):
    profiles: list[_Profile] = []
    algorithms: list[_Algorithm] = []
    vectorizers: list[_Vectorizer] = []
    compressions: list[dict[str, Json]] = []


class _FieldReference(_Body):
    field_name: str


class _PrioritizedFields(_Body):
    title_field: _FieldReference | None = None
    prioritized_content_fields: list[_FieldReference] = []
    prioritized_keywords_fields: list[_FieldReference] = []


class SemanticConfiguration(_Body):
    """What the semantic ranker reads."""

    name: str
    prioritized_fields: _PrioritizedFields

    @property
    def text_fields(self) -> list[str]:
        """The fields that it reads, the most important first."""
        parts = self.prioritized_fields
        title = [parts.title_field] if parts.title_field else []
        return [part.field_name for part in [*parts.prioritized_content_fields, *title]]


class _Semantic(_Body):
    default_configuration: str | None = None
    configurations: list[SemanticConfiguration] = []


class IndexDefinition(_Body):
    """An index, as it is created."""

    name: str
    fields: list[IndexField]
    description: str | None = None
    vector_search: _VectorSearch | None = None
    semantic: _Semantic | None = None
    similarity: dict[str, Json] | None = None
    etag: str | None = Field(default=None, alias="@odata.etag")

    @property
    def key(self) -> str:
        return next(one.name for one in self.fields if one.key)

    def shown(self) -> dict[str, Json]:
        """As the service tells it: with what the definition left out."""
        fields = [one.whole() for one in self.fields]
        return self.model_copy(update={"fields": fields}).model_dump(mode="json", by_alias=True)

    def field(self, name: str) -> IndexField | None:
        """A field by its name, if the index has it."""
        return next((one for one in self.fields if one.name == name), None)

    def has_vectorizer(self, name: str) -> bool:
        """Whether a vector field's queries may be texts."""
        vectors, found = self.vector_search, self.field(name)
        profiles = vectors.profiles if vectors and found else []
        return any(one.vectorizer for one in profiles if found and one.name == found.vector_search_profile)

    def semantic_configuration(self, name: str | None) -> SemanticConfiguration | None:
        """The one of that name, or the default one."""
        if self.semantic is None:
            return None
        wanted = name or self.semantic.default_configuration
        return next((one for one in self.semantic.configurations if one.name == wanted), None)


def read_definition(raw: bytes) -> IndexDefinition:
    """Read and check a definition.

    Raises:
        Refusal: the service would not take it.
    """
    try:
        definition = IndexDefinition.model_validate_json(raw)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise invalid(f"The request is invalid. Details: definition : {where}: {first['msg']}") from wrong
    _check(definition)
    return definition


def _check(definition: IndexDefinition) -> None:
    if not _INDEX_NAME.fullmatch(definition.name):
        raise invalid("Invalid index name: Index name must only contain lowercase letters, digits or dashes.")
    keys = [one for one in definition.fields if one.key]
    if len(keys) != 1 or keys[0].type != "Edm.String":
        raise invalid("The request is invalid. Details: definition : An index has exactly one key field, a string.")
    names = [one.name for one in definition.fields]
    if len(set(names)) < len(names):
        raise invalid("The request is invalid. Details: definition : There are two fields of one name.")
    vectors = definition.vector_search or _VectorSearch()
    profiles = {one.name for one in vectors.profiles}
    for one in definition.fields:
        _check_field(one, profiles)
    algorithms, vectorizers = {one.name for one in vectors.algorithms}, {one.name for one in vectors.vectorizers}
    for profile in vectors.profiles:
        if profile.algorithm not in algorithms or (profile.vectorizer and profile.vectorizer not in vectorizers):
            raise invalid(f"The vector search profile '{profile.name}' names an algorithm or vectorizer not defined.")
    _check_semantic(definition)


def _check_field(one: IndexField, profiles: set[str]) -> None:
    if not _FIELD_NAME.fullmatch(one.name):
        raise invalid(f"Invalid field name '{one.name}'.")
    if one.is_vector:
        if one.dimensions is None or one.vector_search_profile not in profiles:
            raise invalid(f"The vector field '{one.name}' must have the property 'vectorSearchProfile' set, and so on.")
        if one.filterable or one.sortable or one.facetable or one.searchable is False:
            raise invalid(f"The vector field '{one.name}' can only be searchable.")
        if not one.stored and one.retrievable:
            raise invalid(f"The field '{one.name}' cannot be retrievable when it is not stored.")
        return
    if one.dimensions or one.vector_search_profile or not one.stored:
        raise invalid(f"Field '{one.name}' is no vector field.")
    if one.searchable and not one.is_text:
        raise invalid(f"Field '{one.name}' of type '{one.type}' cannot be searchable.")
    if one.sortable and one.type.startswith("Collection"):
        raise invalid(f"Field '{one.name}' is a collection, which cannot be sortable.")
    if one.key and not one.retrievable:
        raise invalid("The key field must be retrievable.")


def _check_semantic(definition: IndexDefinition) -> None:
    semantic = definition.semantic
    if semantic is None:
        return
    names = {one.name for one in semantic.configurations}
    if semantic.default_configuration and semantic.default_configuration not in names:
        raise invalid("The default semantic configuration is not defined.")
    for configuration in semantic.configurations:
        for name in configuration.text_fields:
            found = definition.field(name)
            if found is None or not found.is_text:
                raise invalid(f"The semantic configuration '{configuration.name}' names '{name}', no string field.")
