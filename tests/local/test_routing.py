"""Which function answers which path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local import HostError
from local.routing import Matched, NotAllowed, Route, build_route, decode_path, find


def routes(*templates: str, prefix: str = "api", methods: tuple[str, ...] | None = None) -> list[Route]:
    built = [build_route(template or "named", prefix, template, methods) for template in templates]
    return sorted(built, key=lambda route: route.rank)


def chosen(path: str, *templates: str, prefix: str = "api") -> tuple[str, dict[str, str]] | None:
    match find(routes(*templates, prefix=prefix), "GET", decode_path(path)):
        case Matched(function, parameters):
            return function, dict(parameters)
        case _:
            return None


@pytest.mark.parametrize(
    ("path", "template", "parameters"),
    [
        ("/api/chat/stream", "chat/stream", {}),
        ("/api/chat", "{protocol}/chat", None),
        ("/api/rag-chat/chat", "{protocol}/chat", {"protocol": "rag-chat"}),
        ("/API/Rag-Chat/CHAT", "{protocol}/chat", {"protocol": "Rag-Chat"}),
        ("/api/chat/", "chat", {}),
        ("/api/chat//", "chat", None),
        ("/api//chat", "chat", None),
        ("/api/content/a/b.pdf", "content/{*path}", {"path": "a/b.pdf"}),
        ("/api/content", "content/{*path}", {}),
        ("/api/content/", "content/{*path}", {}),
        ("/api/contents", "content/{*path}", None),
        ("/api/a/1", "a/{id?}", {"id": "1"}),
        ("/api/a", "a/{id?}", {}),
        ("/api/a/1/2", "a/{id?}/{more?}", {"id": "1", "more": "2"}),
        ("/api/f/report.pdf", "f/{name}.{extension}", {"name": "report", "extension": "pdf"}),
        ("/other/chat", "chat", None),
        ("/admin/chat", "{*all}", None),
    ],
)
def test_a_template_matches_as_in_functions(path: str, template: str, parameters: dict[str, str] | None) -> None:
    expected = None if parameters is None else (template, parameters)
    assert chosen(path, template, prefix="" if path.startswith("/admin") else "api") == expected


@pytest.mark.parametrize(
    ("path", "templates", "winner"),
    [
        ("/api/items/recent", ["items/{id}", "items/recent"], "items/recent"),
        ("/api/items/7", ["{*all}", "items/{id}"], "items/{id}"),
        ("/api/items/7/parts", ["items/{*rest}", "items/{id}/parts"], "items/{id}/parts"),
        ("/api/chat/stream", ["{protocol}/stream", "chat/{what}"], "chat/{what}"),
    ],
)
def test_the_more_specific_template_wins_in_any_order(path: str, templates: list[str], winner: str) -> None:
    for order in (templates, templates[::-1]):
        found = chosen(path, *order)
        assert found is not None
        assert found[0] == winner


def test_a_function_without_a_route_answers_under_its_name() -> None:
    assert chosen("/api/named", "") == ("named", {})


def test_an_empty_prefix_puts_routes_at_the_root() -> None:
    assert chosen("/chat", "chat", prefix="") == ("chat", {})


@pytest.mark.parametrize(
    ("methods", "asked", "expected"),
    [
        (("POST",), "POST", Matched("chat", {})),
        (("POST",), "GET", None),
        (("POST", "PUT"), "HEAD", NotAllowed(("POST", "PUT"))),
        (("GET",), "HEAD", NotAllowed(("GET",))),
        (("GET", "HEAD"), "HEAD", Matched("chat", {})),
        (None, "PATCH", Matched("chat", {})),
    ],
)
def test_a_wrong_method_is_not_found_except_for_head(
    methods: tuple[str, ...] | None, asked: str, expected: object
) -> None:
    assert find(routes("chat", methods=methods), asked, "/api/chat") == expected


def test_the_method_is_part_of_the_choice() -> None:
    both = [build_route("read", "api", "history", ["GET"]), build_route("write", "api", "history", ["POST"])]
    assert find(both, "POST", "/api/history") == Matched("write", {})


@pytest.mark.parametrize(
    ("raw", "decoded"),
    [
        ("/a%20b", "/a b"),
        ("/a%2520b", "/a%20b"),
        ("/a%2Fb%2fc", "/a%2Fb%2fc"),
        ("/a%252Fb", "/a%2Fb"),
        ("/%C3%A4", "/ä"),
        ("/%FF", "/%FF"),
        ("/%zz%", "/%zz%"),
        ("/a/../b/./c", "/b/c"),
        ("/a/%2e%2e/%2E%2E/../b", "/b"),
        ("/..", "/"),
    ],
)
def test_a_path_is_decoded_once_as_kestrel_does(raw: str, decoded: str) -> None:
    assert decode_path(raw) == decoded


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)))
def test_any_path_can_be_decoded_and_looked_up(path: str) -> None:
    find(routes("content/{*path}", "a/{id}", "{x}.{y}"), "GET", decode_path("/" + path))


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("a/{id:int}", "':int'"),
        ("a/{id=5}", "'=5'"),
        ("a/{id", "brace"),
        ("a/{}", "not a parameter"),
        ("a/b{id?}", "whole segment"),
        ("a/{id?}/b", "must come last"),
    ],
)
def test_a_template_that_cannot_be_served_is_refused_in_words(template: str, complaint: str) -> None:
    with pytest.raises(HostError) as refused:
        build_route("items", "api", template, None)
    assert "Function items" in str(refused.value)
    assert complaint in str(refused.value)
