"""The text of an answer that comes as JSON, against Python's own writer of JSON."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.json_answers import JsonAnswer
from shared.errors import Unavailable

TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n😀é{}[],:'), min_size=1)


def taken(said: str, cuts: list[int]) -> tuple[str, str, list[str]]:
    """What is shown of an answer while it comes, what at its end, and its questions."""
    answer = JsonAnswer()
    places = sorted({0, len(said), *(cut % (len(said) + 1) for cut in cuts)})
    shown = "".join(answer.feed(said[begin:end]) for begin, end in pairwise(places))
    return shown, answer.flush(), answer.questions


@given(TEXTS, st.lists(TEXTS, max_size=3), st.lists(st.integers(0, 1_000)), st.booleans(), st.sampled_from([None, 1]))
def test_the_text_comes_whole_however_it_is_cut(
    text: str, questions: list[str], cuts: list[int], is_ascii: bool, indent: int | None
) -> None:
    whole = {"sources": ["a.md", "b.pdf#page=2"], "answer": text, "questions": questions}
    shown, end, found = taken(json.dumps(whole, ensure_ascii=is_ascii, indent=indent), cuts)
    assert (shown, found) == (text, questions)
    assert end.strip() == "[a.md][b.pdf#page=2]"


@given(st.sampled_from(["I don't know.", '"{" is a brace', "[a.md] says so", "…"]), st.lists(st.integers(0, 20)))
def test_text_that_is_no_json_is_shown_as_it_is(text: str, cuts: list[int]) -> None:
    shown, end, _ = taken(text, cuts)
    assert shown + end == text


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('{"sources": ["a.md"], "answer": "Up to 120 eur', "Up to 120 eur [a.md]"),
        ('{"sources": ["a.md"], "answer": "Up to \\u00', "Up to  [a.md]"),
        ('{"sources": ["a.md"], "answer": "As [a.md] says."}', "As [a.md] says."),
        ('{"sources": ["a.md"], "answer": "| a |\\n| b |"}', "| a |\n| b |\n\n[a.md]"),
        ('{"sources": [], "answer": "I don\'t know."}', "I don't know."),
        ('{"sources": ["a.md"], "answer": ""}', ""),
        ('{"sources": [], "answer": "\\ud83d\\ude00\\n"}', "😀\n"),
        ('{"sources": [], "answer": "Two\nlines"}', "Two lines"),
        ('{"sources": ["a.', ""),
    ],
)
def test_what_is_cut_off_is_shown(said: str, shown: str) -> None:
    first, end, _ = taken(said, [*range(len(said))])
    assert first + end == shown


@pytest.mark.parametrize("said", ['{"sources": 7, "answer": "Why?"}', '{"answer": "\\uzzzz"}', '{"answer" "a'])
def test_json_of_another_form_is_a_fault(said: str) -> None:
    with pytest.raises(Unavailable, match="JSON"):
        JsonAnswer().feed(said)


def test_an_answer_without_end_is_given_up() -> None:
    answer = JsonAnswer()
    answer.feed('{"sources": [], "answer": "')
    with pytest.raises(Unavailable, match="did not come to an end"):
        answer.feed("and so on " * 10_000)
