"""What a caller may see: a request narrows it, and nothing in a request widens it."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.chat_types import Access, Caller, Overrides, Passage, RequestContext, RetrievalMode
from shared.errors import NotAllowed, NotSignedIn, SwitchboardError
from shared.identity import access_of
from shared.retrieval import SearchQuery
from shared.retrieval.sqlite.retriever import SqliteRetriever
from shared.settings import Settings
from tests.small_index import small_index

OPEN = Settings()
ENFORCED = Settings(auth_mode="bearer", access_control="enforced")
WITH_OPEN_DOCUMENTS = ENFORCED.model_copy(update={"access_control": "enforced-or-open"})
BY_OID = Overrides(use_oid_security_filter=True)
BY_GROUPS = Overrides(use_groups_security_filter=True)
BY_BOTH = Overrides(use_oid_security_filter=True, use_groups_security_filter=True)
ME = Caller("me", ("staff",))
IN_TOO_MANY_GROUPS = Caller("me", None)


@pytest.mark.parametrize(
    ("rule", "asked", "seen"),
    [
        (OPEN, None, None),
        (OPEN, Overrides(), None),
        (OPEN, BY_OID, Access("me")),
        (OPEN, BY_GROUPS, Access(None, ("staff",))),
        (OPEN, BY_BOTH, Access("me", ("staff",))),
        (ENFORCED, None, Access("me", ("staff",))),
        (ENFORCED, Overrides(), Access("me", ("staff",))),
        (ENFORCED, BY_OID, Access("me")),
        (ENFORCED, BY_GROUPS, Access(None, ("staff",))),
        (ENFORCED, BY_BOTH, Access("me", ("staff",))),
        (WITH_OPEN_DOCUMENTS, None, Access("me", ("staff",), open_documents=True)),
        (WITH_OPEN_DOCUMENTS, BY_BOTH, Access("me", ("staff",))),
    ],
)
def test_a_caller_sees_what_the_server_and_the_request_both_allow(
    rule: Settings, asked: Overrides | None, seen: Access | None
) -> None:
    assert access_of(ME, rule, asked) == seen


@pytest.mark.parametrize(
    ("rule", "asked"), [(OPEN, BY_OID), (OPEN, BY_GROUPS), (ENFORCED, None), (WITH_OPEN_DOCUMENTS, Overrides())]
)
def test_who_is_not_signed_in_is_refused_where_rights_matter(rule: Settings, asked: Overrides | None) -> None:
    with pytest.raises(NotSignedIn, match="Sign in"):
        access_of(Caller(), rule, asked)


@pytest.mark.parametrize(("rule", "asked"), [(OPEN, BY_GROUPS), (OPEN, BY_BOTH), (ENFORCED, None)])
def test_who_is_in_too_many_groups_is_refused_where_groups_matter(rule: Settings, asked: Overrides | None) -> None:
    with pytest.raises(NotAllowed, match="more groups than a token has room for"):
        access_of(IN_TOO_MANY_GROUPS, rule, asked)


@pytest.mark.parametrize(("rule", "asked"), [(OPEN, None), (OPEN, BY_OID), (ENFORCED, BY_OID)])
def test_who_is_in_too_many_groups_is_served_where_they_do_not_matter(rule: Settings, asked: Overrides | None) -> None:
    assert access_of(IN_TOO_MANY_GROUPS, rule, asked) in (None, Access("me"))


def test_a_key_sees_open_documents_and_those_of_the_groups_that_it_was_given() -> None:
    key, of_staff = Caller(key="report"), Caller(key="report", groups=("staff",))
    assert access_of(key, OPEN) is None
    assert access_of(key, ENFORCED) == Access(None, ())
    assert access_of(key, WITH_OPEN_DOCUMENTS) == Access(None, (), open_documents=True)
    assert access_of(of_staff, ENFORCED) == Access(None, ("staff",))
    assert access_of(of_staff, ENFORCED, BY_OID) == access_of(of_staff, OPEN, BY_OID) == Access()
    assert access_of(of_staff, OPEN, BY_GROUPS) == Access(None, ("staff",))


USERS = ("me", "you")
GROUPS = ("staff", "board")
SPECIAL = {"all", "none"}
"""What documents name that is no user and no group."""
DOCUMENTS = tuple(
    Passage(f"{number}", "The plan pays.", f"{number}.md", f"{number}.md", None, oids, groups)
    for number, (oids, groups) in enumerate(
        (oids, groups)
        for oids in ((), ("me",), ("you",), ("me", "you"), ("all",), ("none",))
        for groups in ((), ("staff",), ("board",), ("staff", "board"), ("all",), ("none",))
    )
)
"""One for every combination of rights."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def retriever(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[SqliteRetriever]:
    async with small_index(tmp_path_factory.mktemp("rights"), DOCUMENTS) as retriever:
        yield retriever


