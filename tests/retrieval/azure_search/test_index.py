import asyncio
from collections.abc import AsyncGenerator, Mapping
from copy import replace

import pytest

from shared.chat_types import Extent, Json, Passage
from shared.errors import NotConfigured
from shared.retrieval import FileEntry
from shared.retrieval.azure_search.index import AzureSearchIndex
from shared.retrieval.azure_search.writer import Bounds
from tests.retrieval.azure_search.azure_indexes import SMALL, error_of, open_index, write
from tests.retrieval.azure_search.azure_search import searching
from tests.retrieval.index_contract import Held, PassageIndexContract, marks_of, passages_of, vectors_of
from tests.retrieval.retriever_contract import CONTEXT
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.ai_search_definitions import IndexDefinition
from tests.stand_ins.ai_search_demo import demo_index
from tests.stand_ins.hashed_embedder import hashed_vector


def to_passage(document: Mapping[str, Json]) -> Passage:
    def strings(name: str) -> tuple[str, ...]:
        value = document.get(name)
        return tuple(map(str, value)) if isinstance(value, list) else ()

    category = document.get("category")
    return Passage(
        *(str(document[name]) for name in ("id", "content", "sourcepage", "sourcefile")),
        category=category if isinstance(category, str) else None,
        oids=strings("oids"),
        groups=strings("groups"),
        title=str(document.get("title") or ""),
        headings=strings("headings"),
        table_head=str(document.get("tableHead") or ""),
        date=str(document.get("date") or "").removesuffix("T00:00:00Z"),
        sensitivity=str(document.get("sensitivity") or ""),
    )


@pytest.fixture(params=[None, SMALL], ids=["as it is", "with small bounds"])
async def index(service: AISearchStandIn, request: pytest.FixtureRequest) -> AsyncGenerator[AzureSearchIndex]:
    index = open_index(service, request.param)
    yield index
    await index.aclose()


@pytest.fixture
def held(service: AISearchStandIn) -> Held:
    async def read() -> dict[str, Passage]:
        return {key: to_passage(document) for key, document in service.index.documents.items()}

    return read


class TestAzureSearchIndex(PassageIndexContract):
    pass


def with_fingerprint(definition: IndexDefinition, **changes: Json) -> IndexDefinition:
    """A definition to which somebody has added the field that ingestion needs."""
    field: dict[str, Json] = {"name": "fingerprint", "type": "Edm.String", "filterable": True, "sortable": True}
    body = definition.model_dump(mode="json", by_alias=True)
    body["fields"].append({**field, **changes})
    return IndexDefinition.model_validate(body)


async def test_the_index_is_made_as_the_demo_makes_it_with_a_fingerprint(
    service: AISearchStandIn, one: AzureSearchIndex
) -> None:
    await write(one, "a.md", "1", 1)
    definition = service.index.definition
    attributes = ("searchable", "filterable", "sortable", "facetable")
    fields = {
        field.name: (field.type, field.retrievable, [name for name in attributes if field.allows(name)])
        for field in definition.fields
    }
    assert fields == {
        "id": ("Edm.String", True, ["filterable"]),
        "content": ("Edm.String", True, ["searchable"]),
        "category": ("Edm.String", True, ["filterable"]),
        "sourcepage": ("Edm.String", True, ["filterable"]),
        "sourcefile": ("Edm.String", True, ["filterable"]),
        "oids": ("Collection(Edm.String)", True, ["filterable"]),
        "groups": ("Collection(Edm.String)", True, ["filterable"]),
        "name": ("Edm.String", True, ["searchable"]),
        "title": ("Edm.String", True, ["searchable"]),
        "headings": ("Collection(Edm.String)", True, ["searchable"]),
        "tableHead": ("Edm.String", True, ["searchable"]),
        "date": ("Edm.DateTimeOffset", True, []),
        "sensitivity": ("Edm.String", True, []),
        "leftOut": ("Edm.String", True, []),
        "fingerprint": ("Edm.String", True, ["filterable", "sortable"]),
        "embedding": ("Collection(Edm.Single)", False, ["searchable"]),
    }
    assert definition.key == "id"
    assert definition.semantic
    assert definition.semantic.default_configuration == "default"
    assert definition.semantic.configurations[0].text_fields == ["content", "sourcepage"]
    embedding = definition.field("embedding")
    assert embedding
    assert embedding.dimensions == 64
    assert not definition.has_vectorizer("embedding")


