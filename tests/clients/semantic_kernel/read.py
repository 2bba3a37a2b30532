"""Reads messages with the package, as a client does, and prints what it made of them.

Given `{"whole": [JSON texts], "pieces": [JSON texts]}`. The package's `StreamingChatMessageContent` does not read what
it writes (its constructor refuses `content_type`): a client reads each piece as a `ChatMessageContent` and builds the
streaming message of it, which it can then add up.
"""

# pyright: reportMissingModuleSource=false
# The package is in this folder's own environment, where the checks do not look.

import json
import sys
from functools import reduce
from operator import add

from semantic_kernel.contents import ChatMessageContent, StreamingChatMessageContent, StreamingTextContent, TextContent


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


def main() -> None:
    """Read what is given."""
    given = json.load(sys.stdin)
    pieces = [read_piece(text) for text in given.get("pieces", [])]
    read: dict[str, object] = {
        "whole": [read_whole(text) for text in given.get("whole", [])],
        "pieces": [{"text": str(piece), "written": piece.model_dump_json()} for piece in pieces],
    }
    if pieces:
        total = reduce(add, pieces)
        read["sum"] = {"text": str(total), "written": total.model_dump_json()}
    json.dump(read, sys.stdout)


if __name__ == "__main__":
    main()
