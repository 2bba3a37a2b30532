"""The running app over Azure AI Search: answers, what the debug display shows, rights, and what callers are told."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from shared.chat_types import Passage
from tests.app.conftest import PASSAGES, hosted
from tests.app.test_answers import body, read_lines
from tests.local.running_host import RunningHost
from tests.retrieval.azure_search.azure_search import search_service
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.entra import ADA, BEN, STAFF, EntraStandIn
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

OWN = "own rules of dental care"
RIGHTS = (
    Passage("ada", f"Ada's {OWN}.", "ada.md", "ada.md", None, (ADA,)),
    Passage("ben", f"Ben's {OWN}.", "ben.md", "ben.md", None, (BEN,)),
    Passage("staff", f"The staff's {OWN}.", "staff.md", "staff.md", None, (), (STAFF,)),
)
FOREIGN = Passage("foreign", "The quarry opens in May.", "Plan: 2024.pdf#page=3", "Plan: 2024.pdf")
"""From an index that others fill: nothing in its names is escaped."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def service() -> AsyncGenerator[AISearchStandIn]:
    async with search_service(
        (*PASSAGES, *RIGHTS, FOREIGN), dimensions=OpenAIStandIn.dimensions, vectorizer=True
    ) as service:
        yield service


@pytest.fixture
def search(service: AISearchStandIn) -> AISearchStandIn:
    """The service as if nobody had asked yet."""
    service.requests.clear()
    return service


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def extractive(service: AISearchStandIn, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    """The app over the index, without a model."""
    async with hosted(tmp_path_factory.mktemp("data"), service.settings) as host:
        yield host


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def with_model(
    service: AISearchStandIn, openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[RunningHost]:
    """The app over the index, with a model that answers and one that makes vectors."""
    async with hosted(tmp_path_factory.mktemp("data"), openai.settings | service.settings) as host:
        yield host


def asking(**overrides: Any) -> dict[str, Any]:
    return body("What does the plan pay for dental care?", context={"overrides": overrides})


def thought(answer: dict[str, Any], title: str) -> dict[str, Any]:
    return next(one for one in answer["context"]["thoughts"] if one["title"] == title)


async def test_an_answer_cites_what_the_index_has(extractive: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.post(extractive.url + "/chat", json=asking()) as response:
        answer = await response.json()
    assert response.status == 200
    assert "[plan.pdf#page=3]" in answer["message"]["content"]
    assert answer["context"]["data_points"]["text"][0].startswith("plan.pdf#page=3: ")


@pytest.mark.parametrize("route", ["chat", "chat/stream"])
@pytest.mark.parametrize(
    "protocol", ["ai-chat", "ai-chat-2024-05-29", "ai-chat-2024-01-28", "semantic-kernel", "semantic-kernel-python"]
)
async def test_a_source_is_cited_by_its_whole_name(
    protocol: str, route: str, extractive: RunningHost, http: aiohttp.ClientSession
) -> None:
    sent = body("When does the quarry open?", context={"overrides": {"top": 1}})
    async with http.post(f"{extractive.url}/{protocol}/{route}", json=sent) as response:
        answer = await response.text()
    assert response.status == 200
    assert f'"text":["{FOREIGN.sourcepage}: {FOREIGN.content}"],"citations":["{FOREIGN.sourcepage}"]' in answer


async def test_the_results_tell_their_scores_and_captions_and_how_they_were_asked_for(
    with_model: RunningHost, http: aiohttp.ClientSession
) -> None:
    sent = asking(semantic_ranker=True, semantic_captions=True, include_category="health", top=1, language="de")
    async with http.post(with_model.url + "/chat", json=sent) as response:
        answer = await response.json()
    assert thought(answer, "Generated search query")["props"] == {
        "top": 1,
        "retrieval_mode": "hybrid",
        "has_vector": True,
        "use_semantic_ranker": True,
        "use_semantic_captions": True,
        "query_type": "semantic",
        "vector_fields": ["embedding"],
        "filter": "category eq 'health'",
        "use_security_filter": False,
    }
    [result] = thought(answer, "Results")["description"]
    assert result.pop("score") == pytest.approx(2 / 61)
    assert 2 <= result.pop("reranker_score") <= 4
    caption = "The Standard plan pays 80 % of dental care."
    assert result == {
        "id": "1",
        "content": caption,
        "embedding": None,
        "imageEmbedding": None,
        "category": "health",
        "sourcepage": "plan.pdf#page=3",
        "sourcefile": "plan.pdf",
        "title": None,
        "headings": [],
        "oids": [],
        "groups": [],
        "captions": [{"text": caption, "highlights": ""}],
    }
    assert answer["context"]["data_points"]["text"] == [f"plan.pdf#page=3: {caption}"]


async def test_who_signs_in_is_answered_from_what_names_them(
    search: AISearchStandIn, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    more = {"ACCESS_CONTROL": "enforced"}
    async with EntraStandIn() as entra, hosted(tmp_path, search.settings | entra.settings | more) as host:

        async def seen(overrides: dict[str, Any], **claims: Any) -> set[str]:
            sent = asking(top=50, **overrides)
            async with http.post(host.url + "/chat", json=sent, headers=entra.bearer(**claims)) as response:
                answer = await response.json()
            assert response.status == 200, answer
            shown = str(answer)
            return {name for name in ("Ada", "Ben", "The staff") if f"{name}'s {OWN}" in shown}

        assert await seen({}) == {"Ada"}
        assert await seen({}, groups=[STAFF]) == {"Ada", "The staff"}
        assert await seen({"use_groups_security_filter": True}, groups=[STAFF]) == {"The staff"}
        assert await seen({"use_groups_security_filter": True}) == set()
        assert await seen({"include_category": "x' or oids/any() or category eq 'x"}) == set()
        async with http.post(host.url + "/chat", json=asking()) as response:
            assert response.status == 401


type Spoil = Callable[[AISearchStandIn], object]

FAULTS: list[tuple[Spoil, int, str]] = [
    (lambda search: search.fail(429, on="search", headers={"Retry-After": "47"}), 429, "47 seconds"),
    (lambda search: search.fail(403, on="search"), 503, "AZURE_SEARCH_API_KEY"),
    (lambda search: search.indexes.clear(), 503, "AZURE_SEARCH_INDEX"),
    (lambda search: search.reply(b"<html>", content_type="text/html", on="search"), 503, "AZURE_SEARCH_ENDPOINT"),
    (lambda search: search.reply(b"{}", on="search"), 503, "AZURE_SEARCH_ENDPOINT"),
]


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
async def test_each_fault_has_its_status_before_anything_goes_out(
    search: AISearchStandIn, extractive: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    indexes = dict(search.indexes)
    for spoil, status, says in FAULTS:
        spoil(search)
        async with http.post(extractive.url + path, json=asking()) as response:
            error = (await response.json())["error"]
        assert (response.status, says in error) == (status, True), error
        assert response.headers.get("Retry-After") == ("47" if status == 429 else "5")
        search.indexes.update(indexes)
    async with http.post(extractive.url + path, json=asking()) as response:
        assert response.status == 200


async def test_documents_without_fields_answer_nothing_and_end_well(
    search: AISearchStandIn, extractive: RunningHost, http: aiohttp.ClientSession
) -> None:
    search.hidden_fields = {field.name for field in search.index.definition.fields}
    async with http.post(extractive.url + "/chat/stream", json=asking()) as response:
        lines = await read_lines(response)
    assert response.status == 200
    assert lines[0]["context"]["data_points"]["text"] == []
    search.hidden_fields = set()
    assert "AZURE_SEARCH_FIELDS" in thought(lines[0], "Generated search query")["props"]["note"]


async def test_a_search_that_is_too_slow_is_a_504(
    search: AISearchStandIn, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    search.hang(on="search")
    async with (
        hosted(tmp_path, search.settings | {"CHAT_DEADLINE_SECONDS": "0.5"}) as host,
        http.post(host.url + "/chat", json=asking()) as response,
    ):
        assert response.status == 504


async def test_vectors_that_nothing_makes_and_fields_that_there_are_not_are_a_400(
    extractive: RunningHost, with_model: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.post(extractive.url + "/chat", json=asking(retrieval_mode="vectors")) as response:
        assert response.status == 400
        assert "EMBEDDINGS=index" in (await response.json())["error"]
    async with http.post(with_model.url + "/chat", json=asking(vector_fields=["embeddings"])) as response:
        assert response.status == 400
        assert "textEmbeddingOnly" in (await response.json())["error"]


@pytest.mark.parametrize(
    ("mode", "text", "images", "searched", "noted"),
    [
        ("hybrid", True, False, "hybrid embedding", False),
        ("hybrid", True, True, "hybrid embedding", True),
        ("hybrid", False, True, "text", True),
        ("hybrid", False, False, "text", False),
        ("vectors", True, False, "vectors embedding", False),
        ("vectors", False, True, "vectors embedding", True),
        ("vectors", False, False, "text", False),
    ],
)
async def test_what_the_newest_front_end_wants_searched_is_never_a_400_where_there_are_vectors_of_texts(
    with_model: RunningHost,
    http: aiohttp.ClientSession,
    mode: str,
    text: bool,
    images: bool,
    searched: str,
    noted: bool,
) -> None:
    sent = asking(retrieval_mode=mode, search_text_embeddings=text, search_image_embeddings=images)
    async with http.post(with_model.url + "/chat", json=sent) as response:
        assert response.status == 200
        props = thought(await response.json(), "Generated search query")["props"]
    assert [props["retrieval_mode"], *props["vector_fields"]] == searched.split()
    assert ("AZURE_VISION_ENDPOINT" in props.get("note", "")) == noted


async def test_the_older_spelling_of_what_to_search_counts_alone(
    with_model: RunningHost, http: aiohttp.ClientSession
) -> None:
    older: dict[str, Any] = {"retrieval_mode": "vectors", "vector_fields": ["imageEmbedding"]}
    sent = asking(search_text_embeddings=True, search_image_embeddings=False, **older)
    async with http.post(with_model.url + "/chat", json=sent) as response:
        assert response.status == 400
        assert "AZURE_VISION_ENDPOINT" in (await response.json())["error"]


async def test_a_service_without_its_index_answers_nothing_and_says_what_is_missing(
    search: AISearchStandIn, http: aiohttp.ClientSession, data_dir: Path
) -> None:
    async with hosted(data_dir, search.settings | {"AZURE_SEARCH_INDEX": ""}) as host:
        for method, path in (("POST", "/chat"), ("GET", "/health")):
            async with http.request(method, host.url + path, json=asking()) as response:
                assert response.status == 503
                assert "AZURE_SEARCH_INDEX is missing" in await response.text()