async def test_an_index_without_an_embedding_model_has_no_vectors(
    service: AISearchStandIn, one: AzureSearchIndex
) -> None:
    await one.replace(FileEntry("a.md", "1", passages_of("a.md", 2)))
    assert service.index.definition.field("embedding") is None
    assert service.index.definition.vector_search is None
    assert await marks_of(one) == {"a.md": "1"}


async def test_an_index_with_images_takes_their_vectors(service: AISearchStandIn) -> None:
    index = open_index(service, more={"AZURE_VISION_ENDPOINT": "https://vision.example.com"})
    passages = passages_of("a.pdf", 3)
    image = hashed_vector("a glass", 1024)
    await index.replace(FileEntry("a.pdf", "1", passages, vectors_of(passages), [image, None, image]))
    await index.aclose()
    kept = [document.get("imageEmbedding") for document in service.index.documents.values()]
    assert kept == [image, None, image]


async def test_the_service_makes_vectors_itself_where_it_is_to(service: AISearchStandIn) -> None:
    azure = {
        "EMBEDDINGS": "index",
        "AZURE_OPENAI_ENDPOINT": "https://contoso.openai.azure.com/openai/v1/",
        "AZURE_OPENAI_CHAT_DEPLOYMENT": "gpt",
        "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": "our-text-embedding-3-large",
    }
    index = open_index(service, more=azure)
    await write(index, "a.md", "1", 1)
    await index.aclose()
    definition = service.index.definition
    assert definition.has_vectorizer("embedding")
    assert definition.vector_search
    made_with = definition.vector_search.vectorizers[0].azure_open_ai_parameters
    assert made_with.resource_uri == "https://contoso.openai.azure.com"
    assert (made_with.deployment_id, made_with.model_name) == ("our-text-embedding-3-large", "text-embedding-3-large")
    assert made_with.api_key is None


async def test_a_vectorizer_without_a_known_model_is_named_before_anything_is_asked(service: AISearchStandIn) -> None:
    with pytest.raises(NotConfigured, match=r"EMBEDDINGS=index.*AZURE_OPENAI_EMBEDDING_DEPLOYMENT"):
        open_index(service, more={"EMBEDDINGS": "index"})
    assert service.requests == []


async def test_fields_may_have_other_names(service: AISearchStandIn) -> None:
    names = "content=chunk, sourcefile=title, fingerprint=mark, id=key, embedding=vector"
    index = open_index(service, more={"AZURE_SEARCH_FIELDS": names})
    await write(index, "a.md", "1", 2)
    assert await marks_of(index) == {"a.md": "1"}
    await index.remove("a.md")
    await index.aclose()
    assert {field.name for field in service.index.definition.fields} >= {"chunk", "title", "mark", "key", "vector"}
    assert service.index.documents == {}


async def test_an_existing_index_is_written_to_and_not_changed(service: AISearchStandIn, one: AzureSearchIndex) -> None:
    service.add_index(with_fingerprint(demo_index()))
    service.add_documents({"id": "theirs", "content": "Theirs.", "sourcefile": "theirs.md"})
    await write(one, "a.md", "1", 2)
    assert await marks_of(one) == {"a.md": "1"}
    await one.remove("a.md")
    assert list(service.index.documents) == ["theirs"]
    assert service.bodies("create") == []
    assert len(service.bodies("definition")) == 1


PLACE = ("name", "title", "headings", "tableHead", "date", "sensitivity", "leftOut")
PLACED = Passage(
    *("id", "| Plus | 140 |", "plans/Health_Plus.pdf#page=2", "plans/Health_Plus.pdf"),
    title="Plans of 2026",
    headings=("Plans", "Premiums"),
    table_head="| Plan | Euros |\n| --- | --- |\n",
    date="2025-03-01",
    sensitivity="Confidential",
)


