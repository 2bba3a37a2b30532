from hypothesis import given
from hypothesis import strategies as st

from shared.guard.release import Line


@st.composite
def answers(draw: st.DrawFn) -> list[str | int]:
    """Pieces of any text, with numbered events between them."""
    parts = draw(st.lists(st.text(min_size=1) | st.none(), max_size=20))
    return [place if part is None else part for place, part in enumerate(parts)]


def taken(line: Line[int], shown: int | None) -> list[str | int]:
    out: list[str | int] = []
    while True:
        if text := line.take_text(shown):
            out.append(text)
        elif (item := line.item) is not None:
            line.take_item()
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
    line: Line[int] = Line()
    out: list[str | int] = []
    highest = 0
    for place, part in enumerate(parts):
        if isinstance(part, str):
            line.hold_text(part)
        else:
            line.hold(part)
        highest = max(highest, marks[place]) if place < len(marks) else highest
        out += taken(line, highest)
    whole = text_of(parts)
    released = text_of(out)
    assert whole.startswith(released)
    assert len(released.encode()) <= highest
    following = whole[len(released) : len(released) + 1]
    assert not following or len((released + following).encode()) > highest  # nor is anything cleared kept back
    assert joined(out + taken(line, None)) == joined(parts)
    assert line.empty


def test_no_character_is_split() -> None:
    line: Line[int] = Line()
    line.hold_text("aé€😀")
    assert [line.take_text(shown) for shown in range(11)] == ["", "a", "", "é", "", "", "€", "", "", "", "😀"]


def test_an_event_waits_for_the_text_before_it_and_keeps_the_text_after_it_waiting() -> None:
    line: Line[int] = Line()
    line.hold_text("ab")
    line.hold(1)
    line.hold_text("cd")
    assert line.take_text(1) == "a"
    assert line.item is None
    assert line.take_text(4) == "b"
    assert line.take_text(4) == ""
    assert line.item == 1
    line.take_item()
    assert line.take_text(4) == "cd"
