"""Searches by vectors, alone and beside those by text."""

from collections.abc import AsyncGenerator, Sequence
from copy import replace
from pathlib import Path

import pytest

from shared.chat_types import RetrievalMode
from shared.errors import BadRequest, NotConfigured, Unavailable
from shared.retrieval import FileEntry, Retriever, SearchQuery
from shared.retrieval.sqlite.index import SqliteIndex
from tests.retrieval.retriever_contract import CONTEXT, LIBRARY, RetrieverContract, passage
from tests.retrieval.sqlite.filled_index import fill, opened
from tests.stand_ins.hashed_embedder import HashedEmbedder, hashed_vector


class TestSqliteByVector(RetrieverContract):
    mode = RetrievalMode.VECTORS

    @pytest.fixture
    async def retriever(self, path: Path) -> AsyncGenerator[Retriever]:
        embedder = HashedEmbedder()
        await fill(path, LIBRARY, embedder)
        async with opened(path, embedder) as retriever:
            yield retriever


class TestSqliteHybrid(TestSqliteByVector):
    mode = RetrievalMode.HYBRID


async def test_searching_by_vectors_without_an_embedding_model_is_refused_with_the_settings_to_set(path: Path) -> None:
    await fill(path, LIBRARY)
    async with opened(path) as retriever:
        with pytest.raises(BadRequest, match=r"OPENAI_EMBEDDING_MODEL.*`text`"):
            await retriever.search(SearchQuery("glasses", RetrievalMode.VECTORS), CONTEXT)


async def test_only_a_vector_field_that_there_is_not_is_told_as_ignored(path: Path) -> None:
    await fill(path, LIBRARY)
    async with opened(path) as retriever:
        for fields, ignored in (
            (("embedding",), ()),
            (("textEmbeddingOnly",), ()),
            (("imageEmbedding",), ("vector_fields",)),
            (("embedding", "imageEmbedding"), ("vector_fields",)),
        ):
            assert (await retriever.search(SearchQuery("vision", vector_fields=fields), CONTEXT)).ignored == ignored


async def test_a_hybrid_search_without_an_embedding_model_is_a_text_search_that_says_so(path: Path) -> None:
    await fill(path, LIBRARY)
    async with opened(path) as retriever:
        result = await retriever.search(SearchQuery("vision", RetrievalMode.HYBRID), CONTEXT)
    assert result.mode is RetrievalMode.TEXT
    assert result.note
    assert "OPENAI_EMBEDDING_MODEL" in result.note
    assert [found.id for found in result.passages] == ["vision"]


async def test_without_a_mode_both_ways_are_used_where_there_is_an_embedding_model(path: Path) -> None:
    embedder = HashedEmbedder()
    await fill(path, LIBRARY, embedder)
    async with opened(path, embedder) as retriever:
        result = await retriever.search(SearchQuery("vision"), CONTEXT)
        by_words = (await retriever.search(SearchQuery("vision", RetrievalMode.TEXT), CONTEXT)).passages
    assert result.mode is RetrievalMode.HYBRID
    assert result.note is None
    scores = {one.id: one.score_by_words for one in result.passages}
    assert scores == dict.fromkeys(scores) | {one.id: one.score for one in by_words}


async def test_without_a_mode_or_an_embedding_model_text_is_searched_without_a_note(path: Path) -> None:
    await fill(path, LIBRARY)
    async with opened(path) as retriever:
        result = await retriever.search(SearchQuery("vision"), CONTEXT)
    assert (result.mode, result.note) == (RetrievalMode.TEXT, None)


async def test_a_hybrid_score_is_the_sum_of_the_reciprocal_ranks(path: Path) -> None:
    embedder = HashedEmbedder()
    await fill(path, LIBRARY, embedder)
    async with opened(path, embedder) as retriever:
        result = await retriever.search(SearchQuery(LIBRARY[0].content), CONTEXT)
    assert result.passages[0].score == pytest.approx(2 / 61)


async def test_a_vector_score_is_the_cosine(path: Path) -> None:
    embedder = HashedEmbedder()
    await fill(path, LIBRARY, embedder)
    async with opened(path, embedder) as retriever:
        result = await retriever.search(SearchQuery(LIBRARY[0].content, RetrievalMode.VECTORS), CONTEXT)
    assert result.passages[0].score == pytest.approx(1, abs=1e-6)


