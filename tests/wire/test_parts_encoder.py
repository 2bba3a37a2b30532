"""One part of a stream is open at a time, in whatever order a model thinks, writes and calls tools."""

import itertools

import pytest

from shared.events import AgentWork, ChatEvent, Finished, ReasoningDelta, Retrieved, TextDelta
from shared.wire.table import PROTOCOLS
from tests.wire.scenarios import CALLS, LOOK, LOOKED, PLAN, STARTED
from tests.wire.test_goldens import records_of, stream_of

WRITES = (TextDelta("It "), AgentWork("Clerk", "thinking"), TextDelta("pays."))
THINKS = (ReasoningDelta("80 or "), STARTED, ReasoningDelta("100 %?"))
LOOKS = (LOOK, LOOKED)
SEARCHES = (Retrieved((PLAN,), ()),)
PARTS = {
    "ag-ui": {"TEXT_MESSAGE": "messageId", "REASONING_MESSAGE": "messageId"},
    "ai-sdk": {"text": "id", "reasoning": "id"},
    "openai-responses": {"response.content_part": "item_id", "response.reasoning_summary_part": "item_id"},
}
"""The beginnings of the types of records that begin, continue and end a part, and where its id is."""
BEGIN, END = ("_START", "-start", ".added"), ("_END", "-end", ".done")


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("order", [*itertools.permutations([WRITES, THINKS, LOOKS, WRITES, THINKS, SEARCHES])][::7])
def test_each_part_ends_before_the_next_one_begins(name: str, order: tuple[tuple[ChatEvent, ...], ...]) -> None:
    open_part: tuple[str, str] | None = None
    begun = list[str]()
    for record in records_of(stream_of(PROTOCOLS[name], (*itertools.chain(*order), CALLS, Finished("tool_calls")))):
        for kind, key in PARTS[name].items():
            suffix = record["type"].removeprefix(kind)
            if suffix in BEGIN:
                assert open_part is None
                open_part = kind, record[key]
                begun.append(kind)
            elif suffix in END:
                assert open_part == (kind, record[key])
                open_part = None
    assert open_part is None
    assert sorted({*begun}) == sorted(PARTS[name])
