"""HTML to Markdown: the text with its headings, lists and tables, without navigation and decoration."""

import re
from io import StringIO

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.packages import MARKUP, TAGS
from shared.reading.plain_text import decode

_NOT_CONTENT = ["head", "script", "style", "noscript", "template", "nav", "svg", "iframe", "object", "button"]
_PLAIN = ["a", "img", "b", "strong", "em", "i", "u", "s", "del", "code", "kbd", "samp", "sub", "sup"]
"""Tags of which only the text is kept: a link as `[text](url)` would look like a citation in an answer."""
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*>")
_CHARSET_SEARCH_BYTES = 4096
"""Bytes at the start of a file in which its charset is looked for.

Source: HTML standard, 'prescan a byte stream' (1024 there; real pages have it later).
"""


def read_html(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> str:
    """Convert an HTML file to Markdown."""
    check_limit(len(data), limits.markup_bytes, MARKUP)
    start = data[:_CHARSET_SEARCH_BYTES]
    declared = _META_CHARSET.search(start) or _XML_ENCODING.search(start)
    return html_to_markdown(decode(data, declared[1].decode("ascii") if declared else None), limits.tags)


def html_to_markdown(html: str, max_tags: int = DOCUMENT_LIMITS.tags) -> str:
    """Convert the content of an HTML document to Markdown. A document without `h1` gets its title as heading.

    Raises:
        ReadLimitError: it holds more tags and attributes than `max_tags`.
    """
    check_limit(html.count("<") + html.count("="), max_tags, TAGS)
    without_declaration = _XML_DECLARATION.sub("", html)  # with it, lxml takes XHTML for other XML
    # lxml, not html.parser: that takes quadratic time on unclosed tags in Python releases still in use.
    soup = BeautifulSoup(StringIO(without_declaration), "lxml")  # BeautifulSoup may take a short string for a file name
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for element in soup.find_all(_NOT_CONTENT):
        element.decompose()
    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        strip=_PLAIN,
        wrap=True,  # with no width: removes the line breaks of the source, so that sentences are whole
        wrap_width=None,
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        table_infer_header=True,
    )
    markdown = converter.convert_soup(soup)
    return markdown if soup.find("h1") or not title else f"# {title}\n\n{markdown}"
