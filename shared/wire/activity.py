"""`activity`: the activities of Azure Bot Service, for Teams, Microsoft 365 Copilot, Copilot Studio and Web Chat.

It is in no route's name: `POST /messages` alone reads it, once it knows who has sent an activity.

Source: Microsoft, 'Bot Framework -- Activity', and 'Bot activity handlers' of Teams.
"""

import re
from collections.abc import Mapping
from copy import replace
from html import unescape
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import msgspec

from shared.chat_types import ChatRequest, ChatState, Json, Message, Overrides, Role
from shared.errors import BadRequest
from shared.wire.ai_chat import AI_CHAT

TEAMS = "msteams"
"""The channel of Teams; with Microsoft 365 Copilot, `msteams:COPILOT`."""
_TEAM = "/team"
"""What a question for the team of agents begins with."""
LONGEST_ID = 1_000
"""Characters of an id, or of a name."""


class Account(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A user or a bot in a channel."""

    id: str = ""
    name: str | None = None
    aad_object_id: str | None = None
    tenant_id: str | None = None


class Conversation(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where an activity was sent."""

    id: str = ""
    conversation_type: str | None = None
    is_group: bool | None = None
    tenant_id: str | None = None


class File(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An attachment: a file, an image, or the text again as HTML."""

    content_type: str = ""
    content_url: str = ""
    content: Any = None
    name: str = ""


_QUOTE = re.compile(
    r"""<p\s[^<>]{0,100}itemprop=["'](?:copy|preview)["'][^<>]{0,100}>((?:(?!<p[\s>]).){1,4000}?)</p>""", re.DOTALL
)
"""A message that the user quotes, in the HTML of a message of Teams; its text has only what is new."""
_MOST_MENTIONS = 50
"""Mentions that are looked at: each is looked for in the whole text."""
_TAG = re.compile(r"<[^<>]{0,1000}>")


class Activity(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An activity, as far as it is read. A run keeps `asked` of it until it has answered."""

    type: str
    id: str = ""
    channel_id: str = ""
    service_url: str = ""
    sender: Account = msgspec.field(default=Account(), name="from")
    recipient: Account = Account()
    conversation: Conversation = Conversation()
    text: str = ""
    locale: str = ""
    delivery_mode: str = ""
    reply_to_id: str = ""
    name: str = ""
    value: Any = None
    members_added: tuple[Account, ...] = ()
    attachments: tuple[File, ...] = ()
    entities: tuple[dict[str, Any], ...] = ()
    channel_data: dict[str, Any] = {}

    @property
    def is_of_group(self) -> bool:
        """Whether others than the user read the conversation."""
        return bool(self.conversation.is_group) or self.conversation.conversation_type in ("groupChat", "channel")

    @property
    def is_of_web_chat(self) -> bool:
        """Whether Web Chat, or another client of Direct Line, shows the conversation."""
        return self.channel_id in ("webchat", "directline")

    @property
    def is_polled(self) -> bool:
        """Whether no service is behind it: a client of this app's own Direct Line has sent it, or an application."""
        return not self.service_url

    @property
    def streams(self) -> bool:
        """Whether its conversation takes a message that grows: of one person with the bot, in Teams or Web Chat."""
        return (self.is_of_teams or self.is_polled) and not self.is_of_group

    @property
    def is_answered_in_response(self) -> bool:
        """Whether the response to the activity has what is said, so that nothing is sent."""
        return self.delivery_mode in ("expectReplies", "stream")

    @property
    def asks_team(self) -> bool:
        """Whether the question is for the team of agents."""
        return self.said.lower().startswith(f"{_TEAM} ")

    @property
    def tenants(self) -> frozenset[str]:
        """Tenants of the conversation and of the user, as far as they are said."""
        named = {self.conversation.tenant_id, self.sender.tenant_id}
        match self.channel_data.get("tenant"):
            case {"id": str(tenant)}:
                named.add(tenant)
            case _:
                pass
        return frozenset(name.lower() for name in named if name)

    @property
    def is_of_teams(self) -> bool:
        """Whether Teams or Microsoft 365 Copilot shows the conversation."""
        return self.channel_id.partition(":")[0] == TEAMS

    @property
    def said(self) -> str:
        """The text without the bot's own name, by which it is called in groups, below what the user quotes."""
        text = self.text
        for entity in self.entities[:_MOST_MENTIONS]:
            match entity:
                case {"type": "mention", "mentioned": {"id": self.recipient.id}, "text": str(name)}:
                    text = text.replace(name, "")
                case _:
                    pass
        html = next((one.content for one in self.attachments if one.content_type == "text/html"), None)
        quoted = _QUOTE.findall(html) if isinstance(html, str) else []
        return "\n\n".join([*(f"> {' '.join(unescape(_TAG.sub('', one)).split())}" for one in quoted), text.strip()])

    @property
    def chat_id(self) -> str:
        """Id of the chat that the app keeps: a hash of the conversation and the user."""
        user = self.sender.aad_object_id or self.sender.id
        return str(uuid5(NAMESPACE_OID, f"{self.channel_id}\n{self.conversation.id}\n{user}"))

    @property
    def asked(self) -> dict[str, Json]:
        """What a run needs of it: the question, and where the answer goes."""
        said = replace(self, text=self.said, value=None, attachments=(), entities=(), members_added=(), channel_data={})
        return msgspec.to_builtins(said)


def read_activity(body: Mapping[str, Json]) -> Activity:
    """Read an activity.

    Raises:
        BadRequest: a key has a value that it cannot have, or the activity has no conversation.
    """
    try:
        activity = msgspec.convert(_without_nulls({**body}), Activity)
    except msgspec.ValidationError as invalid:
        raise BadRequest(f"The activity cannot be read: {invalid}.") from None
    own = (activity.conversation.id, activity.id, activity.locale)
    people = (text or "" for one in (activity.sender, activity.recipient) for text in (one.id, one.name))
    if not activity.conversation.id or max(map(len, (*own, *people))) > LONGEST_ID:  # each part of an answer has them
        raise BadRequest("The activity cannot be read: conversation.id is missing, or an id or a name is too long.")
    return activity


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [*map(_without_nulls, value)] if isinstance(value, list) else value


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    activity = read_activity(body)
    text = activity.said[len(_TEAM) :].strip() if activity.asks_team else activity.said
    return ChatRequest(
        (Message(Role.USER, text),),
        Overrides(suggest_followup_questions=not activity.is_of_group),
        ChatState.kept(activity.chat_id),
        for_encoder=activity,
    )


ACTIVITY = replace(AI_CHAT, name="activity", parse=_parse, keeps_chats=True, demo_page=False)
"""Whose answer is read at `/runs` is read as in `ai-chat`."""
