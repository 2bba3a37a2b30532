import asyncio
import math
import shutil
import unicodedata
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.chat_types import Access, Passage, RequestContext, RetrievalMode
from shared.errors import BadRequest, NotConfigured, TooLarge, TooSlow, Unavailable
from shared.retrieval import MOST_READ, Embedder, FileEntry, Retriever, SearchQuery
from shared.retrieval.sqlite.index import SqliteIndex
from shared.retrieval.sqlite.ranking import Found, Weighed, asked_words, candidates, weighed
from shared.retrieval.sqlite.retriever import SqliteRetriever
from tests.retrieval.retriever_contract import CONTEXT, HANDBOOK, LIBRARY, RetrieverContract, passage
from tests.stand_ins.hashed_embedder import HashedEmbedder


async def fill(path: Path, passages: Sequence[Passage], embedder: Embedder | None = None) -> None:
    index = SqliteIndex(path, embedder.model if embedder else None)
    for one in passages:
        vectors = await embedder.embed([one.content]) if embedder else None
        await index.replace(FileEntry(one.sourcefile, "1", [one], vectors))
    await index.aclose()


@asynccontextmanager
async def opened(path: Path, embedder: Embedder | None = None) -> AsyncGenerator[SqliteRetriever]:
    retriever = SqliteRetriever(path, embedder)
    try:
        yield retriever
    finally:
        await retriever.aclose()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "index.sqlite"


async def found_in(path: Path, text: str, contents: Sequence[str]) -> list[str]:
    """The contents that a text search for `text` finds among `contents`."""
    await fill(path, [passage(str(number), content) for number, content in enumerate(contents)])
    async with opened(path) as retriever:
        result = await retriever.search(SearchQuery(text, top=50), CONTEXT)
    return [found.content for found in result.passages]


class TestSqliteByText(RetrieverContract):
    @pytest.fixture
    async def retriever(self, path: Path) -> AsyncGenerator[Retriever]:
        await fill(path, LIBRARY)
        async with opened(path) as retriever:
            yield retriever


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


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("KÜNDIGUNGSFRIST", "Die Kündigungsfrist beträgt drei Monate."),
        ("kundigungsfrist", "Die Kündigungsfrist beträgt drei Monate."),
        ("Kuendigungsfrist", "Die Kündigungsfrist beträgt drei Monate."),
        ("Kündigungsfrist", "Die Kuendigungsfrist betraegt drei Monate."),
        ("Kündigungsfristen", "Die Kündigungsfrist beträgt drei Monate."),
        (unicodedata.normalize("NFD", "Kündigung"), "Die Kündigung ist schriftlich."),
        ("Kündigung", unicodedata.normalize("NFD", "Die Kündigung ist schriftlich.")),
        ("Straße", "MÜNCHNER STRASSE 12"),
        ("STRASSE", "Münchner Straße 12"),
        ("Krankheiten", "Bei Krankheit zahlt die Kasse."),
        ("Krankheit", "Ansteckende Krankheiten sind zu melden."),
        ("Urlaub", "Der Rest der Urlaubstage verfällt im März."),
        ("Häuser", "Das Haus ist offen."),
        ("eleve", "Chaque élève reçoit un livre."),
        ("Élève", "Le livre de l'élève."),
        ("reimbursements", "The plan reimburses travel."),
        ("policy", "All policies end in May."),
        ("employees", "The employee's badge."),
        ("ﬁnance", "The finance team."),
        ("医疗保险", "本计划包括医疗保险和牙科保险。"),
        ("ประกันสุขภาพ", "แผนประกันสุขภาพของพนักงาน"),
        ("보험", "건강 보험 안내"),
        ("здоровье", "ЗДОРОВЬЕ сотрудников"),
        ("сотрудники", "Пособие для сотрудников."),
        ("διακοπή", "Οι διακοπές των υπαλλήλων."),
        ("الموظف", "إجازة الموظفين في السنة."),
        ("información", "Las informaciones de la empresa."),
        ("informacion", "La información de la empresa."),
        ("kitap", "Kitaplarımızı bu yıl okuduk."),
        ("bảo hiểm", "Bảo hiểm của nhân viên."),
        ("bao hiem", "Bảo hiểm của nhân viên."),
        ("서울 사무실", "우리는 서울에서 일합니다."),
        ("서울에서", "서울은 큰 도시입니다."),
        ("2024년에", "회사는 2024년 시작되었습니다."),
        ("서울", unicodedata.normalize("NFD", "서울에서 일합니다.")),
        ("茶", "绿茶。"),
        ("茶", "茶水。"),
    ],
)
async def test_a_word_is_found_in_its_other_spellings_and_inflections(path: Path, text: str, content: str) -> None:
    assert await found_in(path, text, ["Something else, quite different.", content]) == [content]


