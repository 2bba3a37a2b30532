"""Citations as Markdown links, however the text is cut, and back."""

from collections.abc import AsyncGenerator

import pytest

from shared.chat_types import ChatRequest, Message, Role
from shared.core.citation_links import linked, without_links
from shared.events import AgentMessage, ChatEvent, DataPoint, Finished, Retrieved, TextDelta

BASE = "https://app.example/api/content"
SOURCES = (DataPoint("a/plan (new).pdf#page=3", "x"), DataPoint("b.md", "x"))
TEXT = "Paid [a/plan (new).pdf#page=3][b.md]. See [1], [other.md], [b.md](https://elsewhere.example) and [b.md"
LINKED = (
    f"Paid [a/plan (new).pdf#page=3]({BASE}/a/plan%20%28new%29.pdf#page=3)[b.md]({BASE}/b.md). "
    "See [1], [other.md], [b.md](https://elsewhere.example) and [b.md"
)


async def turn(*events: ChatEvent) -> AsyncGenerator[ChatEvent]:
    for event in events:
        yield event


async def shown(*events: ChatEvent) -> list[ChatEvent]:
    return [event async for event in linked(turn(*events), BASE)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
async def test_sources_become_links_however_the_text_is_cut(size: int) -> None:
    pieces = [TextDelta(TEXT[start : start + size]) for start in range(0, len(TEXT), size)]
    events = await shown(Retrieved(SOURCES, ()), *pieces, Finished("stop"))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == LINKED
    assert isinstance(events[-1], Finished)


async def test_each_agents_message_has_links_to_its_own_sources() -> None:
    one = AgentMessage("A", 0, "[b.md]", data_points=SOURCES)
    other = AgentMessage("B", 1, "[b.md]")
    assert [event.text for event in await shown(one, other) if isinstance(event, AgentMessage)] == [
        f"[b.md]({BASE}/b.md)",
        "[b.md]",
    ]


def test_links_that_come_back_become_citations() -> None:
    request = ChatRequest((Message(Role.ASSISTANT, LINKED), Message(Role.USER, "And more?")))
    assert without_links(request, BASE).messages == (Message(Role.ASSISTANT, TEXT), Message(Role.USER, "And more?"))