def made_by_an_earlier_version(service: AISearchStandIn) -> None:
    """An index with the fields that this app made before passages knew where they stand."""
    body = with_fingerprint(demo_index(without=["storageUrl"])).model_dump(mode="json", by_alias=True)
    service.add_index(IndexDefinition.model_validate(body))
    service.add_documents({"id": "old", "content": "Old.", "sourcefile": "old.md", "fingerprint": "0"})


async def test_an_index_that_this_app_made_gets_the_fields_it_lacks(
    service: AISearchStandIn, one: AzureSearchIndex
) -> None:
    made_by_an_earlier_version(service)
    assert await marks_of(one) == {"old.md": "0"}
    await one.replace(FileEntry(PLACED.sourcefile, "1", [PLACED], left_out="hidden sheet Pay"))
    kept = service.index.documents["id"]
    assert [kept[name] for name in PLACE] == [
        "plans Health Plus",
        "Plans of 2026",
        ["Plans", "Premiums"],
        PLACED.table_head,
        "2025-03-01T00:00:00Z",
        "Confidential",
        "hidden sheet Pay",
    ]
    assert "old" in service.index.documents
    async with searching(service) as retriever:
        for _ in range(2):  # the first answer tells which fields there are
            assert await retriever.extent(PLACED.sourcefile, None) == Extent(1, None, "hidden sheet Pay")
        assert await retriever.extent("old.md", None) == Extent(1, None)