async def test_the_very_word_outranks_a_compound_that_begins_with_it(path: Path) -> None:
    contents = ["Der Urlaubsantrag liegt aus.", "Der Urlaub liegt im Sommer.", "Anderes.", "Mehr.", "Noch mehr."]
    assert await found_in(path, "Urlaub", contents) == [contents[1], contents[0]]


async def test_function_words_of_a_question_find_nothing_by_themselves(path: Path) -> None:
    contents = ["What is this and who are you?", "Glasses are paid for.", "Parking.", "Lunch."]
    assert await found_in(path, "What does the plan say about glasses?", contents) == [contents[1]]


async def test_function_words_are_searched_for_when_there_are_no_others(path: Path) -> None:
    contents = ["Who was that?", "Glasses are paid for."]
    assert await found_in(path, "Who was it?", contents) == [contents[0]]


async def test_a_content_word_that_is_a_function_word_elsewhere_still_counts(path: Path) -> None:
    contents = ["Damage by war is excluded.", "Anything.", "Else."]
    assert await found_in(path, "war exclusion", contents) == [contents[0]]


async def test_the_marks_of_a_word_count_where_they_change_what_it_means(path: Path) -> None:
    contents = ["Giá của cà phê là một đồng.", "Ca phê duyệt của công ty."]  # coffee, and a case of approval
    assert (await found_in(path, "cà phê là gì", contents))[0] == contents[0]


async def test_a_passage_with_one_sentence_of_all_words_outranks_one_with_the_words_far_apart(path: Path) -> None:
    contents = [
        "Parking is free. Dogs may enter. The garage opens at six. Employees eat lunch.",
        "Dogs may not enter. Employees eat lunch. Everything is free. Parking in the garage.",
        "Anything else. More of it.",
    ]
    assert await found_in(path, "parking garage", contents) == [contents[1], contents[0]]


async def test_a_word_that_most_passages_have_still_counts(path: Path) -> None:
    contents = [
        "Northwind pays glasses.",
        "Northwind pays parking.",
        "Northwind pays lunch.",
        "Contoso pays for glasses.",
    ]
    assert (await found_in(path, "Northwind glasses", contents))[0] == contents[0]


async def test_a_word_that_is_said_twice_in_a_row_counts_twice(path: Path) -> None:
    assert await found_in(path, "bye", ["bye now sir", "bye bye sir"]) == ["bye bye sir", "bye now sir"]


async def test_chinese_is_ranked_by_pairs_of_characters(path: Path) -> None:
    contents = ["保医险疗", "医疗", "别的", "其他"]
    assert (await found_in(path, "医疗", contents))[0] == "医疗"


def found_of(text: str, languages: Sequence[str]) -> Sequence[Found]:
    """What is looked up for a question in an index that has all of its terms."""
    words = asked_words(text, languages)
    terms = {term: 1 for word in words for term in word.terms}
    longer = {word.prefix: {word.prefix: 1} for word in words if word.prefix}
    return weighed(words, terms, longer, 10).found


async def test_a_korean_word_is_found_with_other_endings(path: Path) -> None:
    contents = ["안경은 일 년에 한 번 지급됩니다.", "주차장은 건물 뒤에 있습니다.", "다른 내용입니다."]
    assert (await found_in(path, "안경을 지급하나요?", contents))[0] == contents[0]


