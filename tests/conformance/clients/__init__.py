"""The clients that people use, one file each."""

from tests.conformance.clients.ag_ui import AG_UI
from tests.conformance.clients.ai_chat_protocol import AI_CHAT_PROTOCOL, AI_CHAT_SAMPLE
from tests.conformance.clients.ai_sdk import AI_SDK
from tests.conformance.clients.chat_component import CHAT_COMPONENT
from tests.conformance.clients.chatui import CHATUI
from tests.conformance.clients.chatui_document import CHATUI_DOCUMENT
from tests.conformance.clients.chatui_history import CHATUI_HISTORY
from tests.conformance.clients.chatui_multi_agent import CHATUI_MULTI_AGENT
from tests.conformance.clients.openai_responses import OPENAI_RESPONSES
from tests.conformance.clients.openai_sdk import OPENAI_SDK
from tests.conformance.clients.search_demo import SEARCH_DEMO
from tests.conformance.clients.search_demo_2026 import SEARCH_DEMO_2026
from tests.conformance.clients.search_demo_older import SEARCH_DEMO_OLDER
from tests.conformance.clients.semantic_kernel_python import SEMANTIC_KERNEL_PYTHON

CLIENTS = (
    AI_CHAT_PROTOCOL,
    AI_CHAT_SAMPLE,
    SEARCH_DEMO_2026,
    SEARCH_DEMO,
    SEARCH_DEMO_OLDER,
    CHAT_COMPONENT,
    CHATUI,
    CHATUI_DOCUMENT,
    CHATUI_MULTI_AGENT,
    CHATUI_HISTORY,
    SEMANTIC_KERNEL_PYTHON,
    OPENAI_SDK,
    OPENAI_RESPONSES,
    AG_UI,
    AI_SDK,
)
"""In the order of the table."""
