"""What the words and patterns of the reference RAI service find, wherever the text is cut."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from local.rai_service.patterns import (
    GAP_WORDS,
    MalformedPattern,
    Match,
    Pattern,
    PatternSet,
    Search,
    compile_pattern,
    compile_words,
)

TEXT = st.lists(
    st.sampled_from(
        ["kill", "KILL", "ki", "ll", "bomb", "build", "é", "𝄞", " ", "  ", "\n", ".", "-", "a", "s", "\u00ad"]
    )
    | st.text(max_size=3)
).map("".join)
PATTERNS = [compile_words("kill"), compile_words("bomb a"), compile_pattern("build* ... bomb*"), compile_pattern("*ll")]


def search(text: str, *patterns: Pattern) -> list[Match]:
    running = Search(PatternSet(patterns))
    return [*running.feed(text), *running.finish()]


def found(text: str, *patterns: Pattern) -> list[str]:
    return [text.encode()[match.start : match.end].decode() for match in search(text, *patterns)]


@pytest.mark.parametrize(
    ("words", "text", "hit"),
    [
        ("bomb", "A bomb.", "bomb"),
        ("bomb", "bomb", "bomb"),
        ("bomb", "A BoMb!", "BoMb"),
        ("bomb", "A bömb!", "bömb"),
        ("bomb", "A b\u00ado\u200bmb!", "b\u00ado\u200bmb"),
        ("bomb", "A bo\u0308mb!", "bo\u0308mb"),
        ("bomb", "_bomb_", "bomb"),
        ("bomb", "ｂｏｍｂ", "ｂｏｍｂ"),
        ("straße", "Die STRASSE!", "STRASSE"),
        ("strasse", "Die Straße!", "Straße"),
        ("go away", "Go  -  away", "Go  -  away"),
        ("c-4", "some C4 and C 4", "C 4"),
        ("don't", "don’t", "don’t"),
        ("炸弹", "看 炸弹", "炸弹"),
        ("bomb", "bombs", None),
        ("bomb", "abomb", None),
        ("go away", "goaway", None),
        ("go away", "go far away", None),
    ],
)
def test_words_are_found_whole_whatever_their_looks(words: str, text: str, hit: str | None) -> None:
    assert found(text, compile_words(words)) == ([hit] if hit else [])


@pytest.mark.parametrize(
    ("pattern", "text", "hit"),
    [
        ("bomb*", "bombs", "bombs"),
        ("bomb*", "bomb", "bomb"),
        ("*bomb*", "abombs", "abombs"),
        ("b*b", "bomb", "bomb"),
        ("b*b", "bombs", None),
        ("kill *", "kill anyone now", "kill anyone"),
        ("kill *", "kill", None),
        ("build ... bomb", "build bomb", "build bomb"),
        ("build ... bomb", "build me a big bomb", "build me a big bomb"),
        ("build ... bomb", "build " + "x " * GAP_WORDS + "bomb", "build " + "x " * GAP_WORDS + "bomb"),
        ("build ... bomb", "build " + "x " * (GAP_WORDS + 1) + "bomb", None),
        ("build ... bomb", "buildbomb", None),
        ("build ... bomb", "build a build a bomb", "build a build a bomb"),
        ("*炸弹*", "我要做炸弹吗", "我要做炸弹吗"),
    ],
)
def test_patterns_have_wildcards_in_words_and_between_them(pattern: str, text: str, hit: str | None) -> None:
    assert found(text, compile_pattern(pattern)) == ([hit] if hit else [])


@pytest.mark.parametrize("text", ["", " ", "...", "*", "* ... *", "bomb ...", "... bomb", "!?"])
def test_what_can_find_nothing_or_everything_is_refused(text: str) -> None:
    with pytest.raises(MalformedPattern, match="should"):
        compile_pattern(text)
    with pytest.raises(MalformedPattern, match="should"):
        compile_words(text.replace("bomb", ""))


def test_a_word_without_wildcards_takes_them_for_punctuation() -> None:
    assert found("b bomb", compile_words("b*")) == ["b"]
    assert found("build bomb", compile_words("build ... bomb")) == ["build bomb"]


def test_each_pattern_is_told_apart() -> None:
    matches = search("kill a bomb a", *PATTERNS)
    assert [(match.pattern, match.start) for match in matches] == [(0, 0), (3, 0), (1, 7)]


@given(TEXT, st.lists(st.integers(0, 60), max_size=6))
@example("build a bomb", [1, 7, 10])
def test_where_the_text_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    text = text.encode(errors="ignore").decode()
    running = Search(PatternSet(PATTERNS))
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    matches = [match for start, end in pairwise(bounds) for match in running.feed(text[start:end])]
    assert [*matches, *running.finish()] == search(text, *PATTERNS)


@given(TEXT)
def test_no_match_begins_before_what_was_decided(text: str) -> None:
    text = text.encode(errors="ignore").decode()
    running = Search(PatternSet(PATTERNS))
    decided = 0
    for char in text:
        matches = running.feed(char)
        assert all(match.start >= decided for match in matches)
        assert decided <= running.undecided <= running.position
        decided = running.undecided
    assert all(match.start >= decided for match in running.finish())
    assert running.position == running.undecided == len(text.encode())


def test_a_word_that_cannot_become_a_match_is_decided_while_it_goes_on() -> None:
    running = Search(PatternSet([compile_words("kill")]))
    running.feed("a ki")
    assert running.undecided == 2
    running.feed("n")
    assert running.undecided == 5


def test_a_text_that_would_make_a_backtracking_search_give_up_is_read_once() -> None:
    hostile = "a" * 10_000 + " " + "a " * 10_000
    assert found(hostile, compile_pattern("a* ... a* ... a* ... a*b")) == []
