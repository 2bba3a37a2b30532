"""What azure-search-openai-demo's web page reads and sends besides questions: its options, sign-in, and chats.

Source: azure-search-openai-demo 8e2eea9b (2026-06-25), app/frontend/src/api/models.ts and src/authConfig.ts; the
answers of its server, app/backend/app.py, core/authentication.py and chat_history/cosmosdb.py. Older pages read a part.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from pydantic import FailFast, Field

from shared.chat_types import Json, Role
from shared.errors import BadRequest
from shared.history import NO_CONTEXT, SESSION_ID_PATTERN, Conversation, StoredMessage
from shared.settings import Settings
from shared.wire import framing, history_body
from shared.wire.request_body import BodyModel

MAX_ANSWERS = 500
"""Questions with their answers in one chat."""
MAX_DEMO_CHATS = 100
"""Chats in one page of the list of the demo's page."""
_ALWAYS: dict[str, Json] = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes())
"""Options that are the same for every app. For what is not offered here, the page shows no button."""
CHAT_EXAMPLE = '{"id": "…", "answers": [["…", {"output_text": "…", "context": {…}}]]}'


class DemoChatBody(BodyModel):
    """`POST /{protocol}/chat_history`."""

    id: str = Field(pattern=SESSION_ID_PATTERN, description="The session_state that came with the first answer.")
    answers: Annotated[list[Annotated[list[Any], FailFast(), Field(min_length=2, max_length=2)]], FailFast()] = Field(
        min_length=1, max_length=MAX_ANSWERS, description="Each question, with the answer as it came."
    )


def config_json(settings: Settings, *, sees_images: bool) -> dict[str, Json]:
    """Make the answer of `/config`: the options that the page shows, and how it begins.

    Args:
        settings: What is set up here.
        sees_images: Whether the model that answers can be given images.
    """
    images = settings.page_images and sees_images
    return {
        **_ALWAYS,
        "showMultimodalOptions": images,
        "ragSearchImageEmbeddings": images and settings.azure_vision_endpoint is not None,
        "ragSendImageSources": images,
        "showVectorOption": settings.makes_vectors or settings.embeddings == "index",
        "showSemanticRankerOption": "semanticConfiguration" in settings.azure_search_fields,
        # Where the page does not sign in by itself, its button for uploads ends the page with an error.
        "showUserUpload": settings.takes_uploads and settings.auth_mode == "bearer",
        "showChatHistoryCosmos": settings.auth_mode == "bearer" and settings.history_backend != "off",
        # Read by pages of before 2025-08-29.
        "showGPT4VOptions": images,
    }


def auth_setup_json(settings: Settings) -> dict[str, Json]:
    """Make the answer of `/auth_setup`: with `AUTH_MODE=bearer`, how the page's MSAL.js gets a token for this app.

    With `easy-auth` the platform has signed the user in before, and the page has nothing to do.
    """
    signs_in, client = settings.auth_mode == "bearer", settings.auth_client_id or ""
    authority = f"{settings.auth_authority.rstrip('/')}/{settings.auth_tenant_id or ''}"
    return {
        "useLogin": signs_in,
        "requireAccessControl": signs_in,
        "enableUnauthenticatedAccess": not signs_in,
        "msalConfig": {
            "auth": {
                "clientId": client,
                "authority": authority if signs_in else "",
                "redirectUri": "/redirect",
                "postLogoutRedirectUri": "/",
                "navigateToLoginRequestUrl": False,
            },
            "cache": {"cacheLocation": "localStorage", "storeAuthStateInCookie": False},
        },
        "loginRequest": {"scopes": [".default"]},
        # An application may ask for a token for itself only by its GUID (AADSTS90009).
        "tokenRequest": {"scopes": [f"{client}/.default"]},
    }


def parse_demo_chat(body: Mapping[str, Json], now: datetime) -> tuple[str, list[StoredMessage]]:
    """Read a whole chat: its id and its messages.

    Raises:
        BadRequest: a key is wrong; names it and its accepted values.
    """
    chat = DemoChatBody.read(body)
    time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    messages: list[StoredMessage] = []
    for index, (question, answer) in enumerate(chat.answers):
        text = _text_of(answer)
        if not isinstance(question, str) or text is None:
            raise BadRequest(f"answers[{index}]: should be a question and the answer to it, as it came.")
        context = msgspec.Raw(framing.encode_json(answer["context"])) if answer.get("context") else NO_CONTEXT
        messages.append(StoredMessage(f"{index}-question", Role.USER, question, time))
        messages.append(StoredMessage(f"{index}-answer", Role.ASSISTANT, text, time, context=context))
    return chat.id, messages


def _text_of(answer: object) -> str | None:
    """The text of an answer, in the shape of any version of the page."""
    match answer:
        case {"output_text": str(text)} | {"message": {"content": str(text)}}:
            return text
        case {"choices": [{"message": {"content": str(text)}}]}:
            return text
        case _:
            return None


def demo_chats_json(chats: Sequence[Conversation], owner: str, count: int) -> dict[str, Json]:
    """Make a page of the list of chats.

    Args:
        chats: Those of the page, newest first, and one more if there are more.
        owner: The user's object id, or empty.
        count: How many the page asks for.
    """
    listed = chats[:count]
    return {
        "sessions": [
            {
                "id": chat.id,
                "entra_oid": owner,
                "title": chat.title,
                "timestamp": int(chat.last_updated.timestamp() * 1000),
            }
            for chat in listed
        ],
        "continuation_token": history_body.cursor_after(listed[-1]) if len(chats) > count else None,
    }


def demo_chat_json(chat_id: str, owner: str, messages: Sequence[StoredMessage]) -> dict[str, Any]:
    """Make the answer with a whole chat: each question with its answer, in the shape of every version of the page."""
    pairs: list[list[Any]] = []
    question = ""
    for message in messages:
        if message.role is Role.USER:
            question = message.content
        elif message.role is Role.ASSISTANT:
            pairs.append([question, _answer_json(chat_id, message)])
    return {"id": chat_id, "entra_oid": owner, "answers": pairs}


def _answer_json(chat_id: str, message: StoredMessage) -> dict[str, Any]:
    said: dict[str, Json] = {"content": message.content, "role": "assistant"}
    points: dict[str, Json] = {"text": [], "images": [], "citations": []}
    none: dict[str, Json] = {"data_points": points, "thoughts": [], "followup_questions": None}
    return {
        "output_text": message.content,
        "message": said,
        "delta": said,
        "context": none if message.context == NO_CONTEXT else message.context,
        "session_state": chat_id,
    }
