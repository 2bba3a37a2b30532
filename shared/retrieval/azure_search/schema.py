"""Definition of the index that ingestion writes: that of azure-search-openai-demo, with a fingerprint.

An existing index is checked for what ingestion needs. One that others made is never changed; one that an earlier
version of this app made gets the fields that it lacks. Imports `azure.search.documents`: import it late.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from typing import cast

from azure.search.documents.indexes import models

from shared.errors import NotConfigured
from shared.outbound.openai_service.connection import OpenAIConnection, azure_resource
from shared.retrieval.azure_search.fields import IndexFields
from shared.settings import Settings

_STRING, _STRINGS, _VECTOR = "Edm.String", "Collection(Edm.String)", "Collection(Edm.Single)"
_TIME = "Edm.DateTimeOffset"
_ALGORITHM = "hnsw_config"
_VECTORIZER = "azure-openai"
_SEMANTIC_CONFIGURATION = "default"
_simple = cast("Callable[..., models.SearchField]", models.SimpleField)  # pyright: ignore[reportUnknownMemberType]
_searchable = cast("Callable[..., models.SearchField]", models.SearchableField)  # pyright: ignore[reportUnknownMemberType]
"""Make fields with each option set: the service turns on those that are left out."""
IMAGE_DIMENSIONS = 1024
"""Numbers in a vector of Azure AI Vision (multimodal embeddings, model version 2023-04-15)."""
_VECTORIZER_MODELS = ("text-embedding-3-large", "text-embedding-3-small", "text-embedding-ada-002")
"""Models that the service can make vectors with. It must be told the model; the settings only name the deployment."""


class IndexPlan:
    """The index that the settings ask for.

    Raises:
        NotConfigured: `EMBEDDINGS` is `index`, but the settings name no usable embedding model.
    """

    def __init__(self, settings: Settings) -> None:
        self.name = settings.azure_search_index or ""
        self.fields = IndexFields.called(settings.azure_search_fields)
        self._has_images = settings.azure_vision_endpoint is not None
        self._vectorizer = _vectorizer(settings) if settings.embeddings == "index" else None
        """Model with which the service makes the vectors of queries; None: the app makes them."""

    def new_index(self, dimensions: int | None) -> models.SearchIndex:
        """Define the index to create.

        Args:
            dimensions: Numbers in a vector of a text; None: texts have no vectors.
        """
        fields, collections = self.fields, (self.fields.oids, self.fields.groups)
        vectors = [
            *([_vector(fields.embedding, dimensions)] if dimensions else []),
            *([_vector(fields.image_embedding, IMAGE_DIMENSIONS)] if self._has_images else []),
        ]
        return models.SearchIndex(
            name=self.name,
            fields=[
                _simple(name=fields.id, type=_STRING, key=True, filterable=True),
                _searchable(name=fields.content),
                *(
                    _simple(name=name, type=_STRINGS if name in collections else _STRING, filterable=True)
                    for name in (fields.category, fields.sourcepage, fields.sourcefile, *collections)
                ),
                *_place(fields),
                _simple(name=fields.fingerprint, type=_STRING, filterable=True, sortable=True),
                *vectors,
            ],
            semantic_search=self._semantic_search(),
            vector_search=self._vector_search([str(field.name) for field in vectors]) if vectors else None,
        )

    def _semantic_search(self) -> models.SemanticSearch:
        prioritized = models.SemanticPrioritizedFields(
            title_field=models.SemanticField(field_name=self.fields.sourcepage),
            content_fields=[models.SemanticField(field_name=self.fields.content)],
        )
        name = self.fields.semantic_configuration or _SEMANTIC_CONFIGURATION
        return models.SemanticSearch(
            default_configuration_name=name,
            configurations=[models.SemanticConfiguration(name=name, prioritized_fields=prioritized)],
        )

    def _vector_search(self, names: list[str]) -> models.VectorSearch:
        has_vectorizer = self._vectorizer is not None
        return models.VectorSearch(
            algorithms=[
                models.HnswAlgorithmConfiguration(name=_ALGORITHM, parameters=models.HnswParameters(metric="cosine"))
            ],
            profiles=[
                models.VectorSearchProfile(
                    name=_profile(name),
                    algorithm_configuration_name=_ALGORITHM,
                    vectorizer_name=_VECTORIZER if has_vectorizer and name == self.fields.embedding else None,
                )
                for name in names
            ],
            vectorizers=(
                [models.AzureOpenAIVectorizer(vectorizer_name=_VECTORIZER, parameters=self._vectorizer)]
                if self._vectorizer
                else None
            ),
        )


class ExistingIndex:
    """An index that exists, and what it lacks for ingestion."""

    def __init__(self, index: models.SearchIndex, fields: IndexFields) -> None:
        self._index = index
        self._name = index.name
        self._fields = fields
        self._has = {field.name: field for field in index.fields}

    @property
    def lacking(self) -> Set[str]:
        """The fields of `IndexFields.place` that it lacks, or has for something else."""
        date = self._has.get(self._fields.date)
        return self._missing | ({self._fields.date} if date and date.type not in (_TIME, _STRING) else set[str]())

    @property
    def _missing(self) -> Set[str]:
        return {*self._fields.place} - self._has.keys()

    def with_place(self) -> models.SearchIndex | None:
        """Define it with the fields that it lacks; None: nothing is to be added, or others made it."""
        fields = self._fields
        own = {*fields.selected, *fields.place, fields.embedding, fields.image_embedding, fields.fingerprint}
        missing = self._missing
        if not missing or self._has.keys() - own:
            return None
        self._index.fields = [*self._index.fields, *(one for one in _place(fields) if one.name in missing)]
        return self._index

    def check(self) -> None:
        """Check that the index has the key and the fields by which ingestion tracks files.

        Raises:
            NotConfigured: it has not; says what to add.
        """
        if problems := " ".join(self._problems()):
            raise NotConfigured(
                f"The index '{self._name}' (AZURE_SEARCH_INDEX) can be searched, not written. {problems}"
            )

    def check_fields(self, names: Set[str], lengths: Mapping[str, int]) -> None:
        """Check that the index has these fields, and vector fields of these lengths.

        Args:
            names: The fields that the documents use.
            lengths: Numbers in a vector, by vector field.

        Raises:
            NotConfigured: it lacks a field, or a length differs; says which.
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


