"""Indexes of the stand-in for Azure AI Search: what a definition may say, and the documents of one index.

Source: Search Service REST API 2026-04-01, 'Indexes - Create' and 'Documents - Index'; 'Service limits'.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from shared.chat_types import Json
from tests.stand_ins.ai_search_refusals import Refusal, invalid

_INDEX_NAME = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{0,126}[a-z0-9]")
_FIELD_NAME = re.compile(r"(?!azureSearch)[A-Za-z][A-Za-z0-9_]{0,127}")
_KEY = re.compile(r"(?!_)[A-Za-z0-9_\-=]{1,1024}")
_LONGEST_TERM = 32_766
"""Bytes of UTF-8 that a filterable, sortable or facetable string may have."""
_ACTIONS = 1000
"""Of a batch at most."""

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
        fields = [
            one.model_copy(
                update={
                    "searchable": one.allows("searchable"),
                    "filterable": one.allows("filterable"),
                    "sortable": one.allows("sortable"),
                    "facetable": one.allows("facetable"),
                }
            )
            for one in self.fields
        ]
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


type Document = dict[str, Json]


@dataclass(slots=True)
class Index:
    """An index with its documents."""

    definition: IndexDefinition
    documents: dict[str, Document] = field(default_factory=dict[str, Document])
    """By key, in the order in which they came."""

    def update(self, definition: IndexDefinition) -> None:
        """Take a new definition: fields may come, and none may change or go.

        Raises:
            Refusal: one did.
        """
        for old in self.definition.fields:
            if definition.field(old.name) != old:
                raise Refusal(400, f"Existing field '{old.name}' cannot be changed.", "OperationNotAllowed")
        self.definition = definition

    def write(self, actions: Json, failing: dict[str, int]) -> tuple[int, dict[str, Json]]:
        """Do a batch of actions; those on the keys in `failing` fail with their status.

        Returns:
            The status and the body of the answer.

        Raises:
            Refusal: the batch as a whole is wrong.
        """
        if not isinstance(actions, list) or not actions:
            raise invalid("The request is invalid. Details: actions : No indexing actions found in the request.")
        if len(actions) > _ACTIONS:
            raise invalid(f"Only {_ACTIONS} indexing actions are allowed in one request; {len(actions)} were sent.")
        checked = [self._checked(position, action) for position, action in enumerate(actions)]
        results: list[Json] = []
        for kind, document in checked:
            key = str(document[self.definition.key])
            status = failing.get(key) or self._do(kind, key, document)
            done = status < 300
            message = None if done else "The document could not be indexed."
            results.append({"key": key, "status": done, "errorMessage": message, "statusCode": status})
        failed = any(isinstance(result, dict) and not result["status"] for result in results)
        return 207 if failed else 200, {"value": results}

    def _checked(self, position: int, action: Json) -> tuple[str, Document]:
        if not isinstance(action, dict):
            raise _wrong_action(position, "An action is an object.")
        document = dict(action)
        kind = document.pop("@search.action", "upload")
        if kind not in {"upload", "merge", "mergeOrUpload", "delete"}:
            raise _wrong_action(position, f"Unknown action '{kind}'.")
        key = document.get(self.definition.key)
        if not isinstance(key, str) or not key:
            raise _wrong_action(position, "Document key cannot be missing or empty.")
        if not _KEY.fullmatch(key):
            raise _wrong_action(
                position,
                f"Invalid document key: '{key}'. Keys can only contain letters, digits, underscore (_), dash (-), or "
                "equal sign (=), and cannot start with an underscore.",
            )
        for name, value in document.items():
            self._check_value(position, name, value)
        return str(kind), document

    def _check_value(self, position: int, name: str, value: Json) -> None:
        found = self.definition.field(name)
        if found is None:
            raise invalid(
                f"The request is invalid. Details: parameters : The property '{name}' does not exist on type "
                "'search.documentFields' or is not present in the API version '2026-04-01'. Make sure to only use "
                "property names that are defined by the type."
            )
        if value is None and found.type.startswith("Collection") and not found.is_vector:
            raise _wrong_action(position, f"The collection '{name}' cannot be null.")
        if value is not None and not _fits(found, value):
            raise _wrong_action(position, f"The value of '{name}' is no {found.type}.")
        if found.is_vector and isinstance(value, list) and len(value) != found.dimensions:
            raise _wrong_action(
                position,
                f"There's a mismatch in vector dimensions. The vector field '{name}', with dimension of "
                f"'{found.dimensions}', expects a length of '{found.dimensions}'. However, the provided vector has a "
                f"length of '{len(value)}'.",
            )
        terms = value if isinstance(value, list) else [value]
        if found.allows("filterable") and any(
            isinstance(term, str) and len(term.encode()) > _LONGEST_TERM for term in terms
        ):
            raise _wrong_action(position, f"Field '{name}' contains a term that is too large to process.")

    def _do(self, kind: str, key: str, document: Document) -> int:
        old = self.documents.get(key)
        match kind:
            case "delete":
                self.documents.pop(key, None)
                return 200
            case "merge" if old is None:
                return 404
            case "merge" | "mergeOrUpload" if old is not None:
                kept = {name: value for name, value in old.items() if self._survives_merge(name)}
                self.documents[key] = {**kept, **document}
                return 200
            case _:
                self.documents[key] = document
                return 200 if old is not None else 201

    def _survives_merge(self, name: str) -> bool:
        """A vector that is not stored cannot be written again with the rest of its document."""
        found = self.definition.field(name)
        return found is not None and found.stored

    def shown(self, document: Document, select: list[str] | None = None) -> Document:
        """A document's fields as an answer has them: null where there is nothing."""
        names = [one.name for one in self.definition.fields if one.retrievable and (not select or one.name in select)]
        empty: dict[str, Json] = {name: [] for name in names if self._is_collection(name)}
        return {name: document.get(name, empty.get(name)) for name in names}

    def _is_collection(self, name: str) -> bool:
        found = self.definition.field(name)
        return found is not None and found.type == "Collection(Edm.String)"


def _fits(found: IndexField, value: Json) -> bool:
    match found.type:
        case "Edm.String" | "Edm.DateTimeOffset":
            return isinstance(value, str)
        case "Edm.Boolean":
            return isinstance(value, bool)
        case "Edm.Int32" | "Edm.Int64":
            return isinstance(value, int) and not isinstance(value, bool)
        case "Edm.Double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "Collection(Edm.String)":
            return isinstance(value, list) and all(isinstance(part, str) for part in value)
        case "Collection(Edm.Single)":
            return isinstance(value, list) and all(
                isinstance(part, int | float) and not isinstance(part, bool) for part in value
            )


def _wrong_action(position: int, message: str) -> Refusal:
    return Refusal(400, f"The request is invalid. Details: actions : {position}: {message}", "OperationNotAllowed")


def read_object(raw: bytes) -> dict[str, Json]:
    """A body that must be a JSON object.

    Raises:
        Refusal: it is none.
    """
    try:
        body: Json = json.loads(raw, parse_constant=_no_constant)
    except ValueError as wrong:
        raise invalid("The request is invalid. Details: The body is no JSON.") from wrong
    if not isinstance(body, dict):
        raise invalid("The request is invalid. Details: The body is no JSON object.")
    return body


def _no_constant(name: str) -> Json:
    raise ValueError(name)
