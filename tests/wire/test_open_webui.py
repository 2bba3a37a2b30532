"""What Open WebUI sends with a question, and what its page lists of the sources of an answer."""

from typing import Any

import pytest

from shared.chat_types import Json
from shared.events import DataPoint, Finished, Retrieved, TextDelta
from shared.wire import openai_body, openai_responses_body
from shared.wire.table import PROTOCOLS
from tests.wire.test_goldens import REQUEST

POINTS = (DataPoint("plan.pdf#page=3", "It pays 80 %."), DataPoint("dental.md", "Implants."))


def listed(chunks: list[dict[str, Any]]) -> dict[str, str]:
    """The sources by their links: what its server makes of each chunk, and its page of that.

    Source: Open WebUI 0.12.4, `utils/middleware.py`, streaming; the page's list of sources.
    """
    sources: list[dict[str, Any]] = []
    for chunk in chunks:
        if "event" in chunk:
            sources.append(chunk["event"]["data"])
        notes: list[dict[str, dict[str, str]]] = chunk["choices"][0]["delta"].get("annotations", [])
        for url, title in ((note["url_citation"]["url"], note["url_citation"]["title"]) for note in notes):
            sources.append({"document": [title], "metadata": [{"source": url, "name": title}]})
    names: dict[str, str] = {}
    for source in sources:
        for _, metadata in zip(source["document"], source["metadata"], strict=True):
            names.setdefault(metadata["source"], metadata["name" if metadata.get("external") else "source"])
    return names


def test_the_list_of_sources_has_titles() -> None:
    encoder = PROTOCOLS["openai"].encoder(REQUEST)
    told = [Retrieved(POINTS, ()), TextDelta("80 % [plan.pdf#page=3]."), Finished("stop")]
    chunks = [record for event in told for record in encoder.encode(event)]
    names = listed([chunk for chunk in chunks if isinstance(chunk, dict)])
    assert [*names.values()] == ["plan.pdf#page=3"]


@pytest.mark.parametrize(
    ("names", "choice", "is_offer"),
    [
        (("get_current_timestamp", "calculate_timestamp", "own"), "auto", True),
        (("search_chats", "view_chat"), None, True),
        (("view_chat",), "required", False),
        (("get_weather",), "auto", False),
    ],
)
def test_its_own_tools_are_only_an_offer(names: tuple[str, ...], choice: str | None, is_offer: bool) -> None:
    functions: list[dict[str, Json]] = [{"name": name, "parameters": {"type": "object"}} for name in names]
    nested: list[Json] = [{"type": "function", "function": one} for one in functions]
    told: dict[str, Json] = {"tool_choice": choice, "messages": [{"role": "user", "content": "Teeth?"}]}
    chat = openai_body.parse(told | {"tools": nested})
    items: list[Json] = [{"type": "function", **one} for one in functions]
    response = openai_responses_body.parse({"tool_choice": choice, "input": "Teeth?", "tools": items})
    assert [request.tool_choice.is_offer for request in (chat, response)] == [is_offer] * 2
