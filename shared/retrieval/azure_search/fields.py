"""The fields of an index in Azure AI Search, and OData filters over them.

No value can change a filter's expression: quotes in it are doubled, and a value that holds the delimiter of a list is
compared on its own.

Source: Azure AI Search, 'OData language overview'.
"""

from collections.abc import Iterable, Mapping

import msgspec

from shared.chat_types import Access
from shared.documents.own import PEOPLE
from shared.retrieval import SearchQuery

NOTHING = "false"
"""The filter that no document passes. A search with it need not be sent."""

_DELIMITER = "|"
"""Separates the values of `search.in`. Its default is space and comma, which names of groups may contain."""


_PLACE = ("name", "title", "headings", "date", "sensitivity")


class IndexFields(msgspec.Struct, frozen=True):
    """Names of the index's fields. By default those of azure-search-openai-demo, and further ones of our ingestion."""

    id: str = "id"
    """Key of the document."""
    content: str = "content"
    """Text of the passage, searchable."""
    category: str = "category"
    """Category, for the category filters."""
    sourcepage: str = "sourcepage"
    """Name that answers cite."""
    sourcefile: str = "sourcefile"
    """Name of the source file."""
    oids: str = "oids"
    """Ids of the users who may see the passage, a collection."""
    groups: str = "groups"
    """Ids of the groups whose members may see the passage, a collection."""
    embedding: str = "embedding"
    """Vector of the text."""
    image_embedding: str = "imageEmbedding"
    """Vector of the page's image."""
    name: str = "name"
    """Words of the source file's name, searchable."""
    title: str = "title"
    """Title of the source file, searchable."""
    headings: str = "headings"
    """Headings above the text, a searchable collection."""
    table_head: str = "tableHead"
    """First rows of the table in which the text begins, searchable."""
    date: str = "date"
    """Day that the source file states as its own."""
    sensitivity: str = "sensitivity"
    """Name of the source file's sensitivity label."""
    left_out: str = "leftOut"
    """What of the source file was not read."""
    fingerprint: str = "fingerprint"
    """State of the source file when ingestion indexed it."""
    semantic_configuration: str = ""
    """Name of the semantic ranker's configuration, which is no field; empty: the index's default."""

    @classmethod
    def called(cls, names: Mapping[str, str]) -> "IndexFields":
        """Make the fields of an index that names some differently.

        Args:
            names: `AZURE_SEARCH_FIELDS`: the index's names by the default names.
        """
        other = {"imageEmbedding": "image_embedding", "tableHead": "table_head", "leftOut": "left_out"}
        other |= {"semanticConfiguration": "semantic_configuration"}
        called = {other.get(field, field): name for field, name in names.items()}
        # An index may have a title in `sourcefile`'s place: then it has no other field for titles.
        taken = dict.fromkeys(field for field in _PLACE if field in names.values() and field not in called)
        return cls(**{**dict.fromkeys(taken, ""), **called})

    @property
    def place(self) -> tuple[str, ...]:
        """The fields that say where in its document a passage stands, and what was not read; an index may lack them."""
        names = self.name, self.title, self.headings, self.table_head, self.date, self.sensitivity, self.left_out
        return tuple(filter(None, names))

    @property
    def selected(self) -> tuple[str, ...]:
        """The fields that make up a passage: all but the vectors, and what only ingestion and lists read."""
        own = self.id, self.content, self.category, self.sourcepage, self.sourcefile, self.oids, self.groups
        return *own, *(field for field in self.place if field not in (self.name, self.left_out))


def query_filter(query: SearchQuery, fields: IndexFields) -> str | None:
    """The filter for a query. None: every document passes; `NOTHING`: no document passes."""
    return all_of(
        category_filter(query.include_category, query.exclude_category, fields),
        access_filter(query.access, fields) if query.access else None,
    )


def category_filter(include: str | None, exclude: str | None, fields: IndexFields) -> str | None:
    """The filter for an included and an excluded category, or None. `exclude` keeps documents without a category."""
    parts = [
        *([f"{fields.category} eq {literal(include)}"] if include else []),
        *([f"{fields.category} ne {literal(exclude)}"] if exclude else []),
    ]
    return " and ".join(parts) or None


def access_filter(access: Access, fields: IndexFields) -> str:
    """The filter for documents that `access` allows; `NOTHING`, never None, where it allows no document."""
    shared = None if access.all_shared else _shared_filter(access, fields)
    if not (access.all_shared or access.own):
        return shared or NOTHING  # an index of others may have no names that can be compared
    in_people, in_own = (_in_folder(folder, fields) for folder in (PEOPLE, access.own or PEOPLE))
    visible = all_of(f"not {in_people}", shared)
    if not access.own:
        return visible or NOTHING
    return in_own if visible in (None, NOTHING) else f"(({visible}) or {in_own})"


def _in_folder(folder: str, fields: IndexFields) -> str:
    """The filter for names below a folder, which ends with a slash: the sign after that is `0`."""
    name = fields.sourcefile
    return f"({name} ge {literal(folder)} and {name} lt {literal(f'{folder[:-1]}0')})"


def _shared_filter(access: Access, fields: IndexFields) -> str:
    parts = [
        *_names_one_of(fields.oids, access.named_oids),
        *_names_one_of(fields.groups, access.named_groups),
        *([f"(not {fields.oids}/any() and not {fields.groups}/any())"] if access.open_documents else []),
    ]
    return f"({' or '.join(parts)})" if parts else NOTHING


def file_filter(sourcefile: str, fields: IndexFields) -> str:
    """The filter for passages of this file."""
    return f"{fields.sourcefile} eq {literal(sourcefile)}"


def page_filter(sourcepage: str, fields: IndexFields) -> str:
    """The filter for passages of this page."""
    return f"{fields.sourcepage} eq {literal(sourcepage)}"


def all_of(*filters: str | None) -> str | None:
    """Join filters with `and`, leaving out those that are None. Returns None if all are None."""
    given = [one for one in filters if one is not None]
    return NOTHING if NOTHING in given else " and ".join(given) or None


def _names_one_of(collection: str, values: Iterable[str]) -> list[str]:
    test = _is_one_of("g", values)
    return [f"{collection}/any(g: {test})"] if test else []


def _is_one_of(variable: str, values: Iterable[str]) -> str:
    """The expression that compares a variable with values. Empty values are skipped; without values it is empty."""
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
    """A value as an OData string literal."""
    return "'" + value.replace("'", "''") + "'"
