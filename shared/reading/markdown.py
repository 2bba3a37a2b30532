"""Markdown, reStructuredText and AsciiDoc to the text that readers of a page see, with its headings in Markdown.

Front matter, comments, and the tags with which generators of sites make pages of it are none of that text. No part is
parsed: each pattern looks at a bounded number of characters.
"""

import re
from collections.abc import Iterator
from functools import partial
from html import unescape

from shared.reading import Page
from shared.reading.tables import markdown_table

FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(.*?)\n\1[ \t]*(?:\r?\n|\Z)", re.DOTALL)
"""What Jekyll, Hugo, Docusaurus and others write above a page."""
_SHOWN_ENTRY = re.compile(r"^(title|description)[ \t]*[:=][ \t]*(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE | re.IGNORECASE)
_QUOTES = re.compile(r"""^[>|][+-]?\s+|^(["'])(?=.*\1$)|(?<=.)["']$""", re.DOTALL)
_SPECIAL = re.compile(
    r"""
    (?P<code>^[ ]{0,3}(?P<fence>```+|~~~+)[^\n]*\n .*? (?:^[ ]{0,3}(?P=fence)[`~]*[ \t]*$|\Z)
        | (?<!`)(?P<tick>`{1,9})(?!`)[^\n]{1,500}?(?<!`)(?P=tick)(?!`))
    | (?P<comment><!--|\{%-?[ ]*comment[ ]*-?%\}|\{/\*)
    | (?P<import>^import[ \t](?:[\w*{},$ \t]{1,300}[ \t]from[ \t]+)?["'][^"'\n]{1,300}["'];?[ \t]*$)
    | (?P<component></?(?P<kind>[A-Z]\w{0,30})(?:[ \t\n][^<>]{0,1000})?/?>)
    | (?P<tag>\{\{[^{}]{0,500}\}\} | \{%(?:(?!%\}|\{%).){0,500}%\})
    | (?P<mark>^:::+[ \t]*(?:\{[^{}\n]{0,200}\}|[\w-]*) | \{:[^{}\n]{0,200}\} | [ \t]*\{\#[\w-]{1,100}\})
    | (?P<html></?(?P<name>[a-z][a-z0-9]{0,12})(?:[ \t\n][^<>]{0,1000})?/?>)
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
"""Code, and what is not shown: comments, imports and components of MDX, tags of Liquid and Hugo, marks of blocks and
attributes, and HTML."""
_ENDS = {"<!--": re.compile("-->"), "{/*": re.compile(r"\*/\}")}
_LIQUID_ENDS, _CLOSED = re.compile(r"\{%-?[ ]*endcomment[ ]*-?%\}"), re.compile(r"</([A-Z]\w{0,30})>")
_TABLE_END, _ROW, _CELL = "</table>", re.compile(r"<tr\b[^<>]{0,1000}>"), re.compile(r"<t[dh]\b[^<>]{0,1000}>")
_LONGEST_ROW = 5_000
"""Characters of a table's row in Markdown; a line break in it is one in a cell."""
_SHOWN_VALUE = re.compile(r"""\b(?:title|caption|label|summary)[ ]*=[ ]*(["'])(.*?)\1""", re.DOTALL)
_STARTS = {"br": "\n", "p": "\n\n", "div": "\n", "li": "\n- ", "tr": "\n", "td": "| ", "th": "| ", "summary": "\n"}
_ELEMENTS = re.compile(
    r"a|b|center|code|dd|details|d[lt]|em|figcaption|figure|font|h[1-6r]|i|img|kbd|ol|picture|s|section|small|source|span"
    r"|strong|su[bp]|table|tbody|tfoot|thead|ul?|video"
)
"""The elements that people write into Markdown, besides those whose start stands for something."""
_UNDERLINED = re.compile(
    r"""
    ^[ ]{0,3}(?P<fence>```+|~~~+)[^\n]*\n [\s\S]*? (?:^[ ]{0,3}(?P=fence)[`~]*[ \t]*$|\Z)
    | ^(?:(?P<above>[=\-~^"'`\#*+.:_])(?P=above){2,}[ \t]*\n)?
      (?![-|>])(?P<title>\S[^\n]{0,150})\n
      (?P<below>[=\-~^"'`\#*+.:_])(?P=below){2,}[ \t]*$
    """,
    re.MULTILINE | re.VERBOSE,
)
"""A heading of reStructuredText; those of Markdown have no line above, and one of `=` or `-` below."""
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(?=\S)", re.MULTILINE)


def shown_markdown(text: str) -> Page:
    """The text that a page in Markdown shows."""
    front = FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    found = dict(map(_entry, _SHOWN_ENTRY.finditer(front[2]))) if front else {}
    title, description = found.get("title", ""), found.get("description", "")
    left_out: list[str] = []
    body = _UNDERLINED.sub(partial(_underlined, {"=": 1, "-": 2}, is_markdown=True), "".join(_shown(body, left_out)))
    has_title = title and re.search(rf"^#\s+{re.escape(title)}\s*$", body, re.MULTILINE)
    parts = ("" if has_title or not title else f"# {title}", description, body.strip("\n"))
    return Page("\n\n".join(filter(None, parts)), left_out=tuple(dict.fromkeys(left_out)))


def shown_rst(text: str) -> str:
    """A text in reStructuredText: the kinds of lines that underline headings have levels in the order of their use."""
    return _UNDERLINED.sub(partial(_underlined, {}, is_markdown=False), text)


def shown_asciidoc(text: str) -> str:
    """A text in AsciiDoc."""
    return _ASCIIDOC.sub(lambda found: f"{'#' * len(found[1])} ", text)


def _entry(found: re.Match[str]) -> tuple[str, str]:
    return found[1].lower(), " ".join(_QUOTES.sub("", found[2].strip()).split())


def _shown(text: str, left_out: list[str]) -> Iterator[str]:
    """The pieces of a text that are shown, with its tables in HTML as tables in Markdown."""
    start, last_table, closed = 0, text.rfind(_TABLE_END), set(_CLOSED.findall(text))
    while found := _SPECIAL.search(text, start):
        yield unescape(text[start : found.start()])
        start = found.end()
        if found["comment"]:
            ends = _ENDS.get(found["comment"], _LIQUID_ENDS).search(text, start)
            start = ends.end() if ends else len(text)
        elif found["component"]:  # else a place for a name, such as <Company>
            is_one = found["kind"] in closed or found[0].endswith("/>")
            yield " ".join(value for _, value in _SHOWN_VALUE.findall(found[0])) if is_one else found[0]
        elif found["tag"]:
            left_out.append("template tags")
            yield " ".join(value for _, value in _SHOWN_VALUE.findall(found["tag"]))
        elif (name := found["name"]) == "table" and found.start() < last_table and found["html"] != _TABLE_END:
            table, start = text[start : (end := text.index(_TABLE_END, start))], end
            above, *rows = [table] if "span=" in table else _ROW.split(table)  # else columns would shift
            cells = [["".join(_shown(cell, left_out)) for cell in _CELL.split(row)[1:]] for row in rows]
            yield f"\n\n{''.join(_shown(above, left_out))}\n\n{markdown_table(cells)}\n\n"
        elif name in _STARTS or (name and _ELEMENTS.fullmatch(name)):
            instead = "" if not name or found["html"].startswith("</") else _STARTS.get(name, "")
            line = text.rfind("\n", max(found.start() - _LONGEST_ROW, 0), found.start()) + 1
            is_in_row = text[line : line + 4].lstrip().startswith("|")
            yield " " if is_in_row and "\n" in instead else instead
        elif not (found["mark"] or found["import"]):
            yield found[0]
    yield unescape(text[start:])


def _underlined(levels: dict[str, int], found: re.Match[str], *, is_markdown: bool) -> str:
    above, title, below = found["above"], found["title"], found["below"]
    if not title or (above and above != below) or (is_markdown and (above or below not in levels)):
        return found[0]
    level = levels.setdefault(f"{above or ''}{below}", len(levels) + 1)
    return f"{'#' * min(level, 6)} {title.strip()}"