async def test_an_index_stays_without_these_fields_where_the_app_may_not_change_it(
    service: AISearchStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    made_by_an_earlier_version(service)
    service.fail(403, on="create")
    index = open_index(service)
    await index.replace(FileEntry(PLACED.sourcefile, "1", [PLACED]))
    await index.aclose()
    assert service.index.documents["id"]["content"] == PLACED.content
    assert not service.index.documents["id"].keys() & {*PLACE}
    assert "stays without" in caplog.text


@pytest.mark.parametrize(
    ("kind", "kept"), [("Edm.String", PLACED.date), ("Edm.DateTimeOffset", PLACED.date), ("Edm.Int64", "")]
)
async def test_a_date_goes_into_an_index_of_others_that_has_such_a_field(
    service: AISearchStandIn, one: AzureSearchIndex, kind: str, kept: str
) -> None:
    body = with_fingerprint(demo_index()).model_dump(mode="json", by_alias=True)
    body["fields"].append({"name": "date", "type": kind})
    service.add_index(IndexDefinition.model_validate(body))
    await one.replace(FileEntry(PLACED.sourcefile, "1", [PLACED]))
    assert service.bodies("create") == []
    async with searching(service) as retriever:
        for _ in range(2):  # the first answer tells which fields there are
            (found,) = await retriever.read(PLACED.sourcefile, CONTEXT)
            assert (found.date, found.title) == (kept, "")


UNFIT: dict[str, tuple[IndexDefinition, tuple[str, ...]]] = {
    "without a fingerprint": (demo_index(), ("fingerprint", "filterable and sortable", "can be searched")),
    "with one that cannot be sorted by": (with_fingerprint(demo_index(), sortable=False), ("fingerprint",)),
    "with one that cannot be filtered by": (with_fingerprint(demo_index(), filterable=False), ("fingerprint",)),
    "with one that is no string": (with_fingerprint(demo_index(), type="Edm.Int64"), ("fingerprint",)),
    "without files": (with_fingerprint(demo_index(without=["sourcefile"])), ("sourcefile", "AZURE_SEARCH_FIELDS")),
}


@pytest.mark.parametrize("unfit", UNFIT)
async def test_an_index_that_ingestion_cannot_keep_its_books_in_is_refused_with_what_to_add(
    service: AISearchStandIn, one: AzureSearchIndex, unfit: str
) -> None:
    definition, words = UNFIT[unfit]
    service.add_index(definition)
    for work in (marks_of(one), write(one, "a.md", "1", 1), one.remove("a.md")):
        message = await error_of(work, NotConfigured)
        assert all(word in message for word in (*words, "AZURE_SEARCH_INDEX"))
    assert service.bodies("write") == []


async def test_an_index_whose_key_is_another_field_is_refused(service: AISearchStandIn) -> None:
    service.add_index(with_fingerprint(demo_index()))
    index = open_index(service, more={"AZURE_SEARCH_FIELDS": "id=sourcepage"})
    assert "AZURE_SEARCH_FIELDS (id=…)" in await error_of(marks_of(index), NotConfigured)
    await index.aclose()


async def test_vectors_of_another_length_are_refused_before_anything_is_written(
    service: AISearchStandIn, one: AzureSearchIndex
) -> None:
    service.add_index(with_fingerprint(demo_index(dimensions=32)))
    message = await error_of(write(one, "a.md", "1", 1), NotConfigured)
    assert "vectors of 32 numbers in embedding, and the model makes 64" in message
    assert service.bodies("write") == []


async def test_a_field_that_the_index_lacks_is_named_if_a_passage_has_it(
    service: AISearchStandIn, one: AzureSearchIndex
) -> None:
    service.add_index(with_fingerprint(demo_index(without=["oids", "groups", "category"])))
    await write(one, "a.md", "1", 1)
    secret = [replace(passages_of("b.md", 1)[0], oids=("anna",), groups=("staff",))]
    message = await error_of(one.replace(FileEntry("b.md", "1", secret)), NotConfigured)
    assert "lacks groups and oids" in message
    assert await marks_of(one) == {"a.md": "1"}


async def test_an_index_that_is_mended_is_written_to_without_a_restart(
    service: AISearchStandIn, one: AzureSearchIndex
) -> None:
    service.add_index(with_fingerprint(demo_index(without=["groups"])))
    secret = [replace(passages_of("a.md", 1)[0], groups=("staff",))]
    await error_of(one.replace(FileEntry("a.md", "1", secret)), NotConfigured)
    service.indexes.clear()
    service.add_index(with_fingerprint(demo_index()))
    await one.replace(FileEntry("a.md", "1", secret))
    service.indexes.clear()
    await error_of(one.replace(FileEntry("a.md", "2", secret)), NotConfigured)
    await one.replace(FileEntry("a.md", "2", secret))
    assert await marks_of(one) == {"a.md": "2"}


async def test_two_that_make_the_index_at_once_both_write_to_it(service: AISearchStandIn) -> None:
    first, second = open_index(service), open_index(service)
    await asyncio.gather(write(first, "a.md", "1", 1), write(second, "b.md", "1", 1))
    assert await marks_of(first) == await marks_of(second) == {"a.md": "1", "b.md": "1"}
    await first.aclose()
    await second.aclose()


async def test_passages_go_in_batches_of_bounded_number_and_size(service: AISearchStandIn) -> None:
    index = open_index(service, Bounds(actions=10, batch_bytes=20_000))
    passages = [
        replace(one, content="glasses " * (400 if place > 20 else 1))
        for place, one in enumerate(passages_of("a.md", 30))
    ]
    await index.replace(FileEntry("a.md", "1", passages, vectors_of(passages)))
    await index.aclose()
    batches = [body["value"] for body in service.bodies("write")]
    sizes = [len(batch) for batch in batches if isinstance(batch, list)]
    assert sum(sizes) == 31
    assert sizes[:2] == [10, 10]
    assert max(sizes[2:]) < 10
    lengths = [int(request.headers["Content-Length"]) for request in service.requests if request.operation == "write"]
    assert max(lengths) <= 20_000 + 100


async def test_fingerprints_of_files_with_the_same_content_are_all_told_beyond_what_can_be_skipped(
    service: AISearchStandIn, small: AzureSearchIndex
) -> None:
    marks = {f"{number:02}.md": f"mark {min(number // 2, 7)}" for number in range(20)}
    for name, mark in reversed(marks.items()):
        await write(small, name, mark, 1)
    assert await marks_of(small) == marks
    assert max(int(str(search["skip"])) for search in service.searches) < SMALL.window


async def test_a_vector_without_a_direction_is_left_out(service: AISearchStandIn, one: AzureSearchIndex) -> None:
    zero, endless = [0.0] * 64, [float("inf"), *[0.0] * 63]
    await one.replace(FileEntry("a.md", "1", passages_of("a.md", 3), [zero, hashed_vector("glasses"), endless]))
    assert ["embedding" in document for document in service.index.documents.values()] == [False, True, False]
