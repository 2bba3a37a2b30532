"""Markdown and its like are read as the pages that are made of them show them."""

import pytest

from tests.reading.sources import read_pages


def read(text: str, suffix: str = ".md") -> str:
    return read_pages(text.encode(), suffix)[0].text


def test_of_front_matter_the_title_and_the_description_are_shown() -> None:
    front = (
        '---\nlayout: article\ntitle: "Summer hours"\ndescription: >-\n  When the office\n  is open.\ntags: [a]\n---\n'
    )
    assert read(f"{front}Text.") == "# Summer hours\n\nWhen the office is open.\n\nText."
    assert read(f"{front}# Summer hours\n\nText.") == "When the office is open.\n\n# Summer hours\n\nText."
    assert read("---\nno front matter") == "---\nno front matter"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a <!-- not\nshown --> b", "a  b"),
        ("a {% comment %} not shown {% endcomment %} b", "a  b"),
        ("{% include nav.html %}\na {{ site.name }} b", "a  b"),
        ('{{< callout title="Careful now" >}}Inner{{< /callout >}}', "Careful nowInner"),
        (":::tip Good to know\nText\n:::", " Good to know\nText"),
        ("## Part {#part-1}\n\nText {: .wide}", "## Part\n\nText"),
        ('one<br>two <img src="a.png"> <b>three</b> List<int> x < y', "one\ntwo  three List<int> x < y"),
        ("`{{ code }}` and `<b>`", "`{{ code }}` and `<b>`"),
        ("R&amp;D &lt; 5&#x20;% `&amp;`", "R&D < 5 % `&amp;`"),
        ("```\n{% raw %}\n<!-- kept -->\nTitle\n-----\n```", "```\n{% raw %}\n<!-- kept -->\nTitle\n-----\n```"),
        ("Opening\n=======\n\nText\n\nPart\n---\n\nMore", "# Opening\n\nText\n\n## Part\n\nMore"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        (
            "<table>\n<tr>\n<th>Boat</th>\n<th>Fee\n\n<tr><td>*Oar*<br>wide<td>{% x %}7</tr></table>\nMore <table>",
            "| Boat | Fee |\n| --- | --- |\n| *Oar* wide | 7 |\n\nMore",
        ),
        ("<table><tr><td rowspan=2>a<td>b<tr><td>c</table>", "| a| b\n| c"),
        ("a\n\n| b<br>c | d<ul><li>e</ul> |\n|---|---|", "a\n\n| b c | d e |\n|---|---|"),
        ("```\n<table><tr><td>a</table>\n```", "```\n<table><tr><td>a</table>\n```"),
        ("text\n\n---\n\nmore", "text\n\n---\n\nmore"),
        ("never closed <!-- ", "never closed"),
        (
            "import { Aside, Tab } from '@astrojs/starlight';\nimport './a.css'\n\nimport duties from 2026",
            "import duties from 2026",
        ),
        (
            '<Aside type="tip" title="Careful">\nText\n</Aside>\n<Icon name="a" />{/* not\nshown */} Dear <Company>',
            "Careful\nText\n\n Dear <Company>",
        ),
        ("```\nimport a from 'b'\n<Tabs>x</Tabs>\n```", "```\nimport a from 'b'\n<Tabs>x</Tabs>\n```"),
    ],
)
def test_only_what_a_page_shows_is_text(written: str, shown: str) -> None:
    assert read(written) == shown


def test_tags_that_a_generator_would_fill_in_are_named() -> None:
    (page,) = read_pages(b"Call {{ site.phone }}.", ".md")
    assert (page.text, page.left_out) == ("Call .", ("template tags",))
    assert read_pages(b"Call `{{ site.phone }}`.", ".md")[0].left_out == ()


def test_headings_of_other_formats_are_headings() -> None:
    text = "=====\nTitle\n=====\n\nPart\n====\n\nDeep\n~~~~\n\nPart two\n========\n"
    assert read(text, ".rst") == "# Title\n\n## Part\n\n### Deep\n\n## Part two"
    assert read("= Title\n\n== Part\n\na == b", ".adoc") == "# Title\n\n## Part\n\na == b"


@pytest.mark.parametrize(
    "piece",
    [
        "<!--",
        "{{",
        "{%",
        "`",
        "```\n",
        "<a ",
        ":::{",
        "a\n",
        "=\n",
        "{% comment %}",
        "<table>",
        "{/*",
        "<A x",
        "import a from 'b",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """The time limit of the tests is what a quadratic pattern would exceed."""
    read_pages(b"x" + piece.encode() * (1_000_000 // len(piece)), ".md")
