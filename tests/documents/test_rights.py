"""Whom the rights of a document leave out."""

import pytest

from shared.chat_types import Access
from shared.documents import Rights

ANNA = Access("anna", ("staff",))
ANNA_AND_OPEN = Access("anna", ("staff",), open_documents=True)


@pytest.mark.parametrize(
    "rights", [Rights(), Rights(("anna",)), Rights(("ben",), ("staff",)), Rights(("none",), ("staff",))]
)
def test_who_is_named_is_let_in_and_so_is_everybody_where_nobody_is(rights: Rights) -> None:
    assert not rights.forbid(ANNA)
    assert not rights.forbid(ANNA_AND_OPEN)


@pytest.mark.parametrize("rights", [Rights(("ben",)), Rights((), ("board",)), Rights(("none",)), Rights((), ("none",))])
def test_who_is_not_named_is_left_out(rights: Rights) -> None:
    assert rights.forbid(ANNA)
    assert rights.forbid(ANNA_AND_OPEN)


@pytest.mark.parametrize("rights", [Rights(("all",)), Rights((), ("all",)), Rights(("all",), ("none",))])
def test_what_is_for_all_is_for_those_who_see_open_documents(rights: Rights) -> None:
    assert rights.forbid(ANNA)
    assert not rights.forbid(ANNA_AND_OPEN)


def test_nobody_is_all_or_none() -> None:
    assert Rights(("all", "none"), ("all", "none")).forbid(Access("all", ("all", "none")))
