"""What the bot says: the activities of an answer, with numbered citations, and the cards that ask for consent.

Source: Microsoft Teams, 'Bot messages with AI-generated content', 'Stream bot messages' and 'Universal Actions for
Adaptive Cards'; schema.org, 'Message'.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

import msgspec

from shared import events
from shared.chat_types import Json
from shared.citations import CITATION, MOST_CITATIONS
from shared.core.citation_links import links_of
from shared.errors import error_text
from shared.wire.activity import Activity
from shared.wire.activity_markdown import as_teams_draws
from shared.wire.consent import purpose
from shared.wire.protocol import Record

LONGEST_TEXT = 20_000
"""Characters of a message. Teams takes 100 KB, in UTF-16 and with all that is in it."""
_LONGEST_NAME, _LONGEST_ABSTRACT, _MOST_CITED, _MOST_ACTIONS = 80, 160, 20, 6
"""What Teams shows of a source's name and text, of sources, and of suggested actions."""
_UNDECIDED = re.compile(r"\[[^\[\]\n]{0,300}\]?\Z")
"""The end of the text so far, if more text could make it a citation."""
_TEXTS: dict[str, dict[str, str]] = msgspec.json.decode(
    Path(__file__).with_name("activity_texts.json").read_bytes(), type=dict[str, dict[str, str]]
)
_THUMBS = {"LikeAction": "like", "DislikeAction": "dislike"}
_ANSWER = "urn:answer:"
CARD = "application/vnd.microsoft.card.adaptive"
OAUTH_CARD = "application/vnd.microsoft.card.oauth"


def words(activity: Activity, key: str) -> str:
    """Return a text of the bot's own in the language of a conversation."""
    return _TEXTS.get(re.split("[-,;]", activity.locale)[0].lower(), _TEXTS["en"])[key]


def addressed(activity: Activity, record: Record) -> Record:
    """Make an activity of what answers another one."""
    return record | {
        "textFormat": "markdown",
        "from": msgspec.to_builtins(activity.recipient),
        "recipient": msgspec.to_builtins(activity.sender),
        "conversation": msgspec.to_builtins(activity.conversation),
        "channelId": activity.channel_id,
        "serviceUrl": activity.service_url,
        "replyToId": activity.id,
        "locale": activity.locale or "en",
    }


def with_stream(record: Record, kind: str, stream: str, sequence: int = 0) -> Record:
    """Make an activity one of a stream: `informative`, `streaming`, or the `final` one, which has no number."""
    info: Record = {"type": "streaminfo", "streamType": kind}
    info |= ({"streamSequence": sequence} if sequence else {}) | ({"streamId": stream} if stream else {})
    before = record.get("entities")
    whole: Record = {**record, "entities": [info, *(before if isinstance(before, list) else [])]}
    return whole


