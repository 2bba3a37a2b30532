"""The index in Azure AI Search that ingestion writes: made as azure-search-openai-demo makes it, with the fingerprint.

An index that is there already is never changed: it is checked for what ingestion needs. Imports
`azure.search.documents`: import it late.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from azure.search.documents.indexes.models import (
    AzureOpenAIVectorizer,
    AzureOpenAIVectorizerParameters,
    HnswAlgorithmConfiguration,
    HnswParameters,
    SearchField,
    SearchIndex,
    SemanticConfiguration,
    SemanticField,
    SemanticPrioritizedFields,
    SemanticSearch,
    VectorSearch,
    VectorSearchProfile,
)

from shared.errors import NotConfigured
from shared.outbound.openai_service.connection import azure_resource
from shared.retrieval.azure_search.fields import IndexFields
from shared.settings import Settings

_STRING, _STRINGS, _VECTOR = "Edm.String", "Collection(Edm.String)", "Collection(Edm.Single)"
_ALGORITHM = "hnsw_config"
_VECTORIZER = "azure-openai"
_SEMANTIC_CONFIGURATION = "default"
IMAGE_DIMENSIONS = 1024
"""Of the vectors that Azure AI Vision makes (multimodal embeddings, model version 2023-04-15)."""
_MODELS = ("text-embedding-3-large", "text-embedding-3-small", "text-embedding-ada-002")
"""What the service has to know of a deployment to make vectors with it; ours tells only its name."""


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """The index that the settings ask for."""

    name: str
    """Its name."""
    fields: IndexFields
    """What it calls its fields."""
    semantic_configuration: str
    """What the semantic ranker is asked with."""
    has_images: bool
    """Whether page images have vectors."""
    vectorizer: AzureOpenAIVectorizerParameters | None
    """What makes the vectors of queries in the service; None: the app does."""

    @classmethod
    def from_settings(cls, settings: Settings) -> "IndexPlan":
        """What the settings ask for.

        Raises:
            NotConfigured: the index is to make vectors itself, and there is nothing to make them with.
        """
        return cls(
            settings.azure_search_index or "",
            IndexFields.called(settings.azure_search_fields),
            settings.azure_search_semantic_configuration or _SEMANTIC_CONFIGURATION,
            settings.azure_vision_endpoint is not None,
            _vectorizer(settings) if settings.azure_search_vectorizer else None,
        )

    def new_index(self, dimensions: int | None) -> SearchIndex:
        """The index to make.

        Args:
            dimensions: Of the texts' vectors; None: they have none.
        """
        fields = self.fields
        vectors = [
            *([_vector(fields.embedding, dimensions)] if dimensions else []),
            *([_vector(fields.image_embedding, IMAGE_DIMENSIONS)] if self.has_images else []),
        ]
        return SearchIndex(
            name=self.name,
            fields=[
                _text(fields.id, key=True, filterable=True),
                _text(fields.content, searchable=True),
                *(_text(name, filterable=True) for name in (fields.category, fields.sourcepage, fields.sourcefile)),
                *(_text(name, _STRINGS, filterable=True) for name in (fields.oids, fields.groups)),
                _text(fields.fingerprint, filterable=True, sortable=True),
                *vectors,
            ],
            semantic_search=self._semantic_search(),
            vector_search=self._vector_search([str(field.name) for field in vectors]) if vectors else None,
        )

    def _semantic_search(self) -> SemanticSearch:
        prioritized = SemanticPrioritizedFields(
            title_field=SemanticField(field_name=self.fields.sourcepage),
            content_fields=[SemanticField(field_name=self.fields.content)],
        )
        name = self.semantic_configuration
        return SemanticSearch(
            default_configuration_name=name,
            configurations=[SemanticConfiguration(name=name, prioritized_fields=prioritized)],
        )

    def _vector_search(self, names: list[str]) -> VectorSearch:
        has_vectorizer = self.vectorizer is not None
        return VectorSearch(
            algorithms=[HnswAlgorithmConfiguration(name=_ALGORITHM, parameters=HnswParameters(metric="cosine"))],
            profiles=[
                VectorSearchProfile(
                    name=_profile(name),
                    algorithm_configuration_name=_ALGORITHM,
                    vectorizer_name=_VECTORIZER if has_vectorizer and name == self.fields.embedding else None,
                )
                for name in names
            ],
            vectorizers=(
                [AzureOpenAIVectorizer(vectorizer_name=_VECTORIZER, parameters=self.vectorizer)]
                if self.vectorizer
                else None
            ),
        )


class ExistingIndex:
    """What there is: to say what it lacks."""

    def __init__(self, index: SearchIndex, fields: IndexFields) -> None:
        self._name = index.name
        self._fields = fields
        self._has = {field.name: field for field in index.fields}

    def check(self) -> None:
        """That ingestion can keep its books there.

        Raises:
            NotConfigured: it cannot; says what to add.
        """
        if problems := " ".join(self._problems()):
            raise NotConfigured(
                f"The index '{self._name}' (AZURE_SEARCH_INDEX) can be searched, not written. {problems}"
            )

    def check_room_for(self, names: Set[str], lengths: Mapping[str, int]) -> None:
        """That it has these fields, and takes vectors of these lengths in those.

        Raises:
            NotConfigured: it does not; says which.
        """
        if missing := sorted(names - self._has.keys()):
            raise NotConfigured(
                f"The index '{self._name}' (AZURE_SEARCH_INDEX) lacks {' and '.join(missing)}: add what is missing, "
                "name it in AZURE_SEARCH_FIELDS, or name an index that is to be made."
            )
        for name, length in lengths.items():
            there = self._has[name].vector_search_dimensions
            if length != there:
                raise NotConfigured(
                    f"The index '{self._name}' (AZURE_SEARCH_INDEX) takes vectors of {there} numbers in {name}, and "
                    f"the model makes {length}: use the model that the index was made with, or name another index."
                )

    def _problems(self) -> Iterator[str]:
        fields = self._fields
        key, file = self._has.get(fields.id), self._has.get(fields.sourcefile)
        if key is None or not key.key:
            yield f"Its key is not {fields.id}: name it in AZURE_SEARCH_FIELDS (id=…)."
        if file is None or not file.filterable:
            yield f"It has no filterable field {fields.sourcefile}: name it in AZURE_SEARCH_FIELDS (sourcefile=…)."
        mark = self._has.get(fields.fingerprint)
        if mark is None or mark.type != _STRING or not (mark.filterable and mark.sortable):
            yield (
                f"Add a field {fields.fingerprint} of type {_STRING} to it that is filterable and sortable, or name "
                "one in AZURE_SEARCH_FIELDS (fingerprint=…): it tells what has been indexed."
            )


def _text(
    name: str,
    kind: str = _STRING,
    *,
    key: bool = False,
    searchable: bool = False,
    filterable: bool = False,
    sortable: bool = False,
) -> SearchField:
    """A field. What is not said here is on by default in the service."""
    return SearchField(
        name=name,
        type=kind,
        key=key,
        hidden=False,
        searchable=searchable,
        filterable=filterable,
        sortable=sortable,
        facetable=False,
    )


def _vector(name: str, dimensions: int) -> SearchField:
    """A vector field: searched, and never shown, so that it takes no room twice."""
    return SearchField(
        name=name,
        type=_VECTOR,
        hidden=True,
        stored=False,
        searchable=True,
        filterable=False,
        sortable=False,
        facetable=False,
        vector_search_dimensions=dimensions,
        vector_search_profile_name=_profile(name),
    )


def _profile(name: str) -> str:
    return f"{name}-profile"


def _vectorizer(settings: Settings) -> AzureOpenAIVectorizerParameters:
    deployment = settings.azure_openai_embedding_deployment
    model = next((name for name in _MODELS if deployment and name in deployment), None)
    if not settings.azure_openai_endpoint or deployment is None or model is None:
        raise NotConfigured(
            "AZURE_SEARCH_VECTORIZER: an index that makes vectors itself needs AZURE_OPENAI_ENDPOINT, and "
            f"AZURE_OPENAI_EMBEDDING_DEPLOYMENT named after its model ({', '.join(_MODELS)})."
        )
    key = settings.azure_openai_api_key
    return AzureOpenAIVectorizerParameters(
        resource_url=azure_resource(settings.azure_openai_endpoint),
        deployment_name=deployment,
        model_name=model,
        api_key=key.get_secret_value() if key else None,
    )
