"""Searches by text: which passages are found, and in which order."""

import math
import unicodedata
from collections.abc import Sequence
from copy import replace
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.chat_types import Access, Passage, RetrievalMode
from shared.retrieval import SearchQuery
from shared.retrieval.sqlite.ranking import Found, Weighed, asked_words, candidates, weighed
from tests.retrieval.retriever_contract import CONTEXT, passage
from tests.retrieval.sqlite.filled_index import fill, found_in, opened


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
        ("articolo", "Il testo dell'articolo è lungo e la norma è del codice."),
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
        ("Urlaub", "Der Resturlaub und die Urlaubsplanung."),
        ("hearin", "Hearing aids are paid for."),
        ("servises", "All services of a dentist."),
        ("kitabu", "Vitabu na kitabuni."),
        ("గ్రామం", "ఈ గ్రామంలో ఇళ్ళు ఉన్నాయి."),
        ("বাংলাদেশ", "ঢাকা বাংলাদেশের রাজধানী।"),
        ("کتابیں", "یہ کتابوں کی دکان ہے۔"),
        ("کتابها", "این کتاب\u200cها ارزان است."),
        ("チーム", "サッカーチームの監督。"),
        ("ﾁｰﾑ", "サッカーチームの監督。"),
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


@pytest.mark.parametrize("place", [0, 1])
async def test_a_question_before_or_behind_4000_words_is_searched_for(path: Path, place: int) -> None:
    pieces = [" ".join(f"mail{number}" for number in range(4_000))]
    pieces.insert(place, "What does the plan pay for glasses?")
    contents = ["What is this and who are you?", "Glasses are paid for.", "Parking.", "Lunch."]
    assert await found_in(path, "\n".join(pieces), contents) == [contents[1]]


@pytest.mark.parametrize(
    ("name", "asked"), [("TravelPolicy2026.md", "travel"), ("HRGuide.md", "guide"), ("GitHub.md", "github")]
)
async def test_a_file_is_found_by_words_that_its_name_has_written_together(path: Path, name: str, asked: str) -> None:
    await fill(
        path, [replace(passage("1", "Book by train."), sourcefile=name), passage("2", "Lunch."), passage("3", "Tea.")]
    )
    async with opened(path) as retriever:
        found = await retriever.search(SearchQuery(asked, top=5), CONTEXT)
    assert [one.sourcefile for one in found.passages] == [name]


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
    return weighed(words, {term: 1 for word in words for term in word.every}, 10).found


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


async def test_text_scores_are_positive_even_for_a_word_in_every_passage(path: Path) -> None:
    await fill(path, [passage(str(number), "glasses") for number in range(3)])
    async with opened(path) as retriever:
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
    assert all(found.score is not None and found.score > 0 for found in result.passages)


async def test_fewer_passages_are_the_first_of_more_also_where_a_sentence_decides(path: Path) -> None:
    apart = "Parking is free. Dogs may enter. The garage opens at six. Employees eat lunch."
    together = "Dogs may not enter. Employees eat lunch. Everything is free. Parking in the garage."
    every = await found_in(path, "parking garage", [apart, together, "Anything else. More of it."])
    assert every == [together, apart]
    async with opened(path) as retriever:
        result = await retriever.search(SearchQuery("parking garage", top=1), CONTEXT)
    assert [found.content for found in result.passages] == [together]


async def test_the_name_of_a_file_decides_between_two_that_say_the_same(tmp_path: Path) -> None:
    text = "The deductible for a visit is paid before the plan pays."
    names = ("plans/Contoso_Standard_Benefits.pdf", "plans/Contoso_Plus_Benefits.pdf")
    path = tmp_path / "index.sqlite"
    await fill(path, [Passage(name, text, name, name) for name in names])
    async with opened(path) as retriever:
        for wanted in names:
            plan = wanted.split("_")[1]
            found = await retriever.search(SearchQuery(f"What deductible does Contoso {plan} have?"), CONTEXT)
            assert found.passages[0].sourcefile == wanted


async def test_the_handbook_that_a_question_names_comes_before_another_that_says_more(tmp_path: Path) -> None:
    said = {
        "standard": ["The deductible for a visit to a hospital is not that of the Plus plan. Plus plan: see there."],
        "plus": ["For a visit to a hospital, and to a doctor who is not of the network, you pay the deductible."],
    }
    for number in range(3, 9):
        said[("standard", "plus")[number % 2]] += [f"Part {number} of the plan."]
    path = tmp_path / "index.sqlite"
    names = {f"{number}/Contoso_{plan}_plan.pdf": text for plan in said for number, text in enumerate(said[plan])}
    await fill(path, [Passage(name, text, name, name) for name, text in names.items()])
    async with opened(path) as retriever:
        for named in ("the Plus plan", "Contoso_Plus_plan.pdf"):
            query = SearchQuery(f"What is the deductible for a visit to a hospital in {named}?")
            found = await retriever.search(query, CONTEXT)
            assert found.passages[0].sourcefile == "0/Contoso_plus_plan.pdf"


async def test_a_passage_is_found_by_its_heading_its_title_and_the_head_of_its_table(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    plain = [passage(str(number), f"Costs of another kind, {number}.") for number in range(5)]
    told = Passage(
        "t",
        "| Plus | 140 |",
        "a.md",
        "a.md",
        title="Handbook 2026",
        headings=("Premiums",),
        table_head="| Plan | Euros |\n| --- | --- |\n",
    )
    await fill(path, [*plain, told])
    async with opened(path) as retriever:
        for word in ("handbook", "premium", "euros"):
            assert [one.id for one in (await retriever.search(SearchQuery(word), CONTEXT)).passages] == ["t"]
