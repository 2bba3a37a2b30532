"""What is measured of an answer; the ranks as trec_eval, by way of ir_measures, measures them."""

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, Qrel, ScoredDoc, Success, nDCG

from evaluation.backends import Reply, Source
from evaluation.measures import holds, is_refusal, keeps_language, of_answer
from evaluation.questions import Question

ASKED = Question("a", "How many vacation days?", ("30", "thirty"), ("leave.md",), "en")
LEAVE = Source("leave.md", "After five years you get 30 vacation days.")
PLAN = Source("plan.pdf#page=3", "It pays 80 % of dental care.")


def measured(question: Question, text: str, *sources: Source, cited: tuple[str, ...] = ()) -> dict[str, float]:
    return of_answer(question, Reply(text, sources, cited, seconds=2.0), sources)


@given(st.lists(st.integers(0, 14), unique=True, max_size=12), st.sets(st.integers(0, 14), min_size=1, max_size=12))
def test_ranks_are_those_of_ir_measures(found: list[int], wanted: set[int]) -> None:
    question = Question("q", "x", sources=tuple(f"{one}.md" for one in wanted))
    ours = measured(question, "", *(Source(f"{one}.md") for one in found))
    qrels = [Qrel("q", f"{one}.md", 1) for one in wanted]
    run = [ScoredDoc("q", f"{one}.md", -rank) for rank, one in enumerate(found)]
    theirs = ir_measures.calc_aggregate([Success @ 1, Success @ 3, Success @ 10, RR @ 10, nDCG @ 10], qrels, run)
    names = {
        "hit@1": Success @ 1,
        "hit@3": Success @ 3,
        "hit@10": Success @ 10,
        "mrr@10": RR @ 10,
        "ndcg@10": nDCG @ 10,
    }
    for name, measure in names.items():
        assert ours[name] == pytest.approx(theirs[measure]), name


def test_a_page_of_the_wanted_file_is_right_and_counts_once() -> None:
    question = Question("q", "x", sources=("plan.pdf",))
    once = measured(question, "", Source("plan.pdf#page=3"), Source("plan.pdf#page=4"))
    assert once["ndcg@10"] == once["mrr@10"] == 1
    other_page = Question("q", "x", sources=("plan.pdf#page=4",))
    assert measured(other_page, "", Source("plan.pdf#page=3"), Source("plan.pdf#page=4"))["mrr@10"] == 0.5


@pytest.mark.parametrize(
    ("text", "answers", "found"),
    [
        ("You get 30 days.", ("30",), True),
        ("You get 300 days.", ("30",), False),
        ("It costs 1.200 €.", ("1,200",), True),
        ("It costs 1,200 euros.", ("1200 EUROS",), True),
        ("Es sind 4,50 Euro.", ("4.50",), True),
        ("Cover ends. [plan-30.pdf]", ("30",), False),
        ("Die STRASSE 5", ("straße 5",), True),
        ("It pays 90 % of it.", ("90%",), True),
        ("北京是首都。", ("首都",), True),
        ("สามสิบวันต่อปี", ("สามสิบวัน",), True),
        ("It is not open.", ("no",), False),
        ("anything", ("…",), False),
    ],
)
def test_an_answer_is_found_as_whole_words_in_any_spelling(text: str, answers: tuple[str, ...], found: bool) -> None:
    assert holds(text, answers) is found


def test_citations_are_right_where_the_cited_source_holds_the_answer() -> None:
    both = measured(ASKED, "30 days [leave.md][plan.pdf#page=3]", LEAVE, PLAN, cited=("leave.md", "plan.pdf#page=3"))
    assert both["citation_precision"] == 0.5
    assert both["cites"] == both["answer_recall"] == 1
    assert both["unverified"] == both["refused"] == 0


def test_without_its_text_a_cited_source_is_judged_by_its_name() -> None:
    named = measured(ASKED, "30 days", Source("leave.md"), Source("other.md"), cited=("leave.md", "other.md"))
    assert named["citation_precision"] == 0.5


def test_a_citation_of_what_was_not_found_is_unverified() -> None:
    invented = measured(ASKED, "30 days [invented.md]", LEAVE)
    assert invented["unverified"] == 1
    assert invented["cites"] == 0


WEEKS = ("16 weeks", "16 Wochen")
TWO = Question("q", "How long, and how long before?", facts=(WEEKS, ("seven weeks",)), sources=("leave.md",))
FILLER = "so on " * 43


