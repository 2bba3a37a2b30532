"""The fields of an index in Azure AI Search, and OData filters over them.

No value can change a filter's expression: quotes in it are doubled, and a value that holds the delimiter of a list is
compared on its own.

Source: Azure AI Search, 'OData language overview'.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shared.chat_types import Access
from shared.retrieval import SearchQuery

NOTHING = "false"
"""The filter that nothing passes: there is no need to send it."""

_DELIMITER = "|"
"""Between the values of `search.in`. By itself it takes space and comma, which the names of groups may hold."""


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


def query_filter(query: SearchQuery, fields: IndexFields) -> str | None:
    """What a search is among; None: everything, `NOTHING`: nothing at all."""
    return both(
        category_filter(query.include_category, query.exclude_category, fields),
        access_filter(query.access, fields) if query.access else None,
    )


def category_filter(include: str | None, exclude: str | None, fields: IndexFields) -> str | None:
    """Only one category, and not another one; None: any. What has no category is not excluded."""
    parts = [
        *([f"{fields.category} eq {literal(include)}"] if include else []),
        *([f"{fields.category} ne {literal(exclude)}"] if exclude else []),
    ]
    return " and ".join(parts) or None


def access_filter(access: Access, fields: IndexFields) -> str:
    """Only what may be seen so. Where that is nothing, it is `NOTHING`, never the lack of a filter."""
    parts = [
        *_names_one_of(fields.oids, access.named_oids),
        *_names_one_of(fields.groups, access.named_groups),
        *([f"(not {fields.oids}/any() and not {fields.groups}/any())"] if access.open_documents else []),
    ]
    return f"({' or '.join(parts)})" if parts else NOTHING


def file_filter(sourcefile: str, fields: IndexFields) -> str:
    """Only passages of this file."""
    return f"{fields.sourcefile} eq {literal(sourcefile)}"


def pages_filter(sourcepages: Iterable[str], fields: IndexFields) -> str:
    """Only passages of these pages."""
    return f"({_is_one_of(fields.sourcepage, sourcepages) or NOTHING})"


def both(*filters: str | None) -> str | None:
    """What passes all of those that there are; None: there is none."""
    given = [one for one in filters if one is not None]
    return NOTHING if NOTHING in given else " and ".join(given) or None


def _names_one_of(collection: str, values: Iterable[str]) -> list[str]:
    test = _is_one_of("g", values)
    return [f"{collection}/any(g: {test})"] if test else []


def _is_one_of(variable: str, values: Iterable[str]) -> str:
    """The test whether it is one of the values; empty for no value, and the empty value is none."""
    listed: list[str] = []
    tests: list[str] = []
    for value in filter(None, values):
        if _DELIMITER in value or value != value.strip():
            tests.append(f"{variable} eq {literal(value)}")
        else:
            listed.append(value)
    if listed:
        tests.append(f"search.in({variable}, {literal(_DELIMITER.join(listed))}, '{_DELIMITER}')")
    return " or ".join(tests)


def literal(value: str) -> str:
    """A value as an expression has it."""
    return "'" + value.replace("'", "''") + "'"
