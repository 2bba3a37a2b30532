"""The index of azure-search-openai-demo, for the stand-in for Azure AI Search.

Source: `prepdocslib/searchmanager.py` of Azure-Samples/azure-search-openai-demo.
"""

from collections.abc import Sequence

from shared.chat_types import Json
from tests.stand_ins.ai_search_definitions import IndexDefinition

INDEX_NAME = "documents"


def demo_index(
    name: str = INDEX_NAME,
    *,
    dimensions: int = 64,
    image_dimensions: int | None = None,
    vectorizer: bool = False,
    without: Sequence[str] = (),
) -> IndexDefinition:
    """An index as azure-search-openai-demo makes it, with rights.

    Args:
        name: Its name.
        dimensions: Of `embedding`.
        image_dimensions: Of `imageEmbedding`; None: there is none.
        vectorizer: Whether it makes vectors of texts itself.
        without: Fields that it does not have.
    """
    facet: dict[str, Json] = {"filterable": True, "facetable": True}
    fields: list[Json] = [
        _simple("id", key=True),
        {**_simple("content"), "searchable": True},
        {**_simple("category"), **facet},
        {**_simple("sourcepage"), **facet},
        {**_simple("sourcefile"), **facet},
        {**_simple("storageUrl"), "filterable": True},
        {**_simple("oids"), "type": "Collection(Edm.String)", "filterable": True},
        {**_simple("groups"), "type": "Collection(Edm.String)", "filterable": True},
        _vector("embedding", dimensions, "text", hidden=True),
    ]
    profiles: list[Json] = [{"name": "text", "algorithm": "hnsw", "vectorizer": "openai" if vectorizer else None}]
    if image_dimensions:
        fields.append(_vector("imageEmbedding", image_dimensions, "image", hidden=False))
        profiles.append({"name": "image", "algorithm": "hnsw"})
    fields = [one for one in fields if isinstance(one, dict) and one["name"] not in without]
    openai: Json = {
        "name": "openai",
        "kind": "azureOpenAI",
        "azureOpenAIParameters": {
            "resourceUri": "https://contoso.openai.azure.com",
            "deploymentId": "embedding",
            "modelName": "text-embedding-3-large",
        },
    }
    return IndexDefinition.model_validate(
        {
            "name": name,
            "fields": fields,
            "vectorSearch": {
                "profiles": profiles,
                "algorithms": [{"name": "hnsw", "kind": "hnsw", "hnswParameters": {"metric": "cosine"}}],
                "vectorizers": [openai] if vectorizer else [],
            },
            "semantic": {
                "defaultConfiguration": "default",
                "configurations": [
                    {
                        "name": "default",
                        "prioritizedFields": {
                            "titleField": {"fieldName": "sourcepage"},
                            "prioritizedContentFields": [{"fieldName": "content"}],
                        },
                    }
                ],
            },
        }
    )


def _simple(name: str, *, key: bool = False) -> dict[str, Json]:
    off: dict[str, Json] = {"searchable": False, "filterable": False, "sortable": False, "facetable": False}
    return {"name": name, "type": "Edm.String", "key": key, **off}


def _vector(name: str, dimensions: int, profile: str, *, hidden: bool) -> dict[str, Json]:
    return {
        "name": name,
        "type": "Collection(Edm.Single)",
        "dimensions": dimensions,
        "vectorSearchProfile": profile,
        "searchable": True,
        "retrievable": not hidden,
        "stored": not hidden,
    }
