"""Where an error is told: by a status, at the end of a stream, or in a message."""

import json
from copy import replace
from typing import Any

import pytest

from shared.chat_types import ChatRequest
from shared.errors import BadRequest, ContentFiltered, NotSignedIn, RateLimited, SwitchboardError, TooLarge
from shared.events import Failed, Finished, TextDelta
from shared.wire.ai_chat import AI_CHAT_PAGE
from shared.wire.protocol import Protocol
from shared.wire.table import PROTOCOLS, resolve
from tests.wire.test_goldens import REQUEST, records_of, stream_of

UNREAD = ChatRequest((), stream=True)
"""What stands for a request until its body is understood."""
FILTERED = ContentFiltered.code
BUSY = RateLimited("Try again in 9 seconds.", retry_after=9)
AG_UI, KERNEL = PROTOCOLS["ag-ui"], PROTOCOLS["semantic-kernel"]


def messages(*names: str) -> Protocol:
    """The first of these protocols, with errors in messages in all of them."""
    return PROTOCOLS[names[0]].with_errors_in(names)


@pytest.mark.parametrize(
    ("protocol", "error", "inside"),
    [
        (AG_UI, BUSY, True),
        (AG_UI, NotSignedIn("Sign in."), False),  # clients that sign in read the status
        (AG_UI, BadRequest("messages: is missing."), False),  # no page sends what cannot be read
        (AI_CHAT_PAGE, BUSY, True),
        (AI_CHAT_PAGE, NotSignedIn("Sign in."), True),
        (AI_CHAT_PAGE, BadRequest("messages: is missing."), False),
        (PROTOCOLS["ai-chat"], BUSY, False),
        (PROTOCOLS["ai-chat"], ContentFiltered("Refused."), False),  # it is a bad request, and nobody has read it yet
        (PROTOCOLS["ai-chat-2026-04"], BUSY, False),
        (PROTOCOLS["ai-sdk"], BUSY, False),
        (PROTOCOLS["openai"], BUSY, False),
        (messages("semantic-kernel"), TooLarge("Shorten it."), True),
        (messages("semantic-kernel"), NotSignedIn("Sign in."), False),
        (KERNEL.with_errors_in(()), TooLarge("Shorten it."), False),
    ],
)
def test_an_error_before_the_turn_is_told_where_the_client_shows_it(
    protocol: Protocol, error: SwitchboardError, *, inside: bool
) -> None:
    assert protocol.sends_inside(error, UNREAD) is inside


def test_only_the_routes_of_the_demos_page_tell_it_in_the_stream() -> None:
    for name, page in (("ai-chat", AI_CHAT_PAGE), (None, PROTOCOLS["ai-chat"])):
        resolved = resolve(name, "", "ai-chat")
        assert resolved.telling_errors(resolved.of({}), ()) is page


def told(protocol: Protocol, request: ChatRequest = UNREAD) -> tuple[str, str]:
    sent, content_type = protocol.error_answer(Failed(BUSY, "id-1"), request)
    return sent.decode(), content_type


def test_an_answer_that_is_an_error_is_whole_in_its_protocol() -> None:
    sent, content_type = told(AG_UI)
    begun, wait, error = (json.loads(line.removeprefix("data: ")) for line in sent.split("\n\n")[:-1])
    assert (content_type, begun["type"], wait["value"]) == ("text/event-stream", "RUN_STARTED", 9)
    assert error == {
        "type": "RUN_ERROR",
        "message": "Try again in 9 seconds. (invocation id-1)",
        "code": "rate_limited",
    }
    assert told(AI_CHAT_PAGE) == (
        '{"error":"Try again in 9 seconds. (invocation id-1)"}\n',
        "application/json-lines",
    )
    sent, content_type = told(messages("semantic-kernel"), REQUEST)
    (message,) = json.loads(sent)
    assert (content_type, message["metadata"]["error"]) == ("application/json", "rate_limited")


@pytest.mark.parametrize("stream", [True, False])
def test_the_error_of_a_team_has_an_author_like_each_of_its_messages_and_that_of_single_chat_none(
    *, stream: bool
) -> None:
    def message_to(request: ChatRequest) -> dict[str, Any]:
        sent, _ = told(messages("semantic-kernel"), request)
        return json.loads(sent.removeprefix("data: ")) if stream else json.loads(sent)[0]

    of_team = message_to(replace(REQUEST, team=True, stream=stream))
    assert of_team["AuthorName"] == of_team["authorName"] == of_team["Metadata"]["authorName"] == "team"
    alone = message_to(replace(REQUEST, stream=stream))
    assert not {"AuthorName", "authorName"} & (alone.keys() | alone["Metadata"].keys())


def test_the_message_of_an_error_comes_after_the_text_that_is_there() -> None:
    stream = stream_of(messages("ag-ui"), (TextDelta("Half. "), Failed(BUSY, "id-1")))
    kinds = [event["type"] for event in records_of(stream)]
    text = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert kinds == ["RUN_STARTED", *text, "CUSTOM", *text, "RUN_FINISHED"]


def test_chatui_is_shown_in_a_message_that_a_filter_has_ended_the_answer() -> None:
    *_, end, shown = records_of(stream_of(messages("semantic-kernel"), (TextDelta("Half. "), Finished(FILTERED))))
    assert end["Metadata"]["FinishReason"] == "ContentFilter"
    assert "ended the answer here" in shown["content"]
    assert (shown["authorRole"], shown["metadata"]["error"]) == ("ASSISTANT", FILTERED)
