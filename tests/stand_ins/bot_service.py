"""A local HTTP server that stands in for Azure Bot Service: it signs activities by its own keys, and is the connector.

    async with BotService() as service:
        ...point the app at it with service.settings, and at an identity endpoint that gives `TOKEN`...
        async with http.post(url, json=service.message("What …?"), headers=service.signed()) as response: ...
        await service.final()                       # the next whole message in the conversation

It refuses what the service refuses: no or another token, an activity that lacks what it needs, a stream in a group, one
whose numbers do not grow, that comes too fast, whose text is not the one before and more, or that is over.

Source: Microsoft, 'API reference for the Bot Framework Connector service'; 'Authentication with the Bot Connector API';
Teams, 'Stream bot messages'.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import jwt
from aiohttp import web

from tests.stand_ins.entra import ADA, CLIENT, TENANT, rsa_key
from tests.stand_ins.entra import published as published_key
from tests.stand_ins.local_server import LocalServer

BOT = "b07b07b0-0000-4000-8000-00000000000b"
ISSUER = "https://api.botframework.com"
TOKEN = "token-of-the-bot"  # noqa: S105 (of a stand-in)
RESOURCE = f"api://botid-{BOT}"
_METADATA = "/v1/.well-known/openidconfiguration"
_KEYS = "/v1/.well-known/keys"
_LARGEST = 100 * 1024
_NO_STREAM = "ContentStreamNotAllowed"
_STREAM_SECONDS = 120.0


@dataclass(slots=True)
class Message:
    """A message of a conversation, as its people see it."""

    id: str
    activity: dict[str, Any]
    stream: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Updates, if it is streamed."""
    began: float = field(default_factory=time.monotonic)
    is_final: bool = True
    edits: int = 0


