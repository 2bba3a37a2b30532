"""What every retriever keeps, whatever is behind it. A subclass gives `retriever`, filled with `LIBRARY`."""

import asyncio
from copy import replace

import pytest

from shared.chat_types import Access, Passage, RequestContext, RetrievalMode
from shared.retrieval import Retriever, SearchQuery

NEVER = float("inf")
CONTEXT = RequestContext(invocation_id="test", deadline=NEVER)


def passage(
    id_: str, content: str, category: str | None = None, oids: tuple[str, ...] = (), groups: tuple[str, ...] = ()
) -> Passage:
    sourcefile = f"{id_}.md"
    return Passage(id_, content, sourcefile, sourcefile, category, oids, groups)


LIBRARY = (
    passage("vision", "Vision coverage pays for glasses and contact lenses once a year.", "benefits"),
    passage("dental", "Dental coverage pays for two check-ups a year.", "benefits", oids=("anna",)),
    passage("parking", "Parking in the garage costs forty euros a month.", "office", groups=("staff", "drivers")),
    passage("badge", "Lost badges are replaced by the reception.", None, oids=("ben",), groups=("staff",)),
    passage("canteen", "The canteen serves lunch; glasses go back to the counter.", "office"),
)

ODD_TEXTS = (
    '"glasses',
    "glasses AND",
    "NEAR(glasses, 3)",
    "glasses* OR *",
    "content: glasses ^",
    "glasses -coverage +year ()",
    "'; DROP TABLE passages; --",
    "glasses\x00coverage",
    "👓👓",
    "\u202e\ufeff\u0301",
    "glasses " * 20_000,
    " ".join(f"word{number}" for number in range(5_000)),
    "x" * 100_000,
)
AS_WORDS = (
    "vision -counter month",
    "vision +counter +month",
    '"vision counter" month',
    "(vision counter|month)",
    "vision* 'counter' month*",
    "-vision counter -month?",
)