def _place(fields: IndexFields) -> list[models.SearchField]:
    """The fields that say where in its document a passage stands, and what is known of the whole document."""
    kinds = {fields.date: _TIME, fields.sensitivity: _STRING, fields.left_out: _STRING}
    return [
        _simple(name=name, type=kinds[name])
        if name in kinds
        else _searchable(name=name, collection=name == fields.headings)
        for name in fields.place
    ]


def _vector(name: str, dimensions: int) -> models.SearchField:
    """A vector field that is searched, but neither returned nor stored a second time."""
    return models.SearchField(
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


def _vectorizer(settings: Settings) -> models.AzureOpenAIVectorizerParameters:
    deployment = settings.azure_openai_embedding_deployment
    model = next((name for name in _VECTORIZER_MODELS if deployment and name in deployment), None)
    connection = OpenAIConnection.from_settings(settings)
    if connection is None or connection.kind != "azure-openai" or deployment is None or model is None:
        raise NotConfigured(
            "EMBEDDINGS=index: an index that makes vectors itself needs AZURE_OPENAI_ENDPOINT, and "
            f"AZURE_OPENAI_EMBEDDING_DEPLOYMENT named after its model ({', '.join(_VECTORIZER_MODELS)})."
        )
    return models.AzureOpenAIVectorizerParameters(
        resource_url=azure_resource(connection.base_url),
        deployment_name=deployment,
        model_name=model,
        api_key=connection.api_key.get_secret_value() if connection.api_key else None,
    )