class Reply:
    """The answer to an activity, as far as it has come.

    Args:
        activity: The activity.
        links: URL of the documents, where a browser can open them; None: sources have no links.
        answer_id: The answer's id, by which it can be judged.
    """

    def __init__(self, activity: Activity, links: str | None, answer_id: str) -> None:
        self._activity = activity
        self._links = links
        self._answer_id = answer_id
        self._texts: list[list[str]] = []
        """The messages, in pieces: one, or of a team one of each agent."""
        self._sources: dict[str, events.DataPoint] = {}
        self._numbers: dict[str, int] = {}
        self._followups: Sequence[str] = ()
        self._has_ended = False
        self.calls: Sequence[events.OpenCall] = ()
        """The calls that wait for consent."""

    def add(self, event: events.ChatEvent) -> None:
        """Take the next event."""
        match event:
            case events.Retrieved():
                self._sources |= {point.sourcepage: point for point in event.data_points}
            case events.TextDelta():
                self._texts = self._texts or [[]]
                self._texts[-1].append(event.text)
            case events.AgentMessage():
                self._sources |= {point.sourcepage: point for point in event.data_points}
                self._texts.append([f"**{event.agent}**\n\n{event.text}{self._doubt(event.finished)}"])
            case events.ConsentAsked():
                self.calls = event.calls
            case events.Finished():
                self._followups, self._has_ended = event.followup_questions or (), True
                for last in self._texts[-1:]:
                    last.append(self._doubt(event))
            case events.Failed():
                self._texts.append([error_text(event.error, event.invocation_id)])
                self._has_ended = True
            case (
                events.CompletionStarted()
                | events.ReasoningDelta()
                | events.ToolsCalled()
                | events.ToolStarted()
                | events.ToolEnded()
                | events.FilterAnnotation()
                | events.ThoughtsAdded()
                | events.AgentWork()
            ):
                pass
            case _:
                assert_never(event)

    def _doubt(self, finished: events.Finished | None) -> str:
        """Return the mark of an answer that no source supports."""
        return f"\n\n*{words(self._activity, 'unsupported')}*" if finished and finished.is_unsupported else ""

    @property
    def text(self) -> str:
        """The text of the first message so far, as much as one message takes, without an end that may still change."""
        text = "".join(self._texts[0]) if self._texts else ""
        is_whole = len(text) <= LONGEST_TEXT and (self._has_ended or len(self._texts) > 1)
        return self._drawn(text[:LONGEST_TEXT], is_whole=is_whole)

    def _drawn(self, text: str, *, is_whole: bool) -> str:
        """Make a text as people see it, in which citations are numbers."""

        def number(cited: re.Match[str]) -> str:
            if cited[1] not in self._sources:
                return cited[0]
            return f"[{self._numbers.setdefault(cited[1], len(self._numbers) + 1)}]"

        undecided = None if is_whole else _UNDECIDED.search(text)
        text = CITATION.sub(number, text[: undecided.start()] if undecided else text, MOST_CITATIONS)
        return as_teams_draws(text, is_whole=is_whole) if self._activity.is_of_teams else text

    def messages(self) -> list[Record]:
        """Return the whole answer: a message, or several if it is long or of a team. Call it in a thread."""
        texts = [*map("".join, self._texts)] or [words(self._activity, "consent") if self.calls else "…"]
        messages = [self._message(part) for text in texts for part in parts_of(self._drawn(text, is_whole=True))]
        if self._followups and messages and not self._activity.is_of_group:
            actions: list[Json] = [
                {"type": "imBack", "title": question, "value": question} for question in self._followups[:_MOST_ACTIONS]
            ]
            messages[-1]["suggestedActions"] = {"to": [self._activity.sender.id], "actions": actions}
        return messages

    def _message(self, text: str) -> Record:
        """Make a message: what people can say of it, that a model has made it, and what its numbers stand for."""
        links = links_of(self._sources.values(), self._links) if self._links else {}
        cited: list[Json] = []
        notes, kinds = list[str](), list[str]()
        for name, number in self._numbers.items():
            if f"[{number}]" in text and len(cited) < _MOST_CITED:
                source, link = self._sources[name], links.get(name)
                appearance: Record = {
                    "@type": "DigitalDocument",
                    "name": name[:_LONGEST_NAME],
                    "abstract": " ".join(source.text.split())[:_LONGEST_ABSTRACT],
                    **({"url": link} if link else {}),
                }
                if source.sensitivity:
                    kinds.append(source.sensitivity)
                    appearance["usageInfo"] = self._usage(source.sensitivity)
                if self._activity.is_of_web_chat:  # it shows the text, where there is no link, of what has a note
                    appearance["text"] = source.text
                    notes.append(f"""[{number}]: {link or f"cite:{number}"} "{name.replace('"', "'")}\"""")
                cited.append({"@type": "Claim", "position": number, "appearance": appearance})
        label: Record = {
            "type": "https://schema.org/Message",
            "@type": "Message",
            "@context": "https://schema.org",
            "@id": "",
            "additionalType": ["AIGeneratedContent"],
            **({"citation": cited} if cited else {}),
            **({"usageInfo": self._usage(", ".join(dict.fromkeys(kinds)))} if kinds else {}),
        }
        if self._activity.is_of_web_chat:
            label["potentialAction"] = [self._thumb(kind) for kind in _THUMBS]
        loop: Record = {"feedbackLoop": {"type": "default"}}
        text = "\n\n".join(filter(None, (text, "\n".join(notes))))
        return {"type": "message", "text": text, "entities": [label], "channelData": loop}

    def _usage(self, name: str) -> Record:
        """Make a sensitivity label. A message has those of all its sources: files do not say which is the strictest."""
        told = words(self._activity, "sensitive")
        made: Record = {"type": "https://schema.org/Message", "@type": "CreativeWork"}
        return made | {"name": name[:_LONGEST_NAME], "description": told}

    def _thumb(self, kind: str) -> Json:
        """Make a thumb as Web Chat has it. Its event has the action and nothing else."""
        named: Json = f"{_ANSWER}{self._answer_id}:{kind}"
        return {"@type": kind, "@id": named, "actionStatus": "PotentialActionStatus"}


def thumb_of(activity: Activity) -> Record | None:
    """Return what `message/submitAction` of Teams has as its value, of a thumb in Web Chat; None: it is none."""
    match activity.entities:
        case ({"@type": str(kind), "@id": str(named)}, *_) if kind in _THUMBS and named.startswith(_ANSWER):
            reaction: Json = {"reaction": _THUMBS[kind]}
            return {"actionName": "feedback", "actionValue": reaction, "answer": named.split(":")[2]}
        case _:
            return None


def parts_of(text: str) -> list[str]:
    """Split a long text, between paragraphs or else lines, where they are not too far apart."""
    parts: list[str] = []
    while len(text) > LONGEST_TEXT:
        ends = (text.rfind(mark, LONGEST_TEXT // 2, LONGEST_TEXT) for mark in ("\n\n", "\n"))
        at = next((end for end in ends if end > 0), LONGEST_TEXT)
        parts.append(text[:at])
        text = text[at:].lstrip("\n")
    return [*parts, text] if text else parts


def consent_card(activity: Activity, call: events.OpenCall, state: str = "open") -> Json:
    """Make the card that asks for consent to a call, or says how it was decided.

    What the model wrote is in runs of text, which no client reads as Markdown.

    Args:
        activity: The question, whose asker decides.
        call: The call.
        state: The state of the call.
    """
    body: list[Json] = [
        {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": line}]} for line in purpose(call).split("\n")
    ]
    heading = words(activity, "consent" if state == "open" else state if state in _ENDS else "claimed")
    card: Record = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": heading, "weight": "Bolder", "wrap": True}, *body],
    }
    if state == "open":
        card["actions"] = [
            _action(activity, call, verb, title=words(activity, verb), style=style)
            for verb, style in (("approve", "positive"), ("decline", "destructive"))
        ]
    if activity.is_of_teams:
        card["refresh"] = {"action": _action(activity, call, "look"), "userIds": [activity.sender.id]}
    return card


_ENDS = ("denied", "expired", "abandoned")
"""States of a call that has not run; any other but `open` is one of a call that was approved."""


def _action(activity: Activity, call: events.OpenCall, verb: str, **more: str) -> Record:
    """Make a button. Outside Teams it sends a message, whose value its data is."""
    kind, data = ("Execute" if activity.is_of_teams else "Submit"), {"approval": call.approval_id, "verb": verb}
    return {"type": f"Action.{kind}", "verb": verb, "data": {**data}, **more}


def card_message(card: Json, kind: str = CARD) -> Record:
    """Make the message that shows a card."""
    return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}
