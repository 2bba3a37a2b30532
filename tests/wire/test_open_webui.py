"""What Open WebUI's page lists of the sources of an answer."""

from typing import Any

from shared.events import DataPoint, Finished, Retrieved, TextDelta
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
