from hypothesis import given
from hypothesis import strategies as st

from shared.guard.clearance import ReleaseQueue


@st.composite
def answers(draw: st.DrawFn) -> list[str | int]:
    """Pieces of any text, with numbered events between them."""
    parts = draw(st.lists(st.text(min_size=1) | st.none(), max_size=20))
    return [place if part is None else part for place, part in enumerate(parts)]


def taken(queue: ReleaseQueue[int], shown: int | None) -> list[str | int]:
    out: list[str | int] = []
    while True:
        if text := queue.take_text(shown):
            out.append(text)
        elif (item := queue.item) is not None:
            queue.take_item()
            out.append(item)
        else:
            return out


def joined(parts: list[str | int]) -> list[str | int]:
    """With neighbouring texts as one."""
    out: list[str | int] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        else:
            out.append(part)
    return out


def text_of(parts: list[str | int]) -> str:
    return "".join(part for part in parts if isinstance(part, str))


@given(answers(), st.lists(st.integers(-5, 200)))
def test_what_goes_out_is_a_prefix_in_order_that_ends_at_or_before_the_highest_mark(
    parts: list[str | int], marks: list[int]
) -> None:
    queue: ReleaseQueue[int] = ReleaseQueue()
    out: list[str | int] = []
    highest = 0
    for place, part in enumerate(parts):
        if isinstance(part, str):
            queue.hold_text(part)
        else:
            queue.hold(part)
        highest = max(highest, marks[place]) if place < len(marks) else highest
        out += taken(queue, highest)
    whole = text_of(parts)
    released = text_of(out)
    assert whole.startswith(released)
    assert len(released.encode()) <= highest
    following = whole[len(released) : len(released) + 1]
    assert not following or len((released + following).encode()) > highest  # nor is anything cleared kept back
    assert joined(out + taken(queue, None)) == joined(parts)
    assert queue.empty


def test_no_character_is_split() -> None:
    queue: ReleaseQueue[int] = ReleaseQueue()
    queue.hold_text("aé€😀")
    assert [queue.take_text(shown) for shown in range(11)] == ["", "a", "", "é", "", "", "€", "", "", "", "😀"]


def test_an_event_waits_for_the_text_before_it_and_keeps_the_text_after_it_waiting() -> None:
    queue: ReleaseQueue[int] = ReleaseQueue()
    queue.hold_text("ab")
    queue.hold(1)
    queue.hold_text("cd")
    assert queue.take_text(1) == "a"
    assert queue.item is None
    assert queue.take_text(4) == "b"
    assert queue.take_text(4) == ""
    assert queue.item == 1
    queue.take_item()
    assert queue.take_text(4) == "cd"