@pytest.mark.parametrize(
    ("text", "early", "claimed"),
    [
        ("It is 16 weeks; announce it seven weeks before.", 1, 0),
        (f"16 weeks {FILLER} seven weeks.", 1, 0),
        (f"16 weeks {FILLER} of seven weeks.", 0, 0),
        ("It is 16 weeks.", 0, 0),
        ("It is ten days.", 0, 1),
        ("I don't know.", 0, 0),
        ("十六" * 86 + " 16 weeks, seven weeks", 1, 0),
        ("十六" * 87 + " 16 weeks, seven weeks", 0, 0),
    ],
)
def test_all_facts_have_to_be_said_among_the_first_90_words(text: str, early: float, claimed: float) -> None:
    found = measured(TWO, text, LEAVE)
    assert (found["said_early"], found["claimed"]) == (early, claimed)


def test_what_is_claimed_where_the_documents_are_silent_is_claimed_wrongly() -> None:
    silent = Question("q", "x", silent=True)
    assert measured(silent, "It is 30.")["claimed"] == 1
    assert measured(silent, "I don't know.")["claimed"] == 0


def test_gold_is_in_the_prompt_where_a_right_source_holds_each_fact_and_all_of_it_was_shown() -> None:
    whole, half = Source("leave.md", "For 16 weeks. Seven weeks before."), Source("leave.md", "For 16 weeks.")
    other = Source("other.md", whole.text)
    assert measured(TWO, "", half, whole)["in_prompt"] == 1
    assert measured(TWO, "", half, other)["in_prompt"] == 0
    assert "in_prompt" not in measured(TWO, "", Source("leave.md"))
    cut = Reply("", (whole,), shown=("You answer.", "Sources: For 16 weeks."))
    found = of_answer(TWO, cut, (whole,))
    assert (found["in_prompt"], found["question_tokens"]) == (0, 2 + 5)


def test_the_name_of_a_document_is_an_answer() -> None:
    question = Question("q", "Which documents mention dental care?", ("plan.pdf#page=3",), ("plan.pdf",))
    named = measured(question, "- [plan.pdf#page=3]", PLAN, cited=("plan.pdf#page=3",))
    assert (named["said_early"], named["in_prompt"], named["claimed"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{% alert %} Use it.", 1),
        ("{{< ref a >}}", 1),
        ("Title: x layout: default", 1),
        ("It <b>is</b> 30.", 1),
        ("<!-- note -->", 1),
        ("---\ntitle: x", 1),
        ("| a |\n|---|\n| 1 |", 0),
        ("If a < b and c > d, see <https://example.org>.", 0),
        ("- **30** days", 0),
    ],
)
def test_tags_comments_and_front_matter_are_markup(text: str, found: float) -> None:
    assert measured(ASKED, text, LEAVE)["markup"] == found


def test_words_are_what_stands_between_spaces() -> None:
    assert measured(ASKED, "You don't get 1,200 – 30 [leave.md].", LEAVE)["words"] == 5


@pytest.mark.parametrize(
    "text",
    [
        "The documents do not seem to have this.",
        "Das scheint nicht in den Dokumenten zu stehen.",
        "I don't know: the documents say nothing about that.",
        "Das weiß ich nicht: In den Dokumenten steht nichts dazu.",
        "The sources do not mention a dress code.",
        "Lo siento, no lo sé.",
        "申し訳ありませんが、わかりません。",
        "抱歉，我不知道。",
        "",
    ],
)
def test_an_answer_that_does_not_know_is_a_refusal(text: str) -> None:
    assert is_refusal(Reply(text))
    assert measured(Question("q", "x", silent=True), text)["silent_refused"] == 1
    assert "cites" not in measured(ASKED, text, LEAVE)
    assert measured(ASKED, text, LEAVE)["refused"] == 1


def test_an_answer_with_a_source_or_without_these_words_is_none() -> None:
    assert not is_refusal(Reply("I don't know of more than 30 days [leave.md].", (LEAVE,), ("leave.md",)))
    assert is_refusal(Reply("I don't know. [leave.md]", (LEAVE,), ("leave.md",)))
    assert not is_refusal(Reply("You get 30 days."))
    assert is_refusal(Reply("The nearest: 30 days [leave.md].", (LEAVE,), ("leave.md",), is_answer=False))
    assert measured(Question("q", "x", silent=True), "It is 30.", LEAVE)["silent_refused"] == 0


@pytest.mark.parametrize(
    ("language", "text", "kept"),
    [
        ("en", "After five years of service you get 30 vacation days a year.", True),
        ("de", "After five years of service you get 30 vacation days a year.", False),
        ("de-AT", "Nach fünf Jahren im Unternehmen haben Sie Anspruch auf 30 Urlaubstage.", True),
        ("ja", "五年間勤務すると、年間三十日の休暇が取得できますのでご安心ください。", True),
        ("en", "30 days", None),
        ("", "After five years of service you get 30 vacation days a year.", None),
        ("tlh", "After five years of service you get 30 vacation days a year.", None),
    ],
)
def test_the_language_of_an_answer_is_that_of_its_question(language: str, text: str, kept: bool | None) -> None:
    assert keeps_language(Question("q", "x", language=language), text) is kept
