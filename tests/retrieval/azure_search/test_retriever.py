"""Azure AI Search as a retriever: what becomes of its answers, and who sees what."""

import json
from collections.abc import AsyncGenerator
from copy import replace

import pytest

from shared.chat_types import Access, Caption, Json, Passage, RetrievalMode
from shared.errors import NotConfigured, SwitchboardError, TooLarge
from shared.retrieval import MOST_READ, Retriever, SearchQuery
from shared.retrieval.azure_search.retriever import as_words
from tests.retrieval.azure_search.azure_search import search_service, searching
from tests.retrieval.retriever_contract import CONTEXT, HANDBOOK, LIBRARY, RetrieverContract, passage
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.hashed_embedder import HashedEmbedder, hashed_vector

TEXT, VECTORS, HYBRID = RetrievalMode.TEXT, RetrievalMode.VECTORS, RetrievalMode.HYBRID
SHOWN = "id,content,category,sourcepage,sourcefile,oids,groups"


class TestAzureSearchByText(RetrieverContract):
    mode = TEXT

    @pytest.fixture
    async def retriever(self) -> AsyncGenerator[Retriever]:
        async with search_service() as service, searching(service) as retriever:
            yield retriever


class TestAzureSearchByVector(RetrieverContract):
    mode = VECTORS

    @pytest.fixture
    async def retriever(self) -> AsyncGenerator[Retriever]:
        async with search_service() as service, searching(service, HashedEmbedder()) as retriever:
            yield retriever


class TestAzureSearchHybrid(TestAzureSearchByVector):
    mode = HYBRID


class TestAzureSearchByItsVectorizer(RetrieverContract):
    mode = HYBRID

    @pytest.fixture
    async def retriever(self) -> AsyncGenerator[Retriever]:
        async with (
            search_service(vectorizer=True) as service,
            searching(service, EMBEDDINGS="index") as retriever,
        ):
            yield retriever


@pytest.fixture
async def service() -> AsyncGenerator[AISearchStandIn]:
    async with search_service(images=True, vectorizer=True) as service:
        yield service


async def test_the_fields_to_select_are_learnt_from_the_first_answer(service: AISearchStandIn) -> None:
    async with searching(service) as retriever:
        found = [await retriever.search(SearchQuery("glasses"), CONTEXT) for _ in range(3)]
    assert [body.get("select") for body in service.searches] == [None, SHOWN, SHOWN]
    assert found[0].passages == found[1].passages == found[2].passages


async def test_an_index_without_rights_and_categories_is_searched_as_it_is() -> None:
    async with search_service(without=("oids", "groups", "category", "sourcefile")) as service:
        async with searching(service) as retriever:
            for _ in range(2):
                found = (await retriever.search(SearchQuery("vision coverage", top=1), CONTEXT)).passages
                assert found[0].content == LIBRARY[0].content
                assert (found[0].sourcefile, found[0].category, found[0].oids) == ("vision.md", None, ())
        assert service.searches[1]["select"] == "id,content,sourcepage"


async def test_an_index_made_anew_without_a_field_is_searched_again_after_one_refusal(
    service: AISearchStandIn,
) -> None:
    async with searching(service) as retriever:
        await retriever.search(SearchQuery("vision"), CONTEXT)
        async with search_service(without=("category",)) as other:
            service.indexes = other.indexes
        with pytest.raises(NotConfigured):
            await retriever.search(SearchQuery("vision"), CONTEXT)
        assert (await retriever.search(SearchQuery("vision"), CONTEXT)).passages[0].id == "vision"


@pytest.mark.parametrize("access", [Access("anna"), Access(None, ("staff",)), Access("anna", (), open_documents=True)])
async def test_an_index_without_rights_shows_nothing_under_a_security_filter(access: Access) -> None:
    async with search_service(without=("oids", "groups")) as service, searching(service) as retriever:
        with pytest.raises(NotConfigured, match="AZURE_SEARCH_FIELDS"):
            await retriever.search(SearchQuery("vision", access=access), CONTEXT)
        with pytest.raises(NotConfigured, match="AZURE_SEARCH_FIELDS"):
            await retriever.may_see("vision.md", access)


