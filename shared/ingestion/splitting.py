"""Pages to passages: pieces of a size that suits a prompt, cut where the text itself has its breaks."""

from collections.abc import Iterator, Sequence
from functools import cache

from semantic_text_splitter import MarkdownSplitter

from shared.chat_types import Passage
from shared.ingestion.naming import category, passage_id, sourcepage
from shared.reading.pages import Page, UnreadableError

PASSAGE_TOKENS = 500
"""The most that a passage holds."""
OVERLAP_TOKENS = 50
"""The most that two passages of a section share: whole sentences or list items, none when the last is longer."""
MOST_PASSAGES = 10_000
"""Of a document, some 8,000 printed pages: with their vectors they are in memory all at once."""
LONGEST_PIECE = 50_000
"""Characters that are split together: what has no breaks takes the square of its length."""
_BREAKS = ("\n\n", "\n", " ")
"""Where a longer text is cut, best first."""
_TOKENS_OF = "gpt-4o"
"""The model whose tokens are counted; its vocabulary (o200k) comes with the splitter, so nothing is fetched."""


def split(sourcefile: str, pages: Sequence[Page], most: int = MOST_PASSAGES) -> list[Passage]:
    """The passages of a file, in order: cut at headings, else at paragraphs, else at sentences, never across pages.

    Plain text is split as Markdown too: the empty lines between its paragraphs mean the same.

    Raises:
        UnreadableError: there are more than `most`.
    """
    passages: list[Passage] = []
    for page in pages:
        for text in (chunk for piece in pieces(page.text) for chunk in _splitter().chunks(piece)):
            if len(passages) == most:
                raise UnreadableError(f"holds more than {most:,} passages of text; split it.")
            passages.append(
                Passage(
                    id=passage_id(sourcefile, len(passages)),
                    content=text,
                    sourcepage=sourcepage(sourcefile, page.number),
                    sourcefile=sourcefile,
                    category=category(sourcefile),
                )
            )
    return passages


def pieces(text: str) -> Iterator[str]:
    """A text in pieces of at most `LONGEST_PIECE`, cut after its paragraphs if that can be."""
    start = 0
    while len(text) - start > LONGEST_PIECE:
        end = start + LONGEST_PIECE
        ends = (text.rfind(mark, start, end) + len(mark) for mark in _BREAKS if mark in text[start:end])
        end = next(ends, end)
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _splitter() -> MarkdownSplitter:
    return MarkdownSplitter.from_tiktoken_model(_TOKENS_OF, PASSAGE_TOKENS, overlap=OVERLAP_TOKENS)
