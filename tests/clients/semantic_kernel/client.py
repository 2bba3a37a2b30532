"""Reads and writes messages with the package as each line of JSON says, and prints what came of it as a line.

A line is `{"whole": [JSON texts], "pieces": [JSON texts]}`, or `{}` for what the package writes itself. The package's
`StreamingChatMessageContent` does not read what it writes (its constructor refuses `content_type`): a client reads each
piece as a `ChatMessageContent` and builds the streaming message of it, which it can then add up.
"""

# pyright: reportMissingModuleSource=false
# The package is in this folder's own environment, where the checks do not look.

import json
import sys
from functools import reduce
from operator import add

from semantic_kernel.contents import ChatMessageContent, StreamingChatMessageContent, StreamingTextContent, TextContent
from write import write


def read_whole(text: str) -> dict[str, str]:
    """What the package makes of a message, and what it writes of it again."""
    message = ChatMessageContent.model_validate_json(text)
    return {"text": str(message), "written": message.model_dump_json()}


def read_piece(text: str) -> StreamingChatMessageContent:
    """The streaming message of a piece."""
    message, keys = ChatMessageContent.model_validate_json(text), json.loads(text)
    index = keys["choice_index"]
    items = [
        StreamingTextContent(
            choice_index=index,
            text=item.text,
            ai_model_id=item.ai_model_id,
            metadata=item.metadata,
            encoding=item.encoding,
        )
        for item in message.items
        if isinstance(item, TextContent)
    ]
    return StreamingChatMessageContent(
        role=message.role,
        choice_index=index,
        items=items,
        name=message.name,
        ai_model_id=message.ai_model_id,
        metadata=message.metadata,
        encoding=message.encoding,
        finish_reason=message.finish_reason,
        function_invoke_attempt=keys.get("function_invoke_attempt"),
    )


def read(given: dict[str, list[str]]) -> dict[str, object]:
    """What the package makes of the texts of messages and of pieces, and of the pieces together."""
    pieces = [read_piece(text) for text in given.get("pieces", [])]
    made: dict[str, object] = {
        "whole": [read_whole(text) for text in given.get("whole", [])],
        "pieces": [{"text": str(piece), "written": piece.model_dump_json()} for piece in pieces],
    }
    if pieces:
        total = reduce(add, pieces)
        made["sum"] = {"text": str(total), "written": total.model_dump_json()}
    return made


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(read(asked) if asked else write()), flush=True)  # noqa: T201 (it is how it answers)