callers = st.builds(
    Caller,
    st.sampled_from((None, *USERS, "nobody", "all", "none", "", "' OR 1=1 --")),
    st.none() | st.lists(st.sampled_from((*GROUPS, "all", "none", "", "staff,board", "') OR ('1"))).map(tuple),
    key=st.sampled_from((None, "me", "all")),
)
overrides = st.builds(
    Overrides,
    use_oid_security_filter=st.booleans(),
    use_groups_security_filter=st.booleans(),
    retrieval_mode=st.sampled_from((None, RetrievalMode.TEXT, RetrievalMode.HYBRID)),
    top=st.integers(1, 50),
    include_category=st.none() | st.just("x' OR 1=1 --"),
    exclude_category=st.none() | st.just("' OR 1=1 --"),
)


@pytest.mark.asyncio(loop_scope="module")
@settings(deadline=None)
@given(caller=callers, asked=overrides, with_open=st.booleans())
async def test_no_request_shows_more_than_the_caller_has_a_right_to(
    retriever: SqliteRetriever, caller: Caller, asked: Overrides, with_open: bool
) -> None:
    rule = WITH_OPEN_DOCUMENTS if with_open else ENFORCED
    try:
        access = access_of(caller, rule, asked)
    except SwitchboardError:
        assert caller.id is None or caller.groups is None
        return
    context = RequestContext("id-1", asyncio.get_running_loop().time() + 30, caller, access)
    query = SearchQuery(
        "plan",
        asked.retrieval_mode,
        asked.top or 3,
        include_category=asked.include_category,
        exclude_category=asked.exclude_category,
        access=access,
    )
    for passage in (await retriever.search(query, context)).passages:
        own_oid, own_groups = {caller.oid or None} - SPECIAL, set(caller.groups or ()) - SPECIAL
        named = own_oid & set(passage.oids) or own_groups & set(passage.groups)
        for_all = not (passage.oids or passage.groups) or "all" in (*passage.oids, *passage.groups)
        assert named or (with_open and for_all)
        assert access is not None
        assert await retriever.may_see(passage.sourcefile, access)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("caller", [Caller("nobody"), Caller("all", ("all", "none")), Caller("none", ())])
async def test_a_document_for_all_is_an_open_one_and_one_for_none_is_not(
    retriever: SqliteRetriever, caller: Caller
) -> None:
    seen = {
        rule.access_control: {
            document
            for document in DOCUMENTS
            if await retriever.may_see(document.sourcefile, access_of(caller, rule) or Access())
        }
        for rule in (ENFORCED, WITH_OPEN_DOCUMENTS)
    }
    assert seen["enforced"] == set()
    assert {(document.oids, document.groups) for document in seen["enforced-or-open"]} == {
        (document.oids, document.groups)
        for document in DOCUMENTS
        if not (document.oids or document.groups) or "all" in (*document.oids, *document.groups)
    }


@pytest.mark.asyncio(loop_scope="module")
async def test_ten_thousand_groups_are_searched_among(retriever: SqliteRetriever) -> None:
    access = access_of(Caller("nobody", (*map(str, range(10_000)), "board")), ENFORCED)
    context = RequestContext("id-1", asyncio.get_running_loop().time() + 30, access=access)
    found = (await retriever.search(SearchQuery("plan", top=50, access=access), context)).passages
    assert {passage.id for passage in found} == {one.id for one in DOCUMENTS if "board" in one.groups}
