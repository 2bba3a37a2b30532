"""Events as the journal of a run has them: they are read as they were written."""

import pytest

from shared import errors
from shared.errors import ContentFiltered, InternalError, NotSignedIn, RateLimited, Stopped, SwitchboardError
from shared.events import AgentMessage, CompletionStarted, Failed, Finished, ReasoningDelta, TextDelta, Thought
from shared.runs.packing import joined, pack, unpack

EVENTS = [
    CompletionStarted("c", 1, "m", prompt_filter_results=[{"hate": {"filtered": False}}]),
    *(ReasoningDelta("Hm"), ReasoningDelta("."), TextDelta("a"), TextDelta("\u2028"), TextDelta("c")),
    AgentMessage("Ada", 0, "Hi.", thoughts=(Thought("t", {"deep": [1, {"x": None}]}),), tool_inputs=("q",)),
    Finished("stop", followup_questions=("Why?",)),
]


def test_events_are_read_as_they_were_written() -> None:
    assert unpack(pack(EVENTS)) == EVENTS
    assert [*joined(EVENTS)][1:3] == [ReasoningDelta("Hm."), TextDelta("a\u2028c")]


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("Wait.", retry_after=42),
        ContentFiltered(results={"hate": {"filtered": True}}),
        NotSignedIn("Who?", refused=True),
        errors.BegunAnew(),
        Stopped(),
        InternalError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_keeps_its_kind_and_all_that_it_says(error: SwitchboardError) -> None:
    [failed] = unpack(pack([Failed(error, "i")]))
    assert type(failed.error) is type(error)
    assert (vars(failed.error), str(failed.error)) == (vars(error), str(error))


@pytest.mark.parametrize("data", [b"", b"[1]", b'[["Unknown",[]]]', b'[["Finished",[{}]]]', b'[["TextDelta",[1]]]'])
def test_what_is_no_list_of_events_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack(data)
