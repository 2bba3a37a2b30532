"""What an index in Azure AI Search calls its fields."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexFields:
    """The names of the fields; by default those of azure-search-openai-demo's index, and ingestion's own."""

    id: str = "id"
    """The key."""
    content: str = "content"
    """The text, searchable."""
    category: str = "category"
    """What categories are compared with."""
    sourcepage: str = "sourcepage"
    """What is cited."""
    sourcefile: str = "sourcefile"
    """The document."""
    oids: str = "oids"
    """Users who may see it, a collection."""
    groups: str = "groups"
    """Groups whose members may see it, a collection."""
    embedding: str = "embedding"
    """The vector of the text."""
    image_embedding: str = "imageEmbedding"
    """The vector of the page's image."""
    fingerprint: str = "fingerprint"
    """What ingestion knows a file's state by."""

    @classmethod
    def called(cls, names: Mapping[str, str]) -> "IndexFields":
        """The fields where some are called otherwise: `AZURE_SEARCH_FIELDS`, by their default names."""
        other = {"imageEmbedding": "image_embedding"}
        return cls(**{other.get(field, field): name for field, name in names.items()})

    @property
    def shown(self) -> tuple[str, ...]:
        """What a passage is made of: all but the vectors and ingestion's own."""
        return self.id, self.content, self.category, self.sourcepage, self.sourcefile, self.oids, self.groups
