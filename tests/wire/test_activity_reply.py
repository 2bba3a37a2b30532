"""What the bot says of an answer beside its text."""

from shared.events import AgentMessage, DataPoint, Finished, Retrieved, TextDelta
from shared.wire.activity import Activity
from shared.wire.activity_reply import LONGEST_TEXT, Reply
from tests.stand_ins.bot_service import citations_of, labels_of

MARK = "*No source that was found supports this answer.*"


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
