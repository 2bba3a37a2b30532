"""What the bot says of an answer beside its text."""

from typing import Any

import pytest

from shared.errors import BadRequest
from shared.events import AgentMessage, DataPoint, Finished, Retrieved, TextDelta
from shared.wire.activity import Activity, read_activity
from shared.wire.activity_reply import LONGEST_TEXT, Reply
from tests.stand_ins.bot_service import citations_of, labels_of

MARK = "*No source that was found supports this answer.*"


SAID: dict[str, Any] = {"type": "message", "conversation": {"id": "c"}, "text": "What of glasses?"}


@pytest.mark.parametrize("key", ["from", "recipient"])
@pytest.mark.parametrize("long", ["id", "name"])
def test_what_each_part_of_an_answer_repeats_is_short(key: str, long: str) -> None:
    people: dict[str, Any] = {key: {long: "n" * 250_000}}
    with pytest.raises(BadRequest, match="a name is too long"):
        read_activity(SAID | people)


def test_a_null_is_as_a_key_that_is_missing_wherever_it_stands() -> None:
    html = {"contentType": "text/html", "content": "<p>Hi</p>", "contentUrl": None, "name": None}
    people = {"from": {"id": "u", "aadObjectId": None}, "recipient": {"id": None}}
    nulls: dict[str, Any] = {**people, "attachments": [html], "locale": None}
    read = read_activity(SAID | nulls)
    assert (read.said, read.sender.id, read.recipient.id) == ("What of glasses?", "u", "")


def test_an_answer_that_no_source_supports_is_marked_in_the_end() -> None:
    reply = Reply(Activity(type="message", channel_id="msteams"), None, "a")
    reply.add(TextDelta("It pays 7 %."))
    assert reply.text == "It pays 7 %."
    reply.add(Finished("stop", is_unsupported=True))
    assert [one["text"] for one in reply.messages()] == [reply.text] == [f"It pays 7 %.\n\n{MARK}"]


def test_each_message_of_a_team_is_marked_by_itself() -> None:
    reply = Reply(Activity(type="message", channel_id="msteams"), None, "a")
    for place, agent in enumerate(("Alpha", "Beta")):
        reply.add(AgentMessage(agent, place, "It pays.", finished=Finished("stop", is_unsupported=agent == "Beta")))
    reply.add(Finished("stop"))
    assert [MARK in str(one["text"]) for one in reply.messages()] == [False, True]


def test_sources_have_their_sensitivity_labels_and_the_message_has_each_once() -> None:
    reply = Reply(Activity(type="message", channel_id="msteams"), None, "a")
    labels = {"a.md": "Secret", "b.md": "", "c.md": "Internal", "d.md": "Secret", "not cited.md": "Top secret"}
    reply.add(Retrieved(tuple(DataPoint(name, "It pays.", sensitivity=label) for name, label in labels.items()), ()))
    reply.add(TextDelta("It pays [a.md][b.md][c.md][d.md]."))
    reply.add(Finished("stop"))
    (message,) = reply.messages()
    assert [name for _, name in citations_of(message)] == ["a.md", "b.md", "c.md", "d.md"]
    assert labels_of(message) == ("Secret, Internal", ["Secret", "", "Internal", "Secret"])


def test_an_answer_without_labels_has_none() -> None:
    reply = Reply(Activity(type="message", channel_id="msteams"), None, "a")
    reply.add(Retrieved((DataPoint("a.md", "It pays."),), ()))
    reply.add(TextDelta("It pays [a.md]."))
    (message,) = reply.messages()
    assert labels_of(message) == ("", [""])


def test_a_long_answer_is_several_messages_that_end_between_paragraphs() -> None:
    paragraphs = [f"Part {number}: {'it pays 80 % of dental care, ' * 60}" for number in range(30)]
    reply = Reply(Activity(type="message", channel_id="msteams"), None, "a")
    reply.add(TextDelta("\n\n".join(paragraphs)))
    texts = [str(one["text"]) for one in reply.messages()]
    assert len(texts) > 2
    assert max(map(len, texts)) <= LONGEST_TEXT
    assert [part.strip() for part in "\n\n".join(texts).split("\n\n")] == [part.strip() for part in paragraphs]
