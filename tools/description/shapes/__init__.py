"""The types of what the routes and the protocols take and give, which the OpenAPI document describes.

A file for each protocol, and for each kind of routes. Handlers and `protocols.py` name them as texts.
"""

from typing import Any

from tools.description.shapes import (
    ai_chat,
    ai_sdk,
    app,
    chats,
    choices,
    context,
    demo,
    documents,
    feedback,
    mcp,
    parts,
    runs,
    safety,
    semantic_kernel,
    semantic_kernel_python,
)

_FILES = (
    ai_chat,
    ai_sdk,
    app,
    chats,
    choices,
    context,
    demo,
    documents,
    feedback,
    mcp,
    parts,
    runs,
    safety,
    semantic_kernel,
    semantic_kernel_python,
)
NAMES: dict[str, Any] = {name: kind for file in _FILES for name, kind in vars(file).items()}
"""Each type by its name."""
