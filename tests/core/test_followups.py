"""Follow-up questions are found and never shown, wherever the model's chunks are cut."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.core.followups import FollowupParser

MARKED_TEXT = st.lists(
    st.sampled_from(["<", ">", "<<", ">>", " ", "\n", "Why", "a", "é", "?", "<<Why?>>", "<<List<T>?>>"])
).map("".join)


def parse(*pieces: str) -> tuple[str, list[str]]:
    parser = FollowupParser()
    shown = "".join([parser.feed(piece) for piece in pieces])
    return shown + parser.flush(), parser.questions


@pytest.mark.parametrize(
    ("text", "shown", "questions"),
    [
        ("Yes.\n\n<<Why?>>\n<<How much?>>\n", "Yes.", ["Why?", "How much?"]),
        ("Yes. <<Why?>> More.", "Yes. More.", ["Why?"]),
        ("<<Why?>><<Why?>>", "", ["Why?"]),
        ("<< Why? >>", "", ["Why?"]),
        ("No markers here. \n", "No markers here. \n", []),
        ("1 << 3 and 8 >> 1", "1 << 3 and 8 >> 1", []),
        ("cout << a\n>> b", "cout << a\n>> b", []),
        ("a << b", "a << b", []),
        ("Yes. <<What does it c", "Yes.", []),
        ("Yes.<", "Yes.<", []),
        ("x <<" + "y" * 401 + ">>", "x <<" + "y" * 401 + ">>", []),
        ("<<<Why?>>>", "<>", ["Why?"]),
        ("", "", []),
        ("Yes.\n<<How do I use List<T>?>>\n<<Why?>>", "Yes.", ["How do I use List<T>?", "Why?"]),
        ("<<How do I use List<T>?>>", "", ["How do I use List<T>?"]),
        ("Yes. <<Is it Map<K, List<V>>>> \n", "Yes.", ["Is it Map<K, List<V>>"]),
        ("Yes.\n  << What does a >> b do? >>  \nMore.", "Yes.  \nMore.", ["What does a >> b do?"]),
        ("Yes.\n<<Why?>> <<Is a < b?>>", "Yes.", ["Why?", "Is a < b?"]),
        ("Use <<List<T>>> here.", "Use <<List<T>>> here.", []),
        ("Use <<List<T>>>\nhere.", "Use <<List<T>>>\nhere.", []),
        ("<<List<T>>> is a type.", "<<List<T>>> is a type.", []),
        ("Yes.\n<<How do I use List<T", "Yes.", []),
        ("Yes.\n<<How do I use List<T>?>", "Yes.", []),
        ("cout <<a<b", "cout <<a<b", []),
        ("Yes.\n<<Is it covered??>\n<<Since when?\nMore.", "Yes.\nMore.", ["Is it covered??", "Since when?"]),
        ("Three questions: <<Is it covered?>\n<<Why?>>", "Three questions:", ["Is it covered?", "Why?"]),
        ("Yes.\n<<Is it covered? >", "Yes.", ["Is it covered?"]),
        ("Yes.\n<<not a question\nMore.", "Yes.\n<<not a question\nMore.", []),
        ("<<" + "y" * 401 + ">>", "<<" + "y" * 401 + ">>", []),
        ("<<" + "<".join("y" * 201) + ">>", "<<" + "<".join("y" * 201) + ">>", []),
    ],
)
def test_markers_become_questions_and_the_rest_is_text(text: str, shown: str, questions: list[str]) -> None:
    assert parse(text) == (shown, questions)


@given(MARKED_TEXT, st.lists(st.integers(0, 60), max_size=6))
@example("Yes.\n<<Why?>>\n", [1, 5, 6, 7, 12, 13])
@example("<<<List<T>?>>>", [1, 2, 3, 10, 13])
def test_where_the_text_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(bounds)]
    assert parse(*pieces) == parse(text)


def test_every_single_cut_of_a_real_answer_gives_the_same() -> None:
    text = "It pays 80 % [plan.pdf#page=2].\n\n<<What is the deductible?>>\n<<Is it < 5 % or > 9 %?>>\n"
    whole = parse(text)
    assert whole == ("It pays 80 % [plan.pdf#page=2].", ["What is the deductible?", "Is it < 5 % or > 9 %?"])
    for cut in range(len(text) + 1):
        assert parse(text[:cut], text[cut:]) == whole
    assert parse(*text) == whole


def test_text_that_cannot_become_a_marker_is_not_held_back() -> None:
    parser = FollowupParser()
    assert parser.feed("It pays") == "It pays"
    assert parser.feed(" 80 % <") == " 80 %"
    assert parser.feed("= 100") == " <= 100"
