"""Makes Markdown links of citations, for clients that show an answer's Markdown and know nothing of its sources.

`[plan.pdf#page=3]` becomes `[plan.pdf#page=3](https://…/content/plan.pdf#page=3)`, if it is a source of the answer. The
history and traces have the citations as they were, and a link that a client sends back becomes a citation again.
"""

import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from copy import replace
from urllib.parse import quote

from shared.chat_types import ChatRequest, Message
from shared.citations import CITATION, MOST_CITATIONS, WholeCitations
from shared.events import AgentMessage, ChatEvent, DataPoint, Retrieved, TextDelta


async def linked(events: AsyncGenerator[ChatEvent], base: str) -> AsyncGenerator[ChatEvent]:
    """Pass on a turn's events, with links in their texts.

    Args:
        events: The events of a turn.
        base: URL of the documents, without a slash at its end.
    """
    known: dict[str, str] = {}
    whole = WholeCitations(lambda text: _with_links(text, known))
    async with aclosing(events):
        async for event in events:
            text = whole.feed(event.text) if isinstance(event, TextDelta) else whole.flush()
            if text:
                yield TextDelta(text)
            if isinstance(event, TextDelta):
                continue
            if isinstance(event, Retrieved):
                known |= links_of(event.data_points, base)
            if isinstance(event, AgentMessage):
                yield replace(event, text=_with_links(event.text, links_of(event.data_points, base)))
            else:
                yield event


def without_links(request: ChatRequest, base: str) -> ChatRequest:
    """Make citations of the links that a client sends back, so that the model sees what it wrote."""
    link = re.compile(rf"\]\({re.escape(base)}/[^()\s]{{1,1000}}\)")

    def plain(message: Message) -> Message:
        return (
            replace(message, content=link.sub("]", message.content, MOST_CITATIONS))
            if base in message.content
            else message
        )

    return replace(request, messages=tuple(map(plain, request.messages)), steps=tuple(map(plain, request.steps)))


def links_of(sources: Iterable[DataPoint], base: str) -> dict[str, str]:
    """Return the URLs of sources by their names, for documents below a URL without a slash at its end."""
    return {source.sourcepage: f"{base}/{path_of(source.sourcepage)}" for source in sources}


def path_of(sourcepage: str) -> str:
    """Return the path of a source in a URL; its page, if it has one, stays the fragment."""
    path, page, number = sourcepage.rpartition("#page=")
    return f"{quote(path)}{page}{number}" if number.isdecimal() else quote(sourcepage)


def _with_links(text: str, known: dict[str, str]) -> str:
    return CITATION.sub(lambda cited: f"{cited[0]}({link})" if (link := known.get(cited[1])) else cited[0], text)
