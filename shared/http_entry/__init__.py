"""Request in, response out: the only package that knows FastAPI. Each handler is what one trigger does."""

from shared.http_entry.chat_history import chat_messages, delete_chat, list_chats, start_chat, update_chat
from shared.http_entry.companion import rai_analyze, rai_analyze_stream
from shared.http_entry.content import content
from shared.http_entry.questions import ask, chat, chat_stream, team_batch, team_stream
from shared.http_entry.service import health, openapi, swagger
from shared.http_entry.warm_up import warm_up

__all__ = [
    "ask",
    "chat",
    "chat_messages",
    "chat_stream",
    "content",
    "delete_chat",
    "health",
    "list_chats",
    "openapi",
    "rai_analyze",
    "rai_analyze_stream",
    "start_chat",
    "swagger",
    "team_batch",
    "team_stream",
    "update_chat",
    "warm_up",
]