class BotService(LocalServer):
    """The service, as an async context manager.

    Args:
        number: Which of its keys signs.
    """

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.number = number
        self.endorsements = ["msteams", "webchat"]
        self.keys_asked = 0
        self._changed = asyncio.Condition()
        self._activities = int(time.time() * 1000)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all that was sent, and begin other conversations: one test after another has the same service."""
        self.personal, self.group = f"a:1-{time.time_ns()}", f"19:{time.time_ns()}@thread.v2"
        """Ids of a conversation of one user with the bot, and of one of several."""
        self.messages: dict[str, Message] = {}
        """By id, in the order of their beginnings."""
        self.sent: list[tuple[float, str, str, dict[str, Any]]] = []
        """All that came: when, the method, the path and the activity."""
        self.refusals: deque[web.Response | Callable[[], web.Response | None]] = deque()
        """What the next requests of the connector are answered with."""
        self.stream_seconds = _STREAM_SECONDS
        self.files: dict[str, bytes] = {}
        """What users have sent, by the path; it is given to the bot alone."""
        self.pressed: Callable[[Message], object] | None = None
        """Called when a card has come, before the app knows that it has."""

    @property
    def settings(self) -> dict[str, str]:
        """The environment that has the app believe this server."""
        return {
            "BOT_ID": BOT,
            "BOT_TENANT_ID": TENANT,
            "BOT_OPENID_METADATA": self.endpoint + _METADATA,
            "AUTH_AUTHORITY": self.endpoint,
        }

    @property
    def single_sign_on(self) -> dict[str, str]:
        """The environment of an app that takes tokens of users."""
        return {"BOT_SSO_RESOURCE": RESOURCE, "AUTH_CLIENT_ID": CLIENT}

    def user_token(self, number: int = 9, **changed: Any) -> str:
        """A token that Teams gets for its user (v2.0); a claim that is None is left out.

        Source: the trace of `signin/tokenExchange` in microsoft/teams.net.
        """
        now = int(time.time())
        usual = {"aud": CLIENT, "iss": f"{self.endpoint}/{TENANT}/v2.0", "iat": now, "nbf": now, "exp": now + 4000}
        usual |= {"oid": ADA, "tid": TENANT, "azp": "teams", "scp": "access_as_user", "ver": "2.0"}
        claims = {name: value for name, value in (usual | changed).items() if value is not None}
        return jwt.encode(claims, rsa_key(number), "RS256", headers={"kid": "tenant-key"})

    def exchange(self, token: str, user: str = ADA, **more: Any) -> dict[str, Any]:
        """What a client of Teams sends that was shown a card for single sign-on."""
        value = {"id": "x-1", "connectionName": "sso", "token": token}
        return self.activity("invoke", user=user, name="signin/tokenExchange", value=value, **more)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """What a token of the service says; a claim that is None is left out."""
        now = int(time.time())
        usual = {"serviceurl": self.endpoint + "/", "nbf": now, "exp": now + 3600, "iss": ISSUER, "aud": BOT}
        return {name: value for name, value in (usual | changed).items() if value is not None}

    def signed(self, headers: dict[str, Any] | None = None, **changed: Any) -> dict[str, str]:
        """The header with a token that the service signs."""
        token = jwt.encode(
            self.claims(**changed),
            rsa_key(self.number),
            "RS256",
            headers={"kid": f"bot-{self.number}"} | (headers or {}),
        )
        return {"Authorization": f"Bearer {token}"}

    def activity(self, kind: str, conversation: str = "", user: str = ADA, **more: Any) -> dict[str, Any]:
        """An activity of a user in Teams; a key that is None is left out."""
        self._activities += 1
        is_group = conversation == self.group
        whole = {
            "type": kind,
            "id": str(self._activities),
            "timestamp": "2026-11-27T10:00:00.000Z",
            "channelId": "msteams",
            "serviceUrl": self.endpoint + "/",
            "from": {"id": f"29:{user}", "name": "A User", "aadObjectId": user},
            "recipient": {"id": f"28:{BOT}", "name": "Switchboard"},
            "conversation": {
                "id": conversation or self.personal,
                "tenantId": TENANT,
                "conversationType": "groupChat" if is_group else "personal",
                **({"isGroup": True} if is_group else {}),
            },
            "channelData": {"tenant": {"id": TENANT}},
            "locale": "en-US",
            "entities": [{"locale": "en-US", "country": "US", "platform": "Web", "type": "clientInfo"}],
            **more,
        }
        return {key: value for key, value in whole.items() if value is not None}

    def message(self, text: str, conversation: str = "", user: str = ADA, **more: Any) -> dict[str, Any]:
        """A message of a user."""
        if conversation == self.group:
            bot = {
                "type": "mention",
                "mentioned": {"id": f"28:{BOT}", "name": "Switchboard"},
                "text": "<at>Switchboard</at>",
            }
            text, more = f"<at>Switchboard</at> {text}", {"entities": [bot]} | more
        return self.activity("message", conversation, user, text=text, textFormat="plain", **more)

    def press(self, card: Any, verb: str, conversation: str = "", user: str = ADA, **more: Any) -> dict[str, Any]:
        """What the service sends when a user presses a button of a card, or its client refreshes it."""
        actions = [*card.get("actions", []), card["refresh"]["action"]]
        (action,) = [one for one in actions if one["verb"] == verb]
        value = {"action": deepcopy(action), "trigger": "automatic" if verb == "look" else "manual"}
        return self.activity("invoke", conversation, user, name="adaptiveCard/action", value=value, **more)

    async def until(self, is_so: Callable[[], Any], seconds: float = 60) -> Any:
        """Wait until something is so of what has come; return it."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(is_so)
        return is_so()

    async def finals(self, count: int, conversation: str = "") -> list[Message]:
        """Wait until so many messages of a conversation are whole that people see; return them."""

        def whole() -> list[Message]:
            which = conversation or self.personal
            found = [one for one in self.messages.values() if one.is_final and _of(one) == which]
            return [one for one in found if "card.oauth" not in str(one.activity.get("attachments"))]

        await self.until(lambda: len(whole()) >= count)
        return whole()

    async def _serve(self, request: web.Request) -> web.Response:
        if request.path == _METADATA:
            return web.json_response(
                {
                    "issuer": ISSUER,
                    "authorization_endpoint": "https://invalid.botframework.com",
                    "jwks_uri": self.endpoint + _KEYS,
                    "id_token_signing_alg_values_supported": ["RS256"],
                    "token_endpoint_auth_methods_supported": ["private_key_jwt"],
                }
            )
        if request.path == _KEYS:
            self.keys_asked += 1
            key = published_key(self.number, f"bot-{self.number}")
            return web.json_response({"keys": [key | {"x5t": f"bot-{self.number}", "endorsements": self.endorsements}]})
        if request.path == f"/{TENANT}/discovery/v2.0/keys":
            return web.json_response({"keys": [published_key(9, "tenant-key")]})
        if request.method == "GET":
            is_bot, file = request.headers.get("Authorization") == f"Bearer {TOKEN}", self.files.get(request.path)
            return (
                web.Response(status=404 if is_bot else 401) if file is None or not is_bot else web.Response(body=file)
            )
        parts = [unquote(part) for part in request.raw_path.split("/")[1:]]
        async with self._changed:
            answer = await self._connector(request, parts)
            self._changed.notify_all()
        return answer

    async def _connector(self, request: web.Request, parts: list[str]) -> web.Response:
        body = await request.read()
        activity: dict[str, Any] = json.loads(body)
        self.sent.append((time.monotonic(), request.method, request.path, activity))
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return refusal(401, "Unauthorized", "Authorization has been denied for this request.")
        while self.refusals:
            scripted = self.refusals.popleft()
            if answer := scripted if isinstance(scripted, web.Response) else scripted():
                return answer
        match request.method, parts:
            case "POST", ["v3", "conversations", conversation, "activities"]:
                return self._add(conversation, activity, len(body))
            case "PUT", ["v3", "conversations", conversation, "activities", message]:
                known = self.messages.get(message)
                if known is None or _of(known) != conversation:
                    return refusal(404, "ActivityNotFoundInConversation", "Unknown activity.")
                known.activity, known.is_final, known.edits = activity, True, known.edits + 1
                if _stream_info(activity):
                    return refusal(400, "BadRequest", "An update is no part of a stream.")
                return web.json_response({"id": message})
            case _:
                return refusal(404, "NotFound", "Unknown route.")

    def _add(self, conversation: str, activity: dict[str, Any], size: int) -> web.Response:
        needed = {"from": f"28:{BOT}", "conversation": conversation}
        if any(activity.get(key, {}).get("id") != value for key, value in needed.items()):
            return refusal(400, "BadSyntax", "from or conversation is wrong.")
        if size > _LARGEST:
            return refusal(413, "MessageSizeTooBig", "Message size too large.")
        info, kind = _stream_info(activity), activity.get("type")
        if info:
            return self._stream(conversation, activity, info)
        if kind == "typing":
            return web.json_response({"id": self._new(conversation, activity, is_shown=False).id}, status=201)
        if kind != "message" or not (activity.get("text") or activity.get("attachments")):
            return refusal(400, "BadSyntax", "Activity must include non empty 'text' field or at least 1 attachment.")
        return web.json_response({"id": self._new(conversation, activity).id}, status=201)

    def _stream(self, conversation: str, activity: dict[str, Any], info: dict[str, Any]) -> web.Response:
        kind = info.get("streamType")
        if activity["conversation"].get("conversationType") != "personal":  # as Microsoft 365 Agents Playground has it
            return refusal(405, "MethodNotAllowed", "Streaming is for personal chats.")
        if conversation == self.group:
            return refusal(403, _NO_STREAM, "Content stream is not allowed")
        if not activity.get("text"):
            return refusal(400, "BadRequest", "Start streaming activities should include text")
        if (activity["type"], kind) not in {("typing", "informative"), ("typing", "streaming"), ("message", "final")}:
            return refusal(400, "BadRequest", "Unknown type of a stream.")
        if "streamId" in info:
            return self._go_on(activity, info)
        if info.get("streamSequence") != 1 or kind == "final":
            return refusal(400, "BadRequest", "A stream begins with number 1.")
        begun = self._new(conversation, activity)
        begun.is_final, begun.stream = False, [activity]
        return web.json_response({"id": begun.id}, status=201)

    def _go_on(self, activity: dict[str, Any], info: dict[str, Any]) -> web.Response:
        message, number = self.messages.get(info["streamId"]), info.get("streamSequence")
        if message is None or not message.stream:
            return refusal(404, "ActivityNotFoundInConversation", "Unknown stream.")
        if message.is_final:
            return refusal(403, _NO_STREAM, "Content stream is not allowed on an already completed streamed message")
        if time.monotonic() - message.began > self.stream_seconds:
            return refusal(403, _NO_STREAM, "Content stream finished due to exceeded streaming time.")
        if info["streamType"] == "final":
            if number is not None:
                return refusal(400, "BadRequest", "A final message has no number.")
            message.is_final = True
        else:
            before = _stream_info(message.stream[-1])
            if not isinstance(number, int) or number <= before["streamSequence"]:
                return refusal(412, "ContentStreamSequenceOrderPreConditionFailed", "PreCondition failed exception")
            if before["streamType"] == "streaming" and not activity["text"].startswith(message.stream[-1]["text"]):
                return refusal(400, "BadRequest", "The text is not the one before and more.")
            message.stream.append(activity)
        message.activity = activity | {"conversation": message.activity["conversation"]}
        return web.json_response({}, status=202)

    def _new(self, conversation: str, activity: dict[str, Any], *, is_shown: bool = True) -> Message:
        message = Message(f"m-{len(self.sent)}", {**activity, "conversation": {"id": conversation}})
        if is_shown:
            self.messages[message.id] = message
        if self.pressed and activity.get("attachments"):
            self.pressed(message)
        return message