async def test_fields_that_are_called_otherwise_are_searched_filtered_and_shown() -> None:
    async with search_service([]) as service:
        definition = service.index.definition
        renamed = {"content": "chunk", "sourcepage": "title", "category": "kind", "embedding": "vector"}
        for field in definition.fields:
            field.name = renamed.get(field.name, field.name)
        assert definition.semantic
        definition.semantic = None
        service.add_documents(
            {"id": "a", "chunk": "Glasses.", "title": "a.md", "kind": "x", "vector": [*hashed_vector("Glasses.")]}
        )
        names = ", ".join(f"{name}={called}" for name, called in renamed.items())
        async with searching(service, HashedEmbedder(), AZURE_SEARCH_FIELDS=names) as retriever:
            result = await retriever.search(SearchQuery("glasses", include_category="x"), CONTEXT)
    assert [(found.content, found.sourcepage, found.category) for found in result.passages] == [
        ("Glasses.", "a.md", "x")
    ]
    assert result.mode is HYBRID


async def test_documents_that_lack_fields_are_passages_with_what_they_have(service: AISearchStandIn) -> None:
    service.hidden_fields = {"id", "sourcefile", "sourcepage", "category", "oids", "groups"}
    async with searching(service) as retriever:
        found = (await retriever.search(SearchQuery("vision", top=1), CONTEXT)).passages[0]
    assert found.content == LIBRARY[0].content
    assert found.id == found.sourcepage == found.sourcefile == "result-1"


async def test_what_the_ranker_had_no_time_for_is_found_unranked_with_a_note(service: AISearchStandIn) -> None:
    query = SearchQuery("vision", semantic_ranker=True, minimum_reranker_score=1.0)
    async with searching(service) as retriever:
        ranked = await retriever.search(query, CONTEXT)
        service.reply(
            b'{"@search.semanticPartialResponseReason": "capacityOverloaded",'
            b' "@search.semanticPartialResponseType": "baseResults",'
            b' "value": [{"@search.score": 1.5, "id": "a", "content": "Vision.", "sourcepage": "a.md"}]}',
            status=206,
        )
        unranked = await retriever.search(query, CONTEXT)
    assert ranked.passages
    assert ranked.note is None
    assert [(found.id, found.score, found.reranker_score) for found in unranked.passages] == [("a", 1.5, None)]
    assert unranked.note == "The semantic ranker was busy or too slow: what was found is in the order of the search."


async def test_documents_without_any_field_are_left_out_with_a_note(service: AISearchStandIn) -> None:
    service.hidden_fields = {"id", "content", "sourcefile", "sourcepage", "category", "oids", "groups"}
    async with searching(service) as retriever:
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
    assert result.passages == ()
    assert result.note == "2 passages without a text were left out: check `content` in AZURE_SEARCH_FIELDS."


@pytest.mark.parametrize(
    "odd",
    [
        {"id": 7, "content": "x", "sourcepage": None, "oids": "anna", "groups": [1, "staff", None], "@search.score": 1},
        {"content": "x", "@search.score": 1, "@search.captions": [{"text": None}, {"highlights": "x"}]},
        {"content": "x", "@search.score": 1, "category": {"a": 1}, "@search.rerankerScore": None},
    ],
)
async def test_fields_of_odd_types_are_left_out(service: AISearchStandIn, odd: dict[str, Json]) -> None:
    service.reply(json.dumps({"value": [odd]}).encode())
    async with searching(service) as retriever:
        result = await retriever.search(SearchQuery("glasses", semantic_captions=True, semantic_ranker=True), CONTEXT)
    assert [found.content for found in result.passages] == ["x"]
    assert {type(part) for found in result.passages for part in (*found.oids, *found.groups)} <= {str}


@pytest.mark.parametrize("score", ["NaN", "1e999", "-1e999", "1" + "0" * 400])
async def test_a_score_that_no_number_can_hold_is_none(service: AISearchStandIn, score: str) -> None:
    service.reply(f'{{"value": [{{"content": "x", "@search.score": {score}}}]}}'.encode())
    async with searching(service) as retriever:
        result = await retriever.search(SearchQuery("glasses", minimum_score=2), CONTEXT)
    assert [found.score for found in result.passages] == [None]


