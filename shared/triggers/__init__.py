"""HTTP and queue handlers, one per trigger: request in, response out. The only package that knows Starlette."""

from shared.triggers.about import health, model, models, openapi, swagger
from shared.triggers.batches import batch, batch_stream, delete_batch, team_batch
from shared.triggers.chat import (
    ag_ui,
    ask,
    chat,
    chat_completions,
    chat_stream,
    nothing_to_resume,
    responses,
    team_stream,
)
from shared.triggers.chat_history import chat_messages, delete_chat, list_chats, start_chat, update_chat
from shared.triggers.companion import rai_analyze, rai_analyze_stream
from shared.triggers.content import content
from shared.triggers.demo_page import (
    delete_demo_chat,
    demo_auth_setup,
    demo_chat,
    demo_config,
    demo_not_offered,
    keep_demo_chat,
    list_demo_chats,
)
from shared.triggers.documents import delete_document, list_all_documents, put_document
from shared.triggers.mcp import mcp, mcp_sign_in
from shared.triggers.other_paths import other_path
from shared.triggers.playground import api_page, playground_agents, playground_file
from shared.triggers.warm_up import warm_up

__all__ = [
    "ag_ui",
    "api_page",
    "ask",
    "batch",
    "batch_stream",
    "chat",
    "chat_completions",
    "chat_messages",
    "chat_stream",
    "content",
    "delete_batch",
    "delete_chat",
    "delete_demo_chat",
    "delete_document",
    "demo_auth_setup",
    "demo_chat",
    "demo_config",
    "demo_not_offered",
    "health",
    "keep_demo_chat",
    "list_all_documents",
    "list_chats",
    "list_demo_chats",
    "mcp",
    "mcp_sign_in",
    "model",
    "models",
    "nothing_to_resume",
    "openapi",
    "other_path",
    "playground_agents",
    "playground_file",
    "put_document",
    "rai_analyze",
    "rai_analyze_stream",
    "responses",
    "start_chat",
    "swagger",
    "team_batch",
    "team_stream",
    "update_chat",
    "warm_up",
]