def card_of(message: Message) -> Any:
    """The card of a message."""
    (attachment,) = message.activity["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    return attachment["content"]


def citations_of(activity: dict[str, Any]) -> list[tuple[int, str]]:
    """Number and name of each source that a message names."""
    return [(one["position"], one["appearance"]["name"]) for one in _about(activity).get("citation", [])]


def labels_of(activity: dict[str, Any]) -> tuple[str, list[str]]:
    """The sensitivity label that Teams shows at a message, and those of its sources."""
    whole = _about(activity)
    things = [whole, *(one["appearance"] for one in whole.get("citation", []))]
    first, *others = [thing.get("usageInfo", {}) for thing in things]
    assert all(one["@type"] == "CreativeWork" and one["description"] for one in (first, *others) if one)
    return first.get("name", ""), [one.get("name", "") for one in others]


def _about(activity: dict[str, Any]) -> dict[str, Any]:
    """What a message says of itself: one entity, or Teams refuses it."""
    (about,) = [one for one in activity["entities"] if one["type"] == "https://schema.org/Message"]
    return about


def _stream_info(activity: dict[str, Any]) -> dict[str, Any]:
    found: list[dict[str, Any]] = [one for one in activity.get("entities", []) if one.get("type") == "streaminfo"]
    return found[0] if found else {}


def _of(message: Message) -> str:
    return message.activity["conversation"]["id"]


def refusal(status: int, code: str, message: str, **headers: str) -> web.Response:
    """An answer that is none."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.json_response({"error": {"code": code, "message": message}}, status=status, headers=headers)
