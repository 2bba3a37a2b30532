"""Passages have the right size, lose nothing, and share what stands at their edges."""

import re
import time
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semantic_text_splitter import TextSplitter

from shared.reading import Page, UnreadableError
from shared.reading.chunks import MAX_SPLIT_LENGTH, OVERLAP_TOKENS, PASSAGE_TOKENS, pieces
from tests.ingestion.split_here import split


def fits(text: str, tokens: int) -> bool:
    return len(TextSplitter.from_tiktoken_model("gpt-4o", tokens).chunks(text)) <= 1


words = st.text(st.sampled_from("abcdeäöüßé漢"), min_size=1, max_size=12)
sentences = st.lists(words, min_size=2, max_size=25).map(lambda found: " ".join(found).capitalize() + ".")
paragraphs = st.lists(sentences, min_size=1, max_size=12).map(" ".join)
bullet_lists = st.lists(sentences, min_size=1, max_size=8).map(lambda items: "\n".join(f"- {item}" for item in items))
headings = st.tuples(st.integers(1, 4), words).map(lambda found: f"{'#' * found[0]} {found[1]}")
HEADER = "| a0 | b1 |\n|---|---|\n"
tables = st.lists(st.tuples(words, words), min_size=1, max_size=120).map(
    lambda rows: HEADER + "\n".join(f"| {left} | {right} |" for left, right in rows)
)
documents = st.lists(paragraphs | bullet_lists | headings | tables, min_size=1, max_size=20).map("\n\n".join)


def numbered(text: str) -> str:
    """The text with each word but those of `HEADER` made unique, so that a passage has one place in it."""
    numbers = count(10)
    return re.sub(r"\b(?!a0\b|b1\b)\w+", lambda word: f"{word[0]}{next(numbers)}", text)


@settings(deadline=None)
@given(documents.map(numbered))
def test_passages_cover_the_whole_text_in_order_and_within_the_limit(text: str) -> None:
    end = start = 0
    for passage in split("a.md", [Page(text)]):
        assert fits(passage.content, PASSAGE_TOKENS)
        content = passage.content
        start = text.index(content, start)
        assert not text[end:start].strip()
        end = start + len(content)
    assert not text[end:].strip()


def test_a_long_section_is_cut_between_sentences_and_shares_whole_sentences() -> None:
    told = [f"Sentence number {number} tells of something in eleven words or so." for number in range(200)]
    contents = [passage.content for passage in split("a.txt", [Page(" ".join(told))])]
    assert len(contents) > 4
    for before, after in pairwise(contents):
        assert before.endswith("so.")
        assert after.startswith("Sentence number")
        shared = next(after[:size] for size in range(len(after), 0, -1) if before.endswith(after[:size]))
        assert shared.count(".") >= 2
        assert fits(shared, OVERLAP_TOKENS)


def test_a_passage_begins_at_a_heading_where_it_can() -> None:
    section = " ".join("These are eight words that fill this section." for _ in range(35))
    text = "\n\n".join(f"## Section {number}\n\n{section}" for number in range(5))
    passages = split("a.md", [Page(text)])
    assert [passage.content.partition("\n")[0] for passage in passages] == [f"## Section {n}" for n in range(5)]


@pytest.mark.parametrize("rows", [90, 20_000])
def test_each_passage_of_a_long_table_has_its_heading_and_head(rows: int) -> None:
    head = "| Item | Price |\n| --- | --- |\n"
    header = f"## Prices\n\n{head}"
    lines = [f"| Tea number {number} | {number}.50 |" for number in range(rows)]
    text = f"# Shop\n\nWhat things cost.\n\n{header}{'\n'.join(lines)}\n\nAsk for more."
    before, first, *others, after = split("a.md", [Page(text)])
    assert (before.content, after.content) == ("# Shop\n\nWhat things cost.", "Ask for more.")
    assert (first.path, first.table_head) == (("Shop",), "")  # both are in its text
    assert first.content.startswith(header)
    assert {(one.path, one.table_head) for one in others} == {(("Shop", "Prices"), head)}
    assert all(fits(one.whole, PASSAGE_TOKENS) for one in (first, *others))
    contents = [first.content.removeprefix(header), *(one.content for one in others)]
    assert [line for content in contents for line in content.splitlines()] == lines


def test_a_table_that_is_cut_keeps_its_years_and_units() -> None:
    head = "| | Years ended | |\n| --- | --- | --- |\n| (in millions) | December 31, 2022 | 2021 |\n"
    rows = "\n".join(f"| Revenue of segment {number} | {number}22 | {number}21 |" for number in range(90))
    *_, last = split("report.md", [Page(head + rows)])
    assert last.table_head == head