_ENGLISH = ("The library opens at nine.", "How much is the ticket to the zoo?", "Para is a city of rubber.")
_SPANISH = "¿Cuánto cuesta la entrada para el zoológico de la ciudad?"


async def test_a_question_in_another_language_than_the_documents_is_told_so_where_there_are_no_vectors(
    path: Path,
) -> None:
    await fill(path, [passage(f"p{number}", text) for number, text in enumerate(_ENGLISH)])
    async with opened(path) as retriever:
        foreign = await retriever.search(SearchQuery(_SPANISH), CONTEXT)
        own = await retriever.search(SearchQuery("How much is the ticket?"), CONTEXT)
        health = await retriever.check()
    assert foreign.foreign == "es"
    assert foreign.note
    assert "EMBEDDINGS=local" in foreign.note
    assert (own.foreign, own.note) == (None, None)
    assert "EMBEDDINGS=local" in health.detail


@pytest.mark.parametrize(
    ("query", "foreign"), [("dental care", None), ("Premium care", "ro"), ("care plan dentar", "ro"), ("hi", None)]
)
async def test_one_stop_word_of_another_language_among_known_words_tells_none(
    path: Path, query: str, foreign: str | None
) -> None:
    await fill(path, [passage("p1", "The company pays for the care of your teeth: dental check-ups are free.")])
    async with opened(path) as retriever:
        found = await retriever.search(SearchQuery(query), CONTEXT)
    assert (found.foreign, bool(found.note)) == (foreign, bool(foreign))


@pytest.mark.parametrize(
    ("query", "found"),
    [("vaction", "p1"), ("vacatoin days", "p1"), ("sabatical", "p2"), ("parking", ""), ("acation", ""), ("leve", "")],
)
async def test_a_word_that_no_passage_has_stands_for_one_that_is_one_letter_off(
    path: Path, query: str, found: str
) -> None:
    texts = {"p1": "You get twenty days of vacation.", "p2": "A sabbatical is six weeks.", "p3": "Leave the part."}
    await fill(path, [passage(one, text) for one, text in texts.items()])
    async with opened(path) as retriever:
        passages = (await retriever.search(SearchQuery(query), CONTEXT)).passages
    assert [one.id for one in passages][:1] == [found] * bool(found)


async def test_a_word_that_says_little_does_not_outrank_the_subject_however_rare_it_is(path: Path) -> None:
    leave = [passage(f"leave{number}", f"Die Elternzeit und die Regel {number} dazu.") for number in range(3)]
    others = [passage(f"p{number}", f"Der Bus und die Bahn um {number}.") for number in range(3)]
    await fill(path, [passage("other", "Eine Krankheit dauert und die Sitzung auch."), *leave, *others])
    async with opened(path) as retriever:
        found = await retriever.search(SearchQuery("Wie lange dauert die Elternzeit?"), CONTEXT)
    assert found.passages[0].id != "other"


async def test_the_words_of_another_language_do_not_count_beside_vectors(path: Path) -> None:
    embedder = HashedEmbedder()
    await fill(path, [passage(f"p{number}", text) for number, text in enumerate(_ENGLISH)], embedder)
    async with opened(path, embedder) as retriever:
        by_meaning = await retriever.search(SearchQuery(_SPANISH, RetrievalMode.VECTORS), CONTEXT)
        found = await retriever.search(SearchQuery(_SPANISH), CONTEXT)
        health = await retriever.check()
    assert [one.id for one in found.passages] == [one.id for one in by_meaning.passages]
    assert found.passages[0].score == pytest.approx(1 / 61)
    assert (found.mode, found.foreign, found.note) == (RetrievalMode.HYBRID, None, None)
    assert "EMBEDDINGS=local" not in health.detail


