"""What the bot says of an answer beside its text."""

from shared.events import AgentMessage, Finished, TextDelta
from shared.wire.activity import Activity
from shared.wire.activity_reply import Reply

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
