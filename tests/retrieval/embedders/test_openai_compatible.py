import json
from collections.abc import AsyncIterator

import pytest

from shared.errors import BadRequest, RateLimited, Unavailable
from shared.outbound.openai_service.connection import ServedModel
from shared.outbound.openai_service.service import OpenAIService
from shared.retrieval.embedders.openai_compatible import OpenAIEmbedder
from tests.stand_ins.openai_connected import connection_to
from tests.stand_ins.openai_service import EMBEDDINGS, OpenAIStandIn


@pytest.fixture
async def service() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


@pytest.fixture
async def embedder(service: OpenAIStandIn) -> AsyncIterator[OpenAIEmbedder]:
    model = ServedModel(service.embedding_model, "OPENAI_EMBEDDING_MODEL")
    embedder = OpenAIEmbedder(OpenAIService(connection_to(service)), model)
    yield embedder
    await embedder.aclose()


async def test_each_text_gets_its_vector_in_order(service: OpenAIStandIn, embedder: OpenAIEmbedder) -> None:
    texts = [f"word{number}" for number in range(300)]
    vectors = await embedder.embed(texts)
    assert embedder.model == service.embedding_model
    assert [len(json.loads(json.dumps(request.body["input"]))) for request in service.requests] == [128, 128, 44]
    for place in (0, 127, 128, 299):
        assert vectors[place] == (await embedder.embed([texts[place]]))[0]
    assert len({tuple(vector) for vector in vectors}) > 100


@pytest.mark.parametrize(
    ("name", "question", "passage"),
    [
        ("intfloat/multilingual-e5-small", "query: word", "passage: word"),
        ("text-embedding-nomic-embed-text-v1.5", "search_query: word", "search_document: word"),
        ("multilingual_e5_large_instruct", "word", "word"),
        ("text-embedding-3-large", "word", "word"),
    ],
)
async def test_a_model_is_sent_the_prefixes_that_it_was_trained_with(
    service: OpenAIStandIn, name: str, question: str, passage: str
) -> None:
    service.embedding_model = name
    embedder = OpenAIEmbedder(OpenAIService(connection_to(service)), ServedModel(name, "OPENAI_EMBEDDING_MODEL"))
    for questions, expected in ((True, question), (False, passage)):
        await embedder.embed(["word"], questions=questions)
        assert service.requests[-1].body["input"] == [expected]
    assert embedder.model.startswith(name)
    assert (embedder.model == name) is (passage == "word"), "vectors made without the prefix do not fit"
    await embedder.aclose()


async def test_no_texts_are_no_request(service: OpenAIStandIn, embedder: OpenAIEmbedder) -> None:
    assert await embedder.embed([]) == []
    assert service.requests == []


async def test_an_empty_text_gets_a_vector_too(embedder: OpenAIEmbedder) -> None:
    assert len(await embedder.embed(["", "word"])) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"oops",
        b"{}",
        b'{"data": []}',
        b'{"data": [{"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
        b'{"more": ' + b"[" * 100_000 + b"]" * 100_000 + b', "data": [{"index": 0, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0' + b",1" * 400_000 + b"]}]}",
    ],
)
async def test_what_are_no_vectors_is_an_unavailable_service(
    service: OpenAIStandIn, embedder: OpenAIEmbedder, body: bytes
) -> None:
    service.reply_raw(body, content_type="application/json", on=EMBEDDINGS)
    with pytest.raises(Unavailable, match="OPENAI_BASE_URL"):
        await embedder.embed(["word"])


async def test_the_same_table_of_errors_holds(service: OpenAIStandIn, embedder: OpenAIEmbedder) -> None:
    service.fail(429, headers={"Retry-After": "33"}, on=EMBEDDINGS)
    with pytest.raises(RateLimited) as limited:
        await embedder.embed(["word"])
    assert limited.value.retry_after == 33
    service.fail(404, code="model_not_found", on=EMBEDDINGS)
    with pytest.raises(Unavailable, match="OPENAI_EMBEDDING_MODEL"):
        await embedder.embed(["word"])
    service.fail(400, code="context_length_exceeded", on=EMBEDDINGS)
    with pytest.raises(BadRequest):
        await embedder.embed(["word"])


async def test_a_fault_that_passes_is_tried_again(service: OpenAIStandIn, embedder: OpenAIEmbedder) -> None:
    service.fail(503, headers={"Retry-After": "0.01"}, on=EMBEDDINGS)
    assert len(await embedder.embed(["word"])) == 1
    assert len(service.requests) == 2


async def test_a_body_that_is_cut_off_is_asked_for_again(service: OpenAIStandIn, embedder: OpenAIEmbedder) -> None:
    service.reply_raw(b'{"data": [', content_type="application/json", cut=True, on=EMBEDDINGS)
    assert len(await embedder.embed(["word"])) == 1
    assert len(service.requests) == 2