async def test_a_passage_is_found_by_its_best_part_and_comes_once(path: Path) -> None:
    texts = [["Parking is free.", "Dental care is paid."], ["Dental bills take a week.", "Eyes are free."], ["Parking"]]
    passages = [passage(f"p{number}", " ".join(parts)) for number, parts in enumerate(texts)]
    owners = [number for number, parts in enumerate(texts) for _ in parts]
    vectors = [hashed_vector(part) for parts in texts for part in parts]
    index = SqliteIndex(path, "hashed")
    await index.replace(FileEntry("a.md", "1", passages, vectors, owners=owners))
    await index.replace(FileEntry("b.md", "1", [passage("b", "Holidays.")], [hashed_vector("Holidays.")]))
    query = SearchQuery("Dental care is paid.", RetrievalMode.VECTORS, top=10)
    async with opened(path, HashedEmbedder(part_size=25)) as retriever:
        found = (await retriever.search(query, CONTEXT)).passages
        by_text = (await retriever.search(replace(query, mode=RetrievalMode.TEXT), CONTEXT)).passages
        await index.remove("a.md")
        rest = (await retriever.search(query, CONTEXT)).passages
    await index.aclose()
    assert [one.id for one in found[:2]] == ["p0", "p1"]
    assert sorted(one.id for one in found) == ["b", "p0", "p1", "p2"]
    assert found[0].parts == ("Parking is free.", "Dental care is paid.")
    assert found[0].score == found[0].closeness[1] == pytest.approx(1)
    assert found[0].closeness[1] > max(found[1].closeness) > max(found[-1].closeness)
    assert {one.closeness for one in by_text} == {()}
    assert [one.id for one in rest] == ["b"]


async def test_an_index_without_vectors_is_told_as_soon_as_there_is_an_embedding_model(path: Path) -> None:
    await fill(path, LIBRARY)
    async with opened(path, HashedEmbedder()) as retriever:
        health = await retriever.check()
    assert (health.ok, health.needed) == (False, False)
    assert "no vectors" in health.detail
    assert "make index" in health.detail


async def test_an_index_of_another_embedding_model_asks_for_indexing(path: Path) -> None:
    await fill(path, LIBRARY, HashedEmbedder("small"))
    async with opened(path, HashedEmbedder("large")) as retriever:
        with pytest.raises(NotConfigured, match=r"small.*large.*make index"):
            await retriever.search(SearchQuery("glasses"), CONTEXT)
        health = await retriever.check()
    assert not health.ok
    assert "make index" in health.detail


async def test_an_embedding_model_that_gives_other_dimensions_asks_for_indexing(path: Path) -> None:
    await fill(path, LIBRARY, HashedEmbedder(dims=64))
    async with opened(path, HashedEmbedder(dims=32)) as retriever:
        with pytest.raises(NotConfigured, match=r"64.*32.*make index"):
            await retriever.search(SearchQuery("glasses"), CONTEXT)


async def test_an_index_without_vectors_is_searched_by_text_and_says_so(path: Path) -> None:
    await fill(path, LIBRARY)
    async with opened(path, HashedEmbedder()) as retriever:
        result = await retriever.search(SearchQuery("vision"), CONTEXT)
        with pytest.raises(BadRequest, match="make index"):
            await retriever.search(SearchQuery("vision", RetrievalMode.VECTORS), CONTEXT)
    assert result.mode is RetrievalMode.TEXT
    assert result.note
    assert "make index" in result.note


async def test_without_documents_no_embedding_is_paid_for(path: Path) -> None:
    embedder = HashedEmbedder()
    async with opened(path, embedder) as retriever:
        result = await retriever.search(SearchQuery("vision", RetrievalMode.VECTORS), CONTEXT)
    assert result.passages == ()
    assert embedder.calls == []


class _BrokenEmbedder(HashedEmbedder):
    async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
        raise Unavailable(f"The embedding service is down for {len(texts)}.")


async def test_a_fault_of_the_embedding_service_is_raised_in_a_hybrid_search(path: Path) -> None:
    await fill(path, LIBRARY, HashedEmbedder())
    async with opened(path, _BrokenEmbedder()) as retriever:
        with pytest.raises(Unavailable, match="embedding service"):
            await retriever.search(SearchQuery("vision", RetrievalMode.HYBRID), CONTEXT)


async def test_a_vector_without_direction_does_not_spoil_the_ranking(path: Path) -> None:
    embedder = HashedEmbedder()
    await fill(path, LIBRARY, embedder)
    index = SqliteIndex(path, embedder.model)
    await index.replace(FileEntry("zero.md", "1", [passage("zero", "Zero.")], [[0.0] * 64]))
    await index.aclose()
    async with opened(path, embedder) as retriever:
        query = SearchQuery(LIBRARY[0].content, RetrievalMode.VECTORS, top=10)
        result = await retriever.search(query, CONTEXT)
    assert result.passages[0].id == "vision"
    assert len(result.passages) == len(LIBRARY)