class RetrieverContract:
    mode: RetrievalMode | None = None
    """How the suite searches."""

    def score(self, found: Passage) -> float | None:
        """What it ranks by."""
        return found.score

    def at_least(self, query: SearchQuery, score: float | None) -> SearchQuery:
        """The query with the least such score."""
        return replace(query, minimum_score=score)

    async def ids(self, retriever: Retriever, query: SearchQuery) -> list[str]:
        result = await retriever.search(replace(query, mode=query.mode or self.mode), CONTEXT)
        return [found.id for found in result.passages]

    async def test_the_passage_that_matches_best_comes_first_with_all_its_fields(self, retriever: Retriever) -> None:
        result = await retriever.search(SearchQuery("vision coverage glasses", self.mode), CONTEXT)
        assert (
            replace(result.passages[0], score=None, score_by_words=None, reranker_score=None, closeness=(), parts=())
            == LIBRARY[0]
        )

    async def test_scores_fall_from_the_first_passage_to_the_last(self, retriever: Retriever) -> None:
        result = await retriever.search(SearchQuery("dental coverage glasses", self.mode, top=5), CONTEXT)
        scores = [self.score(found) for found in result.passages]
        assert len(scores) > 1
        assert all(score is not None for score in scores)
        assert scores == sorted(scores, key=lambda score: -(score or 0))

    @pytest.mark.parametrize("top", [1, 2])
    async def test_no_more_than_top_passages_are_found(self, retriever: Retriever, top: int) -> None:
        assert len(await self.ids(retriever, SearchQuery("coverage glasses year", top=top))) == top

    async def test_only_the_included_category_is_found(self, retriever: Retriever) -> None:
        assert await self.ids(retriever, SearchQuery("glasses", top=1, include_category="office")) == ["canteen"]

    async def test_the_excluded_category_is_not_found(self, retriever: Retriever) -> None:
        found = await self.ids(retriever, SearchQuery("vision glasses", top=5, exclude_category="benefits"))
        assert found[0] == "canteen"
        assert not {"vision", "dental"} & set(found)

    async def test_a_passage_without_category_is_not_excluded(self, retriever: Retriever) -> None:
        found = await self.ids(retriever, SearchQuery("lost badges", top=1, exclude_category="office"))
        assert found == ["badge"]

    async def test_an_unknown_category_holds_nothing(self, retriever: Retriever) -> None:
        assert await self.ids(retriever, SearchQuery("glasses", include_category="benefits' OR 1 = 1")) == []

    async def test_filters_do_not_take_places_from_what_passes_them(self, retriever: Retriever) -> None:
        query = SearchQuery("dental coverage check-ups badges", top=1, include_category=None, access=Access("ben"))
        assert await self.ids(retriever, query) == ["badge"]

    @pytest.mark.parametrize(
        ("oid", "groups", "visible"),
        [
            ("anna", None, {"dental"}),
            ("ben", None, {"badge"}),
            (None, ("staff",), {"parking", "badge"}),
            (None, ("drivers", "nobody"), {"parking"}),
            ("anna", ("drivers",), {"dental", "parking"}),
            ("anna", (), {"dental"}),
            (None, (), set[str]()),
            ("an", ("sta",), set[str]()),
        ],
    )
    async def test_only_what_names_the_caller_or_a_group_of_theirs_is_found(
        self, retriever: Retriever, oid: str | None, groups: tuple[str, ...] | None, visible: set[str]
    ) -> None:
        text = "vision dental coverage parking garage lost badges canteen lunch"
        assert set(await self.ids(retriever, SearchQuery(text, top=5, access=Access(oid, groups)))) == visible

    @pytest.mark.parametrize(
        ("document", "access", "visible"),
        [
            ("dental.md", Access("anna"), True),
            ("dental.md", Access("ben", ("staff",)), False),
            ("parking.md", Access(None, ("staff",)), True),
            ("parking.md", Access(), False),
            ("vision.md", Access("anna"), False),
            ("vision.md", Access("anna", (), open_documents=True), True),
            ("vision.md", Access(None, (), open_documents=True), True),
            ("dental.md", Access("ben", (), open_documents=True), False),
            ("nothing.md", Access("anna", (), open_documents=True), False),
            ("dental.md' or sourcefile ne 'x", Access("anna", (), open_documents=True), False),
        ],
    )
    async def test_a_document_is_seen_by_those_whom_it_names_and_an_open_one_by_all(
        self, retriever: Retriever, document: str, access: Access, visible: bool
    ) -> None:
        assert await retriever.may_see(document, access) is visible

    @pytest.mark.parametrize(
        ("document", "access", "ids"),
        [
            ("dental.md", None, ["dental"]),
            ("dental.md", Access("anna"), ["dental"]),
            ("dental.md", Access("ben", ("staff",)), []),
            ("dental.md", Access(), []),
            ("vision.md", Access("anna"), []),
            ("vision.md", Access("anna", (), open_documents=True), ["vision"]),
            ("nothing.md", None, []),
            ("", None, []),
            ("dental.md' or sourcefile ne 'x", None, []),
            ("dental.md|vision.md", None, []),
        ],
    )
    async def test_a_document_is_read_by_those_who_may_see_it(
        self, retriever: Retriever, document: str, access: Access | None, ids: list[str]
    ) -> None:
        read = await retriever.read(document, replace(CONTEXT, access=access))
        assert [found.id for found in read] == ids
        assert [found.content for found in read] == [content_of(id_) for id_ in ids]

    async def test_the_passages_of_a_file_are_counted_for_those_who_may_see_them(self, retriever: Retriever) -> None:
        vision, dental = await retriever.extent("vision.md", None), await retriever.extent("dental.md", Access("anna"))
        assert vision
        assert dental
        assert (vision.passages, dental.passages) == (1, 1)
        assert {vision.pages, dental.pages} <= {1, None}
        assert await retriever.extent("dental.md", Access("ben", ("staff",))) is None
        assert await retriever.extent("vision.md", Access("anna", open_documents=True))
        assert await retriever.extent("vision.md", Access()) is None
        assert await retriever.extent("nothing.md", None) is None

    async def test_open_documents_are_found_by_those_who_see_them(self, retriever: Retriever) -> None:
        text = "vision dental coverage parking garage lost badges canteen lunch"
        access = Access("anna", ("drivers",), open_documents=True)
        found = await self.ids(retriever, SearchQuery(text, top=5, access=access))
        assert set(found) == {"vision", "dental", "parking", "canteen"}

    async def test_passages_below_the_minimum_score_are_left_out(self, retriever: Retriever) -> None:
        query = SearchQuery("vision coverage glasses", self.mode, top=5)
        everything = (await retriever.search(query, CONTEXT)).passages
        best = self.score(everything[0])
        found = (await retriever.search(self.at_least(query, best), CONTEXT)).passages
        assert len(everything) > 1
        assert found == everything[:1]

    async def test_minimums_of_zero_are_never_told_as_ignored(self, retriever: Retriever) -> None:
        query = SearchQuery("glasses", self.mode, minimum_score=0.0, minimum_reranker_score=0.0)
        assert (await retriever.search(query, CONTEXT)).ignored == ()

    async def test_nothing_is_found_for_no_text(self, retriever: Retriever) -> None:
        assert await self.ids(retriever, SearchQuery("")) == []
        assert await self.ids(retriever, SearchQuery(" \n\t")) == []

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=[repr(text[:24]) for text in ODD_TEXTS])
    async def test_any_text_is_a_valid_query(self, retriever: Retriever, text: str) -> None:
        await retriever.search(SearchQuery(text, self.mode), CONTEXT)

    @pytest.mark.parametrize("text", AS_WORDS)
    async def test_operators_of_a_search_language_are_no_more_than_they_are_in_a_question(
        self, retriever: Retriever, text: str
    ) -> None:
        words = SearchQuery("vision counter month", RetrievalMode.TEXT, top=5)
        assert await self.ids(retriever, replace(words, text=text)) == await self.ids(retriever, words)

    async def test_searches_at_the_same_time_each_get_their_own_result(self, retriever: Retriever) -> None:
        wanted = ["vision", "dental", "parking", "badge", "canteen"] * 10
        found = await asyncio.gather(*(self.ids(retriever, SearchQuery(content_of(id_), top=1)) for id_ in wanted))
        assert found == [[id_] for id_ in wanted]

    async def test_a_filled_index_is_healthy(self, retriever: Retriever) -> None:
        health = await retriever.check()
        assert health.ok, health.detail


def content_of(id_: str) -> str:
    return next(found.content for found in LIBRARY if found.id == id_)


HANDBOOK = tuple(
    Passage(f"file-book-page-{number}", f"Sentence {number}.", f"book.pdf#page={1 + number // 3}", "book.pdf")
    for number in range(12)
)
"""A file with several passages on each of its pages, and more than ten."""
