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