def test_a_row_of_values_is_no_head() -> None:
    head = "| Plan | Pays | Since |\n| --- | --- | --- |\n"
    rows = "\n".join(f"| Plan {number} | 80 % | 2021 |" for number in range(90))
    *_, last = split("plans.md", [Page(head + rows)])
    assert last.table_head == head


def test_headings_stand_above_the_text_of_the_next_pages_until_another_takes_their_place() -> None:
    pages = [
        Page("# Handbook\n\n## Leave\n\nTake it.", 1),
        Page("More on leave.\n\n```\n# no heading\n```", 2),
        Page("### Parents **only**\n\nSixteen weeks.", 3),
        Page("## Pay\n\nMonthly.", 4),
    ]
    first, second, third, fourth = split("a.pdf", pages)
    assert {one.title for one in (first, second, third, fourth)} == {"Handbook"}
    assert [one.path for one in (first, second, third, fourth)] == [
        ("Handbook",),
        ("Handbook", "Leave"),
        ("Handbook", "Leave"),
        ("Handbook",),
    ]


def test_a_table_whose_header_fills_a_passage_is_split_like_text() -> None:
    header = "| " + " | ".join(f"a long column name {number}" for number in range(60)) + " |"
    text = f"{header}\n|{' --- |' * 60}\n" + "\n".join(f"| row {number} |" for number in range(300))
    contents = [passage.content for passage in split("a.md", [Page(text)])]
    assert all(fits(content, PASSAGE_TOKENS) for content in contents)
    assert sum(content.count("long column name 7 ") for content in contents) == 1
    assert "| row 299 |" in contents[-1]


def test_a_small_document_is_one_passage() -> None:
    (passage,) = split("leave/a.md", [Page("# Title\n\nText.")])
    assert passage.content == "# Title\n\nText."
    assert (passage.sourcefile, passage.sourcepage, passage.category) == ("leave/a.md", "leave/a.md", "leave")


def test_no_passage_crosses_pages_and_each_has_its_own_id() -> None:
    text = " ".join("These are eight words that fill this page." for _ in range(90))
    passages = split("a.pdf", [Page(text, 2), Page("Short.", 5)])
    assert [passage.sourcepage for passage in passages] == [*["a.pdf#page=2"] * (len(passages) - 1), "a.pdf#page=5"]
    assert len({passage.id for passage in passages}) == len(passages) > 2


def test_what_has_more_passages_than_the_memory_has_room_for_is_refused() -> None:
    pages = [Page(f"Page {number}.", number) for number in range(1, 5)]
    assert len(split("a.pdf", pages, limit=4)) == 4
    with pytest.raises(UnreadableError, match="more than 3 passages"):
        split("a.pdf", pages, limit=3)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("One two.\nThree four.\n\n" * 5_000, "\n\n"),
        ("One two. Three four.\n" * 5_000, "\n"),
        ("One two. Three four. " * 5_000, " "),
        ("7" * 120_000, "7"),
    ],
)
def test_a_long_text_is_split_piece_by_piece_with_nothing_lost(text: str, end: str) -> None:
    cut = list(pieces(text))
    assert "".join(cut) == text
    assert len(cut) == 3
    assert all(MAX_SPLIT_LENGTH - 100 < len(piece) <= MAX_SPLIT_LENGTH and piece.endswith(end) for piece in cut[:-1])


@pytest.mark.parametrize("run", ["." * 100_000, "a" * 100_000, "漢" * 100_000, "🦷" * 100_000])
def test_a_run_of_one_kind_is_cut_before_it_takes_the_splitter_minutes(run: str) -> None:
    text = f"Before. {run} After."
    cut = list(pieces(text))
    assert "".join(cut) == text
    assert max(map(len, cut)) <= 1_008


def test_the_time_for_a_table_grows_with_its_rows() -> None:
    rows = [f"| Person {number} | Town of the county, north | {number}.50 |" for number in range(20_000)]

    def seconds(count: int) -> float:
        begun = time.thread_time()
        assert (
            len(split("a.csv", [Page("\n".join(("| a | b | c |", "| --- | --- | --- |", *rows[:count])))])) > count / 30
        )
        return time.thread_time() - begun

    assert min(seconds(20_000) / seconds(5_000) for _ in range(3)) < 8, "it was 13 when each passage read the table"
