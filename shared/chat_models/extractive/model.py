"""The embedded model: it answers with sentences of the sources, word for word. It is no language model.

It takes nothing from anywhere else and makes nothing up, always gives the same answer to the same request, and so
ignores `temperature` and `seed`. It costs no tokens, and says so in its usage; `max_tokens` counts words.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Sequence
from uuid import uuid4

from shared.chat_models import ModelEvent, ModelFinished, ModelRequest, ModelText, Tool
from shared.chat_models.extractive.followup_questions import followup_questions
from shared.chat_models.extractive.relevance import Scored, best_statements, language_of, read_sources
from shared.chat_models.extractive.standalone_query import standalone_query
from shared.chat_types import Json, Message, PartHealth, Passage, RequestContext, Role, ToolCall
from shared.events import CompletionStarted, Usage
from shared.retrieval.function_words import Language

MODEL = "extractive"

_DONT_KNOW: dict[Language, str] = {
    "en": "I don't know: the documents say nothing about that.",
    "de": "Das weiß ich nicht: In den Dokumenten steht nichts dazu.",
}
_NO_TOKENS = Usage(0, 0)
_WORD = re.compile(r"\s*\S+\s?")
"""What one event carries: a word with the white space around it."""
_ENDS_ITSELF = re.compile(r"[.!?…:;。！？][\"'”“»)]*$")


class ExtractiveModel:
    """A `ChatModel` for when none is configured."""

    takes_images = False

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield the answer word by word, or the call of a search tool, between its start and its end."""
        del context  # nothing here can be slow enough to have a deadline
        yield CompletionStarted(f"extractive-{uuid4().hex}", int(time.time()), MODEL)
        if call := _tool_call(request):
            yield call
            yield ModelFinished("tool_calls", _NO_TOKENS)
            return
        # Many long sources take a while to read, and the event loop has other streams to serve.
        text = await asyncio.to_thread(_answer, request)
        reason = "stop"
        for count, word in enumerate(_WORD.findall(text)):
            if request.max_tokens is not None and count >= request.max_tokens:
                reason = "length"
                break
            yield ModelText(word)
            await asyncio.sleep(0)  # as a model would, let others go on between two words
        yield ModelFinished(reason, _NO_TOKENS)

    async def check(self) -> PartHealth:
        """Always usable; says what it is, so that nobody takes it for a language model."""
        return PartHealth(
            "embedded",
            True,
            "Extractive, not a language model: it answers with sentences of the documents. For a language model set "
            "OPENAI_CHAT_MODEL with OPENAI_API_KEY or OPENAI_BASE_URL, or AZURE_OPENAI_ENDPOINT with "
            "AZURE_OPENAI_CHAT_DEPLOYMENT.",
            {"model": MODEL},
        )

    async def aclose(self) -> None:
        """Nothing to close."""


def _answer(request: ModelRequest) -> str:
    """The whole answer, with its citations and follow-up questions."""
    language = language_of(request.question)
    statements = read_sources((*request.sources, *_attached(request.messages)))
    # The last message is the question with its sources around it.
    conversation = (*request.messages[:-1], Message(Role.USER, request.question))
    best = best_statements(standalone_query(conversation), statements) or best_statements(request.question, statements)
    if not best:
        return _DONT_KNOW[language]
    text = " ".join(_cited(one) for one in best)
    if request.want_followups:
        earlier = [message.content for message in request.messages[:-1] if message.role is Role.USER]
        questions = followup_questions(statements, best, [request.question, *earlier], language)
        text += "".join(f"\n<<{question}>>" for question in questions)
    return text


def _attached(messages: Sequence[Message]) -> list[Passage]:
    """The files that came with the conversation, to be read like sources."""
    files = [file for message in messages for file in message.files]
    return [Passage(file.name, file.text, sourcepage=file.name, sourcefile=file.name) for file in files]


def _cited(one: Scored) -> str:
    text = one.statement.text
    return f"{text if _ENDS_ITSELF.search(text) else f'{text}.'} [{one.sourcepage}]"


def _tool_call(request: ModelRequest) -> ToolCall | None:
    """The call of the first tool that takes a text, with a query that stands alone; None if no tool does."""
    for tool in request.tools:
        if name := _text_parameter(tool):
            query = standalone_query(request.messages)
            return ToolCall("call_extractive", tool.name, json.dumps({name: query}, ensure_ascii=False))
    return None


def _text_parameter(tool: Tool) -> str | None:
    """The name of the tool's first text parameter, a required one before others."""
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    if not isinstance(properties, dict):
        return None
    names: Sequence[Json] = [*(required if isinstance(required, list) else ()), *properties]
    for name in names:
        schema = properties.get(name) if isinstance(name, str) else None
        if isinstance(name, str) and isinstance(schema, dict) and schema.get("type") == "string":
            return name
    return None
