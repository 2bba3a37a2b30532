"""A text that comes in pieces is cut where sentences end, and nothing of it gets lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.guard.content_safety.growing_text import CONTEXT, LONGEST_WAIT, Chunk, GrowingText

LIMIT = 2_000
TEXTS = st.lists(st.text(st.sampled_from("ab .!?\n。é😀'")) | st.text(), max_size=30)
LONG = st.integers(0, 3 * LIMIT).map(lambda size: "word " * (size // 5) + "x" * (size % 700))


def chunks_of(pieces: list[str], *, complete: bool = True) -> list[Chunk]:
    text = GrowingText(LIMIT)
    found: list[Chunk] = []
    for piece in pieces:
        text.add(piece)
        while chunk := text.take():
            found.append(chunk)
    if complete:
        text.complete()
        while chunk := text.take():
            found.append(chunk)
    return found


def texts(*pieces: str, complete: bool = False) -> list[str]:
    return [chunk.text for chunk in chunks_of([*pieces], complete=complete)]


@given(TEXTS | st.lists(LONG, max_size=3))
def test_the_chunks_are_the_text_with_offsets_in_bytes(pieces: list[str]) -> None:
    pieces = [piece.encode("utf-8", "ignore").decode() for piece in pieces]
    whole = "".join(pieces).encode()
    chunks = chunks_of(pieces)
    assert "".join(chunk.text for chunk in chunks).encode() == whole
    end = 0
    for chunk in chunks:
        assert chunk.start == end < chunk.end
        end = chunk.end
        assert whole[chunk.start : end].decode() == chunk.text
        assert 0 < len(chunk.window) <= LIMIT
        assert chunk.before == whole[: chunk.start].decode()[-CONTEXT:]
    assert end == len(whole)


SENTENCES = st.lists(
    st.builds(
        str.__add__, st.text("ab é😀", max_size=30).map("c{}c".format), st.sampled_from([". ", "?! ", "。", "\n"])
    ),
    min_size=1,
    max_size=20,
)


@given(SENTENCES, st.data())
def test_however_sentences_are_split_each_is_taken_whole_and_at_once(sentences: list[str], data: st.DataObject) -> None:
    whole = "".join(sentences)
    ends = [len("".join(sentences[: count + 1]).encode()) for count in range(len(sentences))]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    found = [chunk.end for chunk in chunks_of(pieces, complete=False)]
    assert set(found) <= set(ends)
    assert found[-1] == ends[-1]
    assert [chunk.end for chunk in chunks_of([*whole], complete=False)] == ends


def test_a_sentence_waits_until_it_is_whole() -> None:
    assert texts("The first", " one. And the sec") == ["The first one. "]
    assert texts("The first", " one. And the sec", complete=True) == ["The first one. ", "And the sec"]


@pytest.mark.parametrize("text", ["It costs 3.", "Really?", "A list: a, b", "www.example.org", ""])
def test_what_may_go_on_waits(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize(
    "text", ["A. ", "Really?! ", "He said 'no.' ", "- one\n", "好。", "「好。」", "**Bold.** ", "…no… "]
)
def test_what_ends_a_sentence(text: str) -> None:
    assert texts(text + "Next") == [text]


def test_sentences_that_wait_together_are_taken_together() -> None:
    assert texts("One. Two. Thr") == ["One. Two. "]


def test_a_sentence_without_an_end_is_cut_between_words() -> None:
    assert texts("word " * 101 + "wor") == ["word " * 101]
    assert texts("x" * (LONGEST_WAIT + 1)) == ["x" * (LONGEST_WAIT + 1)]
    assert texts("x" * LONGEST_WAIT) == []


def test_each_chunk_is_analysed_with_what_came_before_it() -> None:
    first, second = chunks_of(["I will take a knife. And", " use it on you. "])
    assert (first.before, first.window) == ("", "I will take a knife. ")
    assert second.window == "I will take a knife. And use it on you. "
    assert (second.start, second.end) == (21, 40)
