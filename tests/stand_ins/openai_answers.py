"""What the OpenAI stand-in answers, as JSON in OpenAI's shapes, and what it says when nothing is scripted."""

import json
import re

from pydantic import TypeAdapter

from shared.chat_types import Json
from tests.stand_ins.hashed_embedder import hashed_vector
from tests.stand_ins.openai_requests import ChatBody, EmbeddingsBody, text_of

USAGE: dict[str, Json] = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}

_SOURCE = re.compile(r"^<source>\nName: (?P<page>.+)$", re.MULTILINE)


def chunk(model: str, delta: dict[str, Json], finish_reason: str | None = None) -> dict[str, Json]:
    """A chunk of a streamed answer."""
    choice: Json = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": model,
        "choices": [choice],
        "usage": None,
    }


def event(chunk: dict[str, Json]) -> bytes:
    """A chunk as a server-sent event."""
    return f"data: {json.dumps(chunk, separators=(',', ':'), ensure_ascii=False)}\n\n".encode()


def completion(model: str, text: str, finish_reason: str | None) -> dict[str, Json]:
    """A whole answer."""
    choice: Json = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": model, "choices": [choice], "usage": USAGE}


def vectors(body: EmbeddingsBody, size: int) -> dict[str, Json]:
    """A vector a text: a bag of its words. The last comes first, as only the index is promised."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    data: list[Json] = [
        {"object": "embedding", "index": place, "embedding": [*hashed_vector(text, body.dimensions or size)]}
        for place, text in reversed([*enumerate(texts)])
    ]
    usage: Json = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    return {"object": "list", "data": data, "model": body.model, "usage": usage}


def models(*names: str) -> dict[str, Json]:
    """The list of models."""
    data: list[Json] = [{"id": name, "object": "model", "created": 0, "owned_by": "stand-in"} for name in names]
    return {"object": "list", "data": data}


def default_text(body: ChatBody) -> tuple[str, ...]:
    """A fixed sentence in pieces, which cites the first source of the latest message that has sources."""
    source = _SOURCE.search("\n".join(text_of(message) for message in reversed(body.messages)))
    cited = f" [{source['page'].strip()}]" if source else ""
    return "The answer", " is in the", f" documents{cited}."


def default_arguments(body: ChatBody) -> dict[str, Json]:
    """Arguments of the first tool: the last line of the last message, as the first parameter."""
    properties = body.tools[0].function.parameters.get("properties") if body.tools else None
    names = TypeAdapter(dict[str, object]).validate_python(properties or {})
    lines = text_of(body.messages[-1]).strip().splitlines() or [""]
    return dict.fromkeys([*names][:1], lines[-1])
