"""What to search among, as OData filters (Azure AI Search, 'OData language overview').

Whatever a value holds, it is a value here and never a part of the expression: a quote is doubled, and what a list's
delimiter would split is compared by itself.
"""

from collections.abc import Iterable

from shared.chat_types import Access
from shared.retrieval import SearchQuery
from shared.retrieval.azure_search.fields import IndexFields

NOTHING = "false"
"""The filter that nothing passes: there is no need to send it."""

_DELIMITER = "|"
"""Between the values of `search.in`. By itself it takes space and comma, which the names of groups may hold."""


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
