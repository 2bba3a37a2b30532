"""The stand-in must refuse what Azure AI Search refuses, and find what it finds, or tests that pass prove nothing."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any, cast

import aiohttp
import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import SearchField
from azure.search.documents.models import VectorizableTextQuery, VectorizedQuery

from shared.chat_types import Json
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.ai_search_demo import demo_index
from tests.stand_ins.hashed_embedder import hashed_vector

TEXTS = {
    "vision": "Glasses are paid every second year. Lenses too.",
    "dental": "Dental check-ups are paid every year.",
    "parking": "Parking costs forty euros.",
}


def document(key: str, **more: Json) -> dict[str, Json]:
    text = TEXTS[key]
    base: dict[str, Json] = {"id": key, "content": text, "sourcefile": f"{key}.md", "sourcepage": f"{key}.md"}
    vector: list[Json] = [*hashed_vector(text)]
    return {**base, "embedding": vector, **more}


@pytest.fixture
async def service() -> AsyncGenerator[AISearchStandIn]:
    async with AISearchStandIn() as service:
        service.add_index(demo_index(vectorizer=True))
        service.add_documents(
            document("vision", category="benefits", oids=["o'1", "o2"], groups=[]),
            document("dental", category="benefits", groups=["g 1", "g2"]),
            document("parking"),
        )
        yield service


@pytest.fixture
async def client(service: AISearchStandIn) -> AsyncGenerator[SearchClient]:
    credential = AzureKeyCredential(service.admin_key)
    async with SearchClient(service.endpoint, service.index_name, credential, retry_total=0) as client:
        yield client


async def search(client: SearchClient, **arguments: Any) -> list[dict[str, Any]]:
    return [hit async for hit in cast("AsyncIterable[dict[str, Any]]", await client.search(**arguments))]


async def ids(client: SearchClient, **arguments: Any) -> list[str]:
    return [hit["id"] for hit in await search(client, **arguments)]


async def refusal(client: SearchClient, **arguments: Any) -> str:
    with pytest.raises(HttpResponseError) as caught:
        await search(client, **arguments)
    assert caught.value.status_code == 400
    return caught.value.message


async def test_words_find_what_has_them_the_best_first(client: SearchClient) -> None:
    assert await ids(client, search_text="paid glasses") == ["vision", "dental"]
    assert await ids(client, search_text="paid glasses", search_mode="all") == ["vision"]
    assert await ids(client, search_text="paid", search_fields=["content"], top=1) == ["dental"]
    assert await ids(client, search_text="holidays") == []
    assert {hit["@search.score"] for hit in await search(client, search_text="*")} == {1.0}


async def test_vectors_find_what_is_near(client: SearchClient) -> None:
    near = VectorizedQuery(vector=hashed_vector("Parking costs"), k_nearest_neighbors=2, fields="embedding")
    hits = await search(client, vector_queries=[near])
    assert hits[0]["id"] == "parking"
    assert len(hits) == 2
    assert 0.33 < hits[0]["@search.score"] <= 1
    text = VectorizableTextQuery(text="Parking costs", k_nearest_neighbors=2, fields="embedding")
    assert await search(client, vector_queries=[text]) == hits


async def test_words_and_vectors_are_fused_by_rank(client: SearchClient) -> None:
    near = VectorizedQuery(vector=hashed_vector("glasses paid"), k_nearest_neighbors=3, fields="embedding")
    hits = await search(client, search_text="glasses paid", vector_queries=[near])
    assert hits[0]["id"] == "vision"
    assert hits[0]["@search.score"] == pytest.approx(2 / 61)


async def test_the_semantic_ranker_scores_and_quotes(client: SearchClient) -> None:
    asked: dict[str, Any] = {"search_text": "glasses paid", "query_type": "semantic"}
    hits = await search(client, **asked, query_caption="extractive")
    assert [hit["@search.reranker_score"] for hit in hits] == [4.0, 2.0]
    captions = hits[0]["@search.captions"]
    assert captions[0].text == "Glasses are paid every second year"
    assert captions[0].highlights == "<em>Glasses</em> are <em>paid</em> every second year"
    plain = await search(client, **asked, query_caption="extractive", query_caption_highlight_enabled=False)
    assert not plain[0]["@search.captions"][0].highlights
    assert (await search(client, **asked))[0]["@search.captions"] is None
    near = VectorizedQuery(vector=hashed_vector("parking"), k_nearest_neighbors=3, fields="embedding")
    by_vector = await search(client, vector_queries=[near], semantic_query="glasses paid")
    assert by_vector[0]["id"] == "vision"


FILTERS = {
    "category eq 'benefits'": ["vision", "dental"],
    "category ne 'benefits'": ["parking"],
    "category eq null": ["parking"],
    "category ne null and sourcefile gt 'e.md'": ["vision"],
    "sourcefile eq 'vision.md' or sourcefile eq 'parking.md'": ["vision", "parking"],
    "oids/any(g: search.in(g, 'x,o''1', ','))": ["vision"],
    "oids/any(g: g eq 'o2')": ["vision"],
    "groups/any(g: search.in(g, 'g 1|x', '|'))": ["dental"],
    "groups/any(g: search.in(g, 'g 1'))": [],
    "(oids/any(g: search.in(g, 'o2', ',')) or groups/any(g: search.in(g, 'g2', ',')))": ["vision", "dental"],
    "(not oids/any() and not groups/any())": ["parking"],
    "not (category eq 'benefits')": ["parking"],
    "search.in(sourcefile, 'parking.md,vision.md', ',')": ["vision", "parking"],
    "true": ["vision", "dental", "parking"],
    "false": [],
}


@pytest.mark.parametrize("text", FILTERS)
async def test_a_filter_lets_pass_what_it_says(client: SearchClient, text: str) -> None:
    assert await ids(client, filter=text) == FILTERS[text]


WRONG_FILTERS = (
    "category",
    "category eq",
    "category eq 'it's'",
    "category eq 'a' and",
    "category eq 'a'; true",
    "category = 'a'",
    "(category eq 'a'",
    "category eq 'a')",
    "category eq 1",
    "category gt null",
    "category in ('a', 'b')",
    "not category eq 'a'",
    "startswith(category, 'a')",
    "oids eq 'a'",
    "category/any(c: c eq 'a')",
    "oids/all(g: g ne 'a')",
    "oids/any(g: g ne 'a')",
    "oids/any(g: g eq 'a' and g eq 'b')",
    "oids/any(g: category eq 'a')",
    "oids/any(g: not (g eq 'a'))",
    "search.in(oids, 'a')",
    "search.ismatch('a')",
    "content eq 'a'",
    "embedding eq null",
    "colour eq 'red'",
    " or ".join(f"category eq '{number}'" for number in range(1_000)),
    "(" * 200 + "true" + ")" * 200,
)


@pytest.mark.parametrize("text", WRONG_FILTERS, ids=lambda text: text[:40])
async def test_a_wrong_filter_is_refused(client: SearchClient, text: str) -> None:
    assert "$filter" in await refusal(client, filter=text)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a field to show that there is not": ({"select": ["colour"]}, "named 'colour' on type 'search.document'"),
    "a field to show that is hidden": ({"select": ["embedding"]}, "retrievable"),
    "a field to search that there is not": ({"search_text": "a", "search_fields": ["colour"]}, "'colour'"),
    "a field to search that has no words": ({"search_text": "a", "search_fields": ["category"]}, "searchable"),
    "a field to sort by that cannot be": ({"order_by": ["category"]}, "sortable"),
    "captions without the semantic ranker": ({"search_text": "a", "query_caption": "extractive"}, "captions"),
    "a semantic configuration that there is not": (
        {"search_text": "a", "query_type": "semantic", "semantic_configuration_name": "mine"},
        "mine",
    ),
    "too much to skip": ({"skip": 100_001}, "skip"),
    "a negative number of hits": ({"top": -1}, "top"),
    "an unknown kind of query": ({"query_type": "clever"}, "queryType"),
    "too long a text": ({"search_text": "a" * 100_001}, "search"),
    "a vector of another length": (
        {"vector_queries": [VectorizedQuery(vector=[1.0], k_nearest_neighbors=1, fields="embedding")]},
        "dimensions",
    ),
    "a vector field that there is not": (
        {"vector_queries": [VectorizedQuery(vector=[1.0], k_nearest_neighbors=1, fields="colour")]},
        "Unknown field 'colour'",
    ),
    "a vector field that is none": (
        {"vector_queries": [VectorizedQuery(vector=[1.0], k_nearest_neighbors=1, fields="content")]},
        "not a vector field",
    ),
    "no neighbour": (
        {"vector_queries": [VectorizedQuery(vector=[1.0] * 64, k_nearest_neighbors=0, fields="embedding")]},
        "greater than",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_wrong_search_is_refused(client: SearchClient, case: str) -> None:
    arguments, words = REFUSED[case]
    assert words in await refusal(client, **arguments)


async def test_an_index_without_a_vectorizer_takes_no_text_for_a_vector(service: AISearchStandIn) -> None:
    service.add_index(demo_index("plain"))
    async with SearchClient(service.endpoint, "plain", AzureKeyCredential(service.admin_key)) as client:
        text = VectorizableTextQuery(text="a", k_nearest_neighbors=2, fields="embedding")
        assert "vectorizer" in await refusal(client, vector_queries=[text])


@pytest.mark.parametrize("name", ["queryLanguage", "speller", "queryRewrites", "hybridSearch", "colour"])
async def test_parameters_of_previews_are_unknown(service: AISearchStandIn, name: str) -> None:
    status, body = await post(service, f"/indexes('{service.index_name}')/docs/search.post.search", {name: "en-us"})
    assert status == 400
    assert f"'{name}' in the request payload is not a valid parameter" in body


async def post(service: AISearchStandIn, path: str, body: object, **more: Any) -> tuple[int, str]:
    version = more.pop("version", "2026-04-01")
    headers = more.pop("headers", {"api-key": service.admin_key})
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            service.endpoint + path,
            params={"api-version": version} if version else {},
            data=io.BytesIO((body if isinstance(body, str) else json.dumps(body)).encode()),
            headers={"Content-Type": "application/json", **headers},
        ) as response,
    ):
        return response.status, await response.text()


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"version": None}, 400),
        ({"version": "2019-05-06"}, 400),
        ({"headers": {}}, 401),
        ({"headers": {"api-key": "wrong"}}, 403),
        ({"headers": {"Authorization": "Bearer wrong"}}, 401),
        ({"headers": {"api-key": AISearchStandIn.query_key}}, 200),
        ({"headers": {"Authorization": f"Bearer {AISearchStandIn.token}"}}, 200),
    ],
)
async def test_a_request_needs_a_version_and_credentials(
    service: AISearchStandIn, more: dict[str, Any], status: int
) -> None:
    path = f"/indexes('{service.index_name}')/docs/search.post.search"
    assert (await post(service, path, {"search": "a"}, **more))[0] == status


async def test_who_may_read_may_not_write(service: AISearchStandIn) -> None:
    path, batch = f"/indexes('{service.index_name}')/docs/search.index", {"value": [{"id": "a"}]}
    headers = {"api-key": service.query_key}
    assert (await post(service, path, batch, headers=headers))[0] == 403
    service.roles = {"Search Index Data Reader"}
    headers = {"Authorization": f"Bearer {service.token}"}
    assert (await post(service, path, batch, headers=headers))[0] == 403
    assert len(service.index.documents) == 3


BAD_BATCHES: dict[str, tuple[Json, str]] = {
    "no JSON": ("{", "no JSON"),
    "no actions": ({"value": []}, "No indexing actions"),
    "too many actions": ({"value": [{"id": str(number)} for number in range(1_001)]}, "1000"),
    "an unknown action": ({"value": [{"@search.action": "destroy", "id": "a"}]}, "destroy"),
    "no key": ({"value": [{"content": "a"}]}, "key"),
    "a key of other characters": ({"value": [{"id": "a.md"}]}, "Invalid document key: 'a.md'"),
    "an unknown field": ({"value": [{"id": "a", "colour": "red"}]}, "'colour' does not exist"),
    "a value of another type": ({"value": [{"id": "a", "content": 1}]}, "Edm.String"),
    "a vector of another length": ({"value": [{"id": "a", "embedding": [1.0]}]}, "expects a length of '64'"),
    "no collection where there must be one": ({"value": [{"id": "a", "oids": None}]}, "cannot be null"),
    "too long a term": ({"value": [{"id": "a", "category": "a" * 32_767}]}, "too large"),
    "a number that is none": ('{"value": [{"id": "a", "embedding": [NaN]}]}', "no JSON"),
}


@pytest.mark.parametrize("case", BAD_BATCHES)
async def test_a_wrong_batch_is_refused_as_a_whole(service: AISearchStandIn, case: str) -> None:
    batch, words = BAD_BATCHES[case]
    status, body = await post(service, f"/indexes('{service.index_name}')/docs/search.index", batch)
    assert status == 400
    assert words in json.loads(body)["error"]["message"]
    assert len(service.index.documents) == 3


async def test_too_large_a_batch_is_refused(service: AISearchStandIn) -> None:
    batch: Json = {"value": [{"id": "a", "content": "a" * 17_000_000}]}
    assert (await post(service, f"/indexes('{service.index_name}')/docs/search.index", batch))[0] == 413


async def test_documents_are_written_merged_and_deleted(service: AISearchStandIn, client: Any) -> None:
    done = await client.merge_or_upload_documents([{"id": "new", "content": "New."}, {"id": "dental", "category": "x"}])
    assert [(one.succeeded, one.status_code) for one in done] == [(True, 201), (True, 200)]
    assert (await client.get_document("dental"))["content"] == TEXTS["dental"]
    assert "embedding" not in service.index.documents["dental"]  # what is not stored does not survive a merge
    await client.upload_documents([{"id": "dental", "content": "Other."}])
    assert (await client.get_document("dental"))["category"] is None
    assert [one.succeeded for one in await client.merge_documents([{"id": "never", "content": "a"}])] == [False]
    assert [one.succeeded for one in await client.delete_documents([{"id": "new"}, {"id": "never"}])] == [True, True]
    assert await client.get_document_count() == 3


async def test_an_answer_has_pages(service: AISearchStandIn, client: SearchClient) -> None:
    service.add_documents(*({"id": str(number), "category": "many"} for number in range(1_200)))
    many: dict[str, Any] = {"filter": "category eq 'many'", "select": ["id"]}
    assert len(await ids(client, **many)) == 1_200
    assert len(service.requests) == 24
    assert len(await ids(client, **many, top=1_100)) == 1_100
    assert [search.get("skip") for search in service.searches[24:]] == [None, 1_000]
    assert await ids(client, **many, top=3, skip=1_198) == ["1198", "1199"]
    assert await (await client.search(**many, include_total_count=True)).get_count() == 1_200


async def test_an_index_may_get_fields_and_never_lose_or_change_any(service: AISearchStandIn) -> None:
    async with SearchIndexClient(service.endpoint, AzureKeyCredential(service.admin_key)) as client:
        index = await client.get_index(service.index_name)
        index.fields.append(SearchField(name="extra", type="Edm.String", filterable=True))
        await client.create_or_update_index(index)
        assert service.index.definition.field("extra")
        index.fields[2].filterable = False
        with pytest.raises(HttpResponseError, match="cannot be changed"):
            await client.create_or_update_index(index)
        del index.fields[2]
        with pytest.raises(HttpResponseError, match="cannot be changed"):
            await client.create_or_update_index(index)
        with pytest.raises(HttpResponseError, match="already exists"):
            await client.create_index(index)
        assert [name async for name in client.list_index_names()] == [service.index_name]
        with pytest.raises(HttpResponseError, match="No index with the name 'never'"):
            await client.get_index("never")


BAD_INDEXES: dict[str, dict[str, Any]] = {
    "a name in capitals": {"name": "Index", "fields": [{"name": "id", "type": "Edm.String", "key": True}]},
    "no key": {"name": "index", "fields": [{"name": "id", "type": "Edm.String"}]},
    "two keys": {
        "name": "index",
        "fields": [{"name": name, "type": "Edm.String", "key": True} for name in ("id", "other")],
    },
    "an unknown type": {"name": "index", "fields": [{"name": "id", "type": "Edm.Text", "key": True}]},
    "an unknown property": {
        "name": "index",
        "colour": 1,
        "fields": [{"name": "id", "type": "Edm.String", "key": True}],
    },
    "a vector without its profile": {
        "name": "index",
        "fields": [
            {"name": "id", "type": "Edm.String", "key": True},
            {"name": "vector", "type": "Collection(Edm.Single)", "dimensions": 4},
        ],
    },
    "a semantic configuration of fields that there are not": {
        "name": "index",
        "fields": [{"name": "id", "type": "Edm.String", "key": True}],
        "semantic": {
            "configurations": [{"name": "default", "prioritizedFields": {"titleField": {"fieldName": "title"}}}]
        },
    },
}


@pytest.mark.parametrize("case", BAD_INDEXES)
async def test_a_wrong_index_is_refused(service: AISearchStandIn, case: str) -> None:
    assert (await post(service, "/indexes", BAD_INDEXES[case]))[0] == 400
    assert list(service.indexes) == [service.index_name]


async def test_faults_come_when_they_are_asked_for(service: AISearchStandIn, client: Any) -> None:
    service.fail(503, on="write")
    service.let_pass(on="search")
    service.fail(429, headers={"Retry-After": "3"}, on="search")
    assert await ids(client, search_text="glasses") == ["vision"]
    with pytest.raises(HttpResponseError) as caught:
        await search(client, search_text="glasses")
    assert caught.value.status_code == 429
    with pytest.raises(HttpResponseError):
        await client.upload_documents([{"id": "a"}])
    service.fail_documents({"b": 503})
    results = await client.upload_documents([{"id": "a"}, {"id": "b"}])
    assert [one.status_code for one in results] == [201, 503]
    assert [one.succeeded for one in await client.upload_documents([{"id": "b"}])] == [True]
    service.hidden_fields = {"content"}
    assert "content" not in (await search(client, search_text="glasses"))[0]


async def test_a_client_that_leaves_is_noticed(service: AISearchStandIn, client: SearchClient) -> None:
    service.hang()
    searching = asyncio.create_task(search(client, search_text="glasses"))
    hanging = await service.request_number(1)
    searching.cancel()
    await asyncio.gather(searching, return_exceptions=True)
    await hanging.disconnected.wait()
