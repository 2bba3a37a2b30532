"""Whatever the text, its chunks, the watermarks and the forbidden range: nothing unsafe goes out, all else does."""

import asyncio
from collections.abc import AsyncGenerator

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import ContentFiltered
from shared.events import Finished
from shared.guard import SafetyEvent, Watermark
from shared.guard.chat_payloads import ANSWER
from tests.guard.guarding import answer, rules, watched
from tests.guard.scripted_safety import WHOLE, ScriptedSafety, ScriptedSession, blocks, cleared

CHARACTERS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str], list[int], int | None]:
    """An answer in pieces, how far each step clears it, and the first unsafe byte."""
    pieces = draw(st.lists(CHARACTERS.filter(bool), min_size=1, max_size=12))
    size = len("".join(pieces).encode())
    unsafe = draw(st.none() | st.integers(0, size - 1))
    schedule = draw(st.lists(st.integers(-3, size), max_size=14))
    return pieces, schedule, unsafe


@settings(deadline=None)
@given(cases())
def test_what_is_released_is_a_prefix_before_the_first_unsafe_byte_and_a_safe_text_comes_whole(
    case: tuple[list[str], list[int], int | None],
) -> None:
    pieces, schedule, unsafe = case

    async def script(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        marks = list(schedule)
        while (step := await session.next()) != "finish":
            sent = len(session.texts.get(ANSWER, "").encode())
            if step == "commit" and not sent:
                for event in cleared(session.texts):
                    yield event
            safe = sent if unsafe is None else min(sent, unsafe)
            if step == "commit":
                marks = [safe]
            if sent and marks:
                yield Watermark(ANSWER, min(marks.pop(0), safe))
            if unsafe is not None and sent > unsafe:
                yield blocks(ANSWER, unsafe, sent)
                yield Watermark(ANSWER, sent)  # nonsense, which must not count
        yield WHOLE

    async def run() -> None:
        out = await watched(answer(*pieces), rules(ScriptedSafety(script)))
        whole = "".join(pieces)
        if unsafe is None:
            assert out.error is None
            assert out.text == whole
        else:
            assert isinstance(out.error, ContentFiltered)
            assert whole.startswith(out.text)
            assert len(out.text.encode()) <= unsafe
            assert not any(isinstance(event, Finished) for event in out.events)

    asyncio.run(run())
