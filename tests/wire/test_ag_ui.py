"""The events of `ag-ui`, by the models of AG-UI's own Python package, and what clients before 1.0 get."""

from collections.abc import Iterator
from copy import replace
from typing import Any, cast

import pytest
from ag_ui.core import BaseEvent, Event
from pydantic import BaseModel, TypeAdapter

from shared.wire.ag_ui import AG_UI
from shared.wire.ag_ui_body import AgUiDetails
from tests.wire.scenarios import RETRIEVED, SCENARIOS, TEAM_SCENARIOS, VIOLENT
from tests.wire.test_goldens import REQUEST

EVENTS = TypeAdapter[BaseEvent](Event)
ALL_SCENARIOS = SCENARIOS | TEAM_SCENARIOS


def events(scenario: str, **asked: Any) -> list[Any]:
    """The events that a client gets."""
    encoder = AG_UI.encoder(replace(REQUEST, for_encoder=AgUiDetails(**asked)))
    sent = AG_UI.framing.join(made for event in ALL_SCENARIOS[scenario] for made in encoder.encode(event))
    return [EVENTS.validate_json(part.removeprefix(b"data: ")) for part in sent.split(b"\n\n")[:-1]]


def unknown_keys(model: BaseModel) -> Iterator[str]:
    """The keys that the package does not know, which it keeps."""
    yield from model.model_extra or ()
    values: list[Any] = [*dict(model).values()]
    for value in values:
        inside = cast("list[Any]", value) if isinstance(value, list) else [value]
        for one in inside:
            if isinstance(one, BaseModel):
                yield from unknown_keys(one)


def kinds(found: list[Any]) -> list[str]:
    return [event.name if event.type == "CUSTOM" else event.type.value for event in found]


@pytest.mark.parametrize("shows_thoughts", [False, True])
@pytest.mark.parametrize("knows_1_0", [False, True])
@pytest.mark.parametrize("scenario", ALL_SCENARIOS)
def test_every_event_is_one_of_the_protocol(scenario: str, *, knows_1_0: bool, shows_thoughts: bool) -> None:
    found = events(scenario, knows_1_0=knows_1_0, shows_thoughts=shows_thoughts)
    assert not [key for event in found for key in unknown_keys(event)]
    first, *between, last = kinds(found)
    assert first == "RUN_STARTED"
    assert last in ("RUN_FINISHED", "RUN_ERROR")
    assert not {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"} & {*between}


@pytest.mark.parametrize("scenario", TEAM_SCENARIOS)
def test_clients_before_1_0_get_steps_and_no_key_that_came_later(scenario: str) -> None:
    found = events(scenario, knows_1_0=False)
    sent = {key for event in found for key in event.model_fields_set}
    assert "STEP_STARTED" in kinds(found)
    assert not [kind for kind in kinds(found) if kind.startswith("SUBAGENT")]
    assert not {"subagent_run_id", "usage"} & sent


def test_a_team_in_steps_is_one_agent_after_the_other() -> None:
    message = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "sources"]
    each = ["STEP_STARTED", *message, "STEP_FINISHED"]
    found = events("team", knows_1_0=False)
    assert kinds(found) == ["RUN_STARTED", *each, *each, "RUN_FINISHED"]
    assert [event.step_name for event in found if event.type == "STEP_STARTED"] == ["Critic", "Researcher"]


@pytest.mark.parametrize("shows_progress", [False, True])
def test_with_progress_what_a_refusal_found_is_a_last_thought(*, shows_progress: bool) -> None:
    *_, last, failed = events("blocked", shows_thoughts=True, shows_progress=shows_progress)
    assert (failed.type, failed.code) == ("RUN_ERROR", "content_filter")
    assert (kinds([last]) == ["thoughts"]) is shows_progress
    if shows_progress:
        *earlier, found = last.value["thoughts"]
        assert [thought["title"] for thought in earlier] == [thought.title for thought in RETRIEVED.thoughts]
        assert (found["title"], found["props"]) == ("Safety", {"filter_results": VIOLENT})


def test_late_thoughts_come_with_all_others_after_the_text() -> None:
    found = events("unverified", shows_thoughts=True)
    text = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert kinds(found) == ["RUN_STARTED", "thoughts", *text, "thoughts", "RUN_FINISHED"]
    early, late = [event.value["thoughts"] for event in found if event.type == "CUSTOM" and event.name == "thoughts"]
    assert late[:-1] == early
    assert late[-1]["title"] == "Unverified citations"


def test_the_tokens_of_a_team_are_counted_by_model() -> None:
    *_, finished = events("team")
    assert {(one.model, one.input_tokens, one.output_tokens, one.total_tokens) for one in finished.usage} == {
        ("gpt-4o", 20, 2, 22),
        ("gpt-4o-mini", 100, 7, 107),
    }