async def test_half_a_character_is_shown_as_a_question_mark(service: AISearchStandIn) -> None:
    service.reply(b'{"value": [{"content": "a\\ud800b", "groups": ["\\udc00"], "@search.score": 1}]}')
    async with searching(service) as retriever:
        [found] = (await retriever.search(SearchQuery("glasses"), CONTEXT)).passages
    assert (found.content, found.groups) == ("a?b", ("?",))


async def test_captions_take_the_place_of_the_text(service: AISearchStandIn) -> None:
    long = passage("long", "Opening hours are long. Glasses are paid for every second year. Nothing else matters.")
    service.add_documents({"id": "long", "content": long.content, "sourcepage": "long.md", "sourcefile": "long.md"})
    query = SearchQuery("glasses every second year", semantic_ranker=True, semantic_captions=True, top=1)
    async with searching(service) as retriever:
        result = await retriever.search(query, CONTEXT)
        plain = await retriever.search(replace(query, semantic_captions=False), CONTEXT)
    caption = "Glasses are paid for every second year"
    assert result.passages[0].content == caption
    assert result.passages[0].captions == (Caption(caption, ""),)
    assert result.passages[0].reranker_score == 4.0
    assert result.ignored == ()
    assert plain.passages[0].content == long.content


async def test_the_semantic_rankers_order_counts(service: AISearchStandIn) -> None:
    async with searching(service, HashedEmbedder()) as retriever:
        query = SearchQuery("dental coverage glasses", semantic_ranker=True, top=5)
        for mode in (TEXT, VECTORS, HYBRID):
            found = (await retriever.search(replace(query, mode=mode), CONTEXT)).passages
            ranks = [one.reranker_score or 0 for one in found]
            assert len(ranks) > 1
            assert ranks == sorted(ranks, reverse=True)


async def test_passages_below_the_minimum_reranker_score_are_left_out(service: AISearchStandIn) -> None:
    query = SearchQuery("dental coverage", semantic_ranker=True, top=5)
    async with searching(service) as retriever:
        everything = (await retriever.search(query, CONTEXT)).passages
        found = (await retriever.search(replace(query, minimum_reranker_score=4.0), CONTEXT)).passages
    assert [one.id for one in everything] == ["dental", "vision"]
    assert [one.id for one in found] == ["dental"]


async def test_what_needs_the_semantic_ranker_is_told_as_ignored_without_it(service: AISearchStandIn) -> None:
    query = SearchQuery("dental", TEXT, semantic_captions=True, minimum_reranker_score=3.9)
    async with searching(service) as retriever:
        result = await retriever.search(query, CONTEXT)
    assert result.ignored == ("semantic_captions", "minimum_reranker_score")
    assert [found.id for found in result.passages] == ["dental"]


async def test_a_search_tells_how_it_was_asked_but_not_whose_groups(service: AISearchStandIn) -> None:
    query = SearchQuery("x", include_category="a", semantic_ranker=True, access=Access("anna", ("staff",)))
    async with searching(service, HashedEmbedder()) as retriever:
        result = await retriever.search(query, CONTEXT)
    assert result.details == {
        "query_type": "semantic",
        "vector_fields": ["embedding"],
        "filter": "category eq 'a'",
        "use_security_filter": True,
    }


async def test_nobody_is_not_even_searched_for(service: AISearchStandIn) -> None:
    async with searching(service) as retriever:
        for access in (Access(), Access(None, ()), Access("", ("",))):
            assert (await retriever.search(SearchQuery("vision", access=access), CONTEXT)).passages == ()
            assert not await retriever.may_see("vision.md", access)
    assert service.requests == []


async def test_a_file_is_read_in_order_and_a_page_of_it_alone() -> None:
    async with search_service([*HANDBOOK[::-1], *LIBRARY]) as service, searching(service) as retriever:
        assert [found.id for found in await retriever.read("book.pdf", CONTEXT)] == [one.id for one in HANDBOOK]
        page = await retriever.read("book.pdf#page=2", CONTEXT)
        assert [found.id for found in page] == [one.id for one in HANDBOOK[3:6]]


async def test_who_may_see_nothing_is_not_even_looked_for(service: AISearchStandIn) -> None:
    async with searching(service) as retriever:
        assert await retriever.read("vision.md", replace(CONTEXT, access=Access())) == ()
    assert service.requests == []


