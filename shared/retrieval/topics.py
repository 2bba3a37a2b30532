"""Suggestions of what to ask about: headings and titles of some of the documents that the caller may see."""

import re
from collections.abc import Sequence
from contextlib import suppress

from shared.chat_types import Passage, RequestContext
from shared.documents import DocumentReader
from shared.documents.listing import list_documents
from shared.errors import TooLarge
from shared.retrieval import Retriever, words_in_name

_MOST_LISTED, _MOST_TOPICS = 24, 3
"""Documents to choose from, and those of them that are read."""
_HEADING = re.compile(r"^#{1,6} +(.{3,80}?) *\n+(?=[^#|\s].{60})", re.MULTILINE)
"""A heading with a paragraph below it, which says something about it."""
_WORDS, _LONGEST = range(2, 9), 80


async def topics_of(store: DocumentReader, retriever: Retriever, context: RequestContext) -> list[str]:
    """Find topics, one of a document; a topic with a question mark is a question that the document answers.

    Raises:
        SwitchboardError: the store or the index fails now.
    """
    listed = await list_documents(store, context.access, retriever.extent, search="", after="", limit=_MOST_LISTED)
    names = [one.document.name for one in listed if one.extent]
    step = max(len(names) / _MOST_TOPICS, 1)
    topics: list[str] = []
    for name in [names[int(at * step)] for at in range(min(len(names), _MOST_TOPICS))]:
        passages: Sequence[Passage] = ()
        with suppress(TooLarge):
            passages = await retriever.read(name, context)
        topics.append(_topic(name, passages))
    return list(dict.fromkeys(topics))


def _topic(name: str, passages: Sequence[Passage]) -> str:
    title = (passages[0].title if passages else "") or words_in_name(name)
    found = [heading for passage in passages for heading in _HEADING.findall(passage.content)]
    headings = [heading for heading in found if len(heading.split()) in _WORDS and heading != title]
    questions = [heading for heading in headings if heading.endswith("?")]
    return next(iter(questions or headings), title)[:_LONGEST]