@given(st.text())
def test_any_text_makes_queries_that_sqlite_accepts(text: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE terms USING fts5 (content, detail = none, tokenize = 'ascii')")
    for one in found_of(text, ["de", "vi", "en"]):
        db.execute("SELECT * FROM terms WHERE terms MATCH ?", (one.phrase,)).fetchall()
    db.close()


def test_a_huge_text_makes_a_bounded_number_of_queries() -> None:
    text = " ".join(f"benefit{number}" for number in range(100_000))
    assert 0 < len(found_of(text, ["en", "de", "fr", "es", "pt", "nl"])) <= 64 * 9


@given(st.lists(st.lists(st.sampled_from(range(40)), min_size=1), min_size=1, max_size=8), st.integers(1, 30))
def test_where_frequent_words_are_left_out_the_rest_is_known_of_all_that_matter(
    held: list[list[int]], least: int
) -> None:
    asked = Weighed([Found(8.0 - place, str(place), "x", place) for place in range(len(held))], ())
    every = candidates(asked, lambda phrase: set(held[int(phrase)]), math.inf)
    words = {
        rowid: [place for place, rowids in enumerate(held) if rowid in rowids] for rowid in set[int]().union(*held)
    }
    assert {rowid: score % 2 ** len(held) for rowid, score in every.scores.items()} == {
        rowid: sum(2**place for place in places) for rowid, places in words.items()
    }
    some = candidates(asked, lambda phrase: set(held[int(phrase)]), least)
    assert len(some.scores) >= min(least, len(words))
    assert {rowid: score % 2 ** len(held) for rowid, score in some.scores.items()} == {
        rowid: sum(2**place for place in words[rowid] if place < some.looked_up) for rowid in some.scores
    }


async def test_a_frequent_word_decides_between_passages_that_have_the_same_rare_ones(path: Path) -> None:
    others = ["Glasses for rent."] * 300 + ["Lenses, frames and cases."] * 60
    contents = [f"{content} {number}" for number, content in enumerate([*others, "Lenses, frames and glasses."])]
    assert (await found_in(path, "lenses frames glasses", contents))[0] == contents[-1]


async def test_who_may_see_only_the_last_of_many_matches_finds_these(path: Path) -> None:
    hidden = [passage(f"hidden{number}", "Glasses, lenses and frames.", oids=("anna",)) for number in range(150)]
    seen = [passage(f"seen{number}", "Glasses.", oids=("ben",)) for number in range(3)]
    await fill(path, hidden + seen)
    query = SearchQuery("glasses lenses frames", RetrievalMode.TEXT, top=2, access=Access("ben"))
    async with opened(path) as retriever:
        result = await retriever.search(query, CONTEXT)
    assert [one.id for one in result.passages] == ["seen0", "seen1"]


async def test_without_a_file_nothing_is_found_and_the_health_says_what_to_run(path: Path) -> None:
    async with opened(path) as retriever:
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
        health = await retriever.check()
    assert result.passages == ()
    assert not health.ok
    assert "make index" in health.detail


async def test_an_index_that_appears_later_is_found(path: Path) -> None:
    async with opened(path) as retriever:
        await retriever.search(SearchQuery("glasses"), CONTEXT)
        await fill(path, LIBRARY)
        assert (await retriever.search(SearchQuery("glasses"), CONTEXT)).passages


async def test_an_index_that_was_deleted_and_made_anew_is_read_anew(path: Path) -> None:
    await fill(path, [passage("old", "Glasses.")])
    async with opened(path) as retriever:
        await retriever.search(SearchQuery("glasses"), CONTEXT)
        shutil.rmtree(path.parent)
        assert (await retriever.search(SearchQuery("glasses"), CONTEXT)).passages == ()
        await fill(path, [passage("new", "Glasses.")])
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
    assert [found.id for found in result.passages] == ["new"]


async def test_an_index_that_took_the_place_of_another_between_two_searches_is_read(path: Path) -> None:
    await fill(path, [passage("old", "Glasses.")])
    async with opened(path) as retriever:
        await retriever.search(SearchQuery("glasses"), CONTEXT)
        shutil.rmtree(path.parent)
        await fill(path, [passage("new", "Glasses.")])
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
    assert [found.id for found in result.passages] == ["new"]


async def test_the_health_counts_documents_and_passages(path: Path) -> None:
    embedder = HashedEmbedder()
    await fill(path, LIBRARY, embedder)
    async with opened(path, embedder) as retriever:
        health = await retriever.check()
    assert health.kind == "embedded"
    assert health.facts == {"documents": 5, "passages": 5, "vectors": True}


async def test_text_scores_are_positive_even_for_a_word_in_every_passage(path: Path) -> None:
    await fill(path, [passage(str(number), "glasses") for number in range(3)])
    async with opened(path) as retriever:
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
    assert all(found.score is not None and found.score > 0 for found in result.passages)


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
    assert result.mode is RetrievalMode.HYBRID
    assert result.note is None


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
    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
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


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.sqlite"
    path.write_bytes(b"not a database, but long enough to look like one " * 100)
    return path


async def test_a_damaged_index_is_named_with_what_to_do(damaged: Path) -> None:
    async with opened(damaged) as retriever:
        with pytest.raises(Unavailable, match="make index"):
            await retriever.search(SearchQuery("glasses"), CONTEXT)
        health = await retriever.check()
    assert not health.ok


async def test_an_index_of_a_newer_version_is_refused_with_what_to_do(path: Path) -> None:
    await fill(path, LIBRARY)
    with apsw.Connection(str(path)) as db:
        db.pragma("user_version", 99)
    db.close()
    async with opened(path) as retriever:
        with pytest.raises(Unavailable, match=r"newer version.*make index"):
            await retriever.search(SearchQuery("glasses"), CONTEXT)


async def test_a_file_is_read_in_order_and_a_page_of_it_alone(path: Path) -> None:
    index = SqliteIndex(path)
    await index.replace(FileEntry("book.pdf", "1", HANDBOOK))
    await index.replace(FileEntry("a[b].md", "1", [Passage("x", "Brackets.", "a%5Bb%5D.md", "a[b].md")]))
    await index.aclose()
    async with opened(path) as retriever:
        assert [found.id for found in await retriever.read("book.pdf", CONTEXT)] == [one.id for one in HANDBOOK]
        page = await retriever.read("book.pdf#page=2", CONTEXT)
        assert [found.id for found in page] == [one.id for one in HANDBOOK[3:6]]
        for name in ("a%5Bb%5D.md", "a[b].md"):
            assert [found.id for found in await retriever.read(name, CONTEXT)] == ["x"]


async def test_a_file_with_too_many_passages_is_not_read_in_part(path: Path) -> None:
    index = SqliteIndex(path)
    many = [Passage(str(number), "Text.", "long.txt", "long.txt") for number in range(MOST_READ)]
    await index.replace(FileEntry("long.txt", "1", many[1:]))
    async with opened(path) as retriever:
        assert len(await retriever.read("long.txt", CONTEXT)) == MOST_READ - 1
        await index.replace(FileEntry("long.txt", "2", many))
        with pytest.raises(TooLarge, match="too many to read at once"):
            await retriever.read("long.txt", CONTEXT)
    await index.aclose()


async def test_without_an_index_nothing_is_read(path: Path) -> None:
    async with opened(path) as retriever:
        assert await retriever.read("book.pdf", CONTEXT) == ()


async def test_a_search_past_the_deadline_is_too_slow(path: Path) -> None:
    await fill(path, LIBRARY)
    over = RequestContext("test", deadline=asyncio.get_running_loop().time() - 1)
    async with opened(path) as retriever:
        with pytest.raises(TooSlow):
            await retriever.search(SearchQuery("glasses"), over)


async def test_who_waits_for_the_file_lets_the_rest_of_the_process_go_on(path: Path) -> None:
    await fill(path, LIBRARY)
    holder = apsw.Connection(str(path))
    holder.pragma("journal_mode", "delete")
    holder.execute("BEGIN EXCLUSIVE")
    async with opened(path) as retriever:
        searching = asyncio.create_task(retriever.search(SearchQuery("vision", top=1), CONTEXT))
        await asyncio.wait([searching], timeout=0.2)
        assert not searching.done()
        holder.execute("ROLLBACK")
        assert [found.id for found in (await searching).passages] == ["vision"]
    holder.close()


async def test_searches_see_whole_files_while_an_index_is_written(path: Path) -> None:
    def version(number: int) -> list[Passage]:
        return [replace(passage(f"{part}", f"glasses edition{number}"), sourcefile="book.md") for part in range(20)]

    writer = SqliteIndex(path)
    await writer.replace(FileEntry("book.md", "0", version(0)))
    seen: list[set[str]] = []

    async def write() -> None:
        for number in range(1, 20):
            await writer.replace(FileEntry("book.md", str(number), version(number)))

    async with opened(path) as retriever:
        writing = asyncio.create_task(write())
        while not writing.done():
            result = await retriever.search(SearchQuery("glasses", top=50), CONTEXT)
            assert len(result.passages) == 20
            seen.append({found.content for found in result.passages})
        await writing
    await writer.aclose()
    assert all(len(contents) == 1 for contents in seen)
