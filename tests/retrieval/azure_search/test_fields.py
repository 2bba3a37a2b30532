from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from shared.chat_types import Access, Json
from shared.retrieval import SearchQuery
from shared.retrieval.azure_search.fields import (
    NOTHING,
    IndexFields,
    access_filter,
    all_of,
    category_filter,
    file_filter,
    page_filter,
    query_filter,
)
from shared.settings.rules import INDEX_FIELDS
from tests.stand_ins.ai_search_demo import demo_index
from tests.stand_ins.ai_search_odata import compile_filter

FIELDS = IndexFields()
INDEX = demo_index()

odd = st.text() | st.sampled_from(["a'b", "a''", "' or true or '", "a,b", "a|b", " a", "a ", "a\nb", "|", "'", "\\'"])
"""Any text, and those that mean something in a filter."""


def passes(where: str | None, **document: Json) -> bool:
    """Whether a document passes a filter, by the grammar of the service."""
    return where is None or compile_filter(where, INDEX)({"id": "1", "oids": [], "groups": [], **document})


@given(odd.filter(bool), odd)
def test_a_category_is_included_whatever_it_is_called_and_nothing_else_is(category: str, other: str) -> None:
    where = category_filter(category, None, FIELDS)
    assert passes(where, category=category)
    assert passes(where, category=other) == (other == category)
    assert not passes(where, category=None)


@given(odd.filter(bool), odd)
def test_a_category_is_excluded_whatever_it_is_called_and_nothing_else_is(category: str, other: str) -> None:
    where = category_filter(None, category, FIELDS)
    assert not passes(where, category=category)
    assert passes(where, category=other) == (other != category)
    assert passes(where, category=None)


@given(odd.filter(bool), odd)
def test_an_oid_sees_what_names_it_and_nothing_else(oid: str, other: str) -> None:
    where = access_filter(Access(oid), FIELDS)
    assert passes(where, oids=["somebody", oid])
    assert passes(where, oids=[other]) == (other == oid)
    assert not passes(where, groups=[oid])


@given(st.lists(odd, max_size=8), odd)
def test_groups_see_what_names_one_of_them_and_nothing_else(groups: list[str], other: str) -> None:
    where = access_filter(Access(None, tuple(groups)), FIELDS)
    for group in filter(None, groups):
        assert passes(where, groups=["nobodys", group])
    assert passes(where, groups=[other]) == (other in set(groups) - {""})
    assert not passes(where, groups=[])
    assert not passes(where, oids=[*groups])


@given(odd.filter(bool), odd.filter(bool))
def test_a_file_is_found_by_its_name(name: str, other: str) -> None:
    where = file_filter(name, FIELDS)
    assert passes(where, sourcefile=name, sourcepage=other)
    assert passes(where, sourcefile=other, sourcepage=name) == (name == other)


@given(odd.filter(bool), odd.filter(bool))
def test_a_page_is_found_by_its_name(name: str, other: str) -> None:
    where = page_filter(name, FIELDS)
    assert passes(where, sourcepage=name, sourcefile=other)
    assert passes(where, sourcepage=other) == (name == other)


def test_who_is_nobody_sees_nothing() -> None:
    for access in (Access(), Access(None, ()), Access("", ("", ""))):
        assert access_filter(access, FIELDS) == NOTHING
        assert query_filter(SearchQuery("x", include_category="benefits", access=access), FIELDS) == NOTHING
    assert not passes(NOTHING, oids=["anna"])


def test_open_documents_are_those_that_name_nobody() -> None:
    where = access_filter(Access("anna", ("staff",), open_documents=True), FIELDS)
    assert passes(where)
    assert passes(where, oids=["anna"])
    assert passes(where, groups=["staff"], oids=["ben"])
    assert not passes(where, oids=["ben"])
    assert not passes(where, groups=["board"])


def test_a_document_for_all_is_an_open_one_and_one_for_none_is_not() -> None:
    where = access_filter(Access("anna", ("staff",), open_documents=True), FIELDS)
    without = access_filter(Access("anna", ("staff",)), FIELDS)
    for oids, groups in ((["all"], []), ([], ["all"]), (["all"], ["none"])):
        assert passes(where, oids=[*oids], groups=[*groups])
        assert not passes(without, oids=[*oids], groups=[*groups])
    for oids, groups in ((["none"], []), ([], ["none"]), (["none"], ["none"])):
        assert not passes(where, oids=[*oids], groups=[*groups])
    assert passes(where, oids=["none"], groups=["staff"])


def test_nobody_is_all_or_none() -> None:
    assert access_filter(Access("all", ("none", "all")), FIELDS) == NOTHING
    where = access_filter(Access("none", ("all", "none", "staff")), FIELDS)
    assert passes(where, groups=["staff"])
    for name in ("all", "none"):
        assert not passes(where, oids=[name], groups=[name])


def test_who_has_neither_id_nor_group_sees_open_documents_only() -> None:
    where = access_filter(Access(None, (), open_documents=True), FIELDS)
    assert passes(where)
    assert not passes(where, oids=["anna"])


def test_a_category_cannot_widen_what_may_be_seen() -> None:
    query = SearchQuery("x", include_category="x' or category ne 'x", access=Access("anna"))
    where = query_filter(query, FIELDS)
    assert not passes(where, category="x")
    assert not passes(where, category="benefits", oids=["anna"])
    assert passes(where, category="x' or category ne 'x", oids=["anna"])
    assert not passes(where, category="x' or category ne 'x", oids=["ben"])


def test_ten_thousand_groups_are_one_clause() -> None:
    groups = tuple(f"{number:08x}-0000-4000-8000-000000000000" for number in range(10_000))
    where = access_filter(Access(None, groups), FIELDS)
    assert where.count("search.in") == 1
    assert passes(where, groups=[groups[-1]])
    assert not passes(where, groups=["0000271f"])


def test_without_filters_there_is_none() -> None:
    assert query_filter(SearchQuery("x"), FIELDS) is None
    assert all_of(None, None) is None
    assert all_of(None, "category eq 'x'") == "category eq 'x'"


def test_the_filters_are_those_of_the_index() -> None:
    fields = IndexFields.called({"category": "kind", "oids": "users", "groups": "teams"})
    query = SearchQuery("x", include_category="it's", exclude_category="old", access=Access("anna", ("a", "b c")))
    assert query_filter(query, fields) == (
        "kind eq 'it''s' and kind ne 'old' and "
        "(users/any(g: search.in(g, 'anna', '|')) or teams/any(g: search.in(g, 'a|b c', '|')))"
    )


def test_every_field_can_be_called_otherwise() -> None:
    fields = IndexFields.called({name: f"my_{name}" for name in INDEX_FIELDS})
    assert set(astuple(fields)) == {f"my_{name}" for name in INDEX_FIELDS}