async def test_a_file_with_too_many_passages_is_not_read_in_part() -> None:
    many = [Passage(str(number), "Text.", "long.txt", "long.txt") for number in range(MOST_READ)]
    async with search_service(many[1:]) as service, searching(service) as retriever:
        assert len(await retriever.read("long.txt", CONTEXT)) == MOST_READ - 1
    async with search_service(many) as service, searching(service) as retriever:
        with pytest.raises(TooLarge, match="too many to read at once"):
            await retriever.read("long.txt", CONTEXT)


async def test_ten_thousand_groups_are_searched_for_at_once(service: AISearchStandIn) -> None:
    groups = (*(f"{number:08x}-0000-4000-8000-000000000000" for number in range(10_000)), "drivers")
    async with searching(service) as retriever:
        result = await retriever.search(SearchQuery("parking coverage", access=Access(None, groups)), CONTEXT)
    assert [found.id for found in result.passages] == ["parking"]


async def test_groups_that_the_service_cannot_take_are_an_error_and_never_left_out(service: AISearchStandIn) -> None:
    groups = tuple(f"a|{number}" for number in range(10_000))
    async with searching(service) as retriever:
        with pytest.raises(SwitchboardError):
            await retriever.search(SearchQuery("parking", access=Access(None, groups)), CONTEXT)


async def test_who_may_see_a_document_is_asked_for_one_key(service: AISearchStandIn) -> None:
    async with searching(service) as retriever:
        assert not await retriever.may_see("it's.md", Access("anna"))
    seen = "(oids/any(g: search.in(g, 'anna', '|')))"
    assert service.searches == [
        {"filter": f"sourcefile eq 'it''s.md' and {seen}", "select": "id", "top": 1},
        {"filter": f"sourcepage eq 'it''s.md' and {seen}", "select": "id", "top": 1},
    ]


async def test_a_page_that_is_called_like_another_file_shows_nothing_of_that() -> None:
    passages = [
        Passage("1", "Anna's.", "a%3F.md", "a?.md", None, ("anna",)),
        Passage("2", "Ben's.", "a%253F.md", "a%3F.md", None, ("ben",)),
        Passage("3", "Anna's.", "plan-2.pdf", "plan.pdf", None, ("anna",)),
        Passage("4", "Ben's.", "plan-2.pdf#page=1", "plan-2.pdf", None, ("ben",)),
        Passage("5", "Anna's.", "report-2.pdf", "report.pdf", None, ("anna",)),
    ]
    async with search_service(passages) as service, searching(service) as retriever:
        names = ["a?.md", "a%3F.md", "plan.pdf", "plan-2.pdf", "report.pdf", "report-2.pdf"]
        annas = [name for name in names if await retriever.may_see(name, Access("anna"))]
        bens = [name for name in names if await retriever.may_see(name, Access("ben"))]
    assert annas == ["a?.md", "plan.pdf", "report.pdf", "report-2.pdf"]
    assert bens == ["a%3F.md", "plan-2.pdf"]


async def test_a_long_question_is_searched_for_by_as_much_as_a_service_takes(service: AISearchStandIn) -> None:
    embedder = HashedEmbedder()
    async with searching(service, embedder) as retriever:
        await retriever.search(SearchQuery("mail " * 8_000 + "Are glasses paid?"), CONTEXT)
    assert [len(text) for [text] in embedder.calls] == [8_000]
    sent = str(service.searches[0]["search"])
    assert len(sent) == 1_000
    assert sent.endswith("mail Are glasses paid?")


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("dogs -allowed?", r"dogs \-allowed?"),
        ("C++ (not C#)", r"C\+\+ \(not C#\)"),
        ("--force\n-v", "\\--force\n\\-v"),
        ("Wi-Fi - or 4*4=16", r"Wi-Fi \- or 4*4=16"),
        ("plan* ** *", r"plan\* *\* \*"),
        ("""the "Standard" plan's a|b""", r"""the \"Standard\" plan\'s a\|b"""),
        (r"C:\plans\x", r"C:\\plans\\x"),
        ("what is paid?", "what is paid?"),
    ],
)
def test_nothing_in_a_question_is_an_operator(text: str, sent: str) -> None:
    assert as_words(text) == sent
