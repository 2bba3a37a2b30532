"""The built-in model: it answers with sentences of the sources, word for word. It is no language model.

It takes nothing from anywhere else and makes nothing up, always gives the same answer to the same request, and so
ignores `temperature` and `seed`. It costs no tokens, and says so in its usage; `max_tokens` counts words.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Sequence
from uuid import uuid4

from shared.chat_models import ModelEvent, ModelFinished, ModelRequest, ModelText
from shared.chat_models.extractive.questions import followup_questions, standalone_query
from shared.chat_models.extractive.relevance import (
    MOST_STATEMENTS,
    Scored,
    best_statements,
    language_of,
    read_sources,
    read_statement,
    says_the_same,
)
from shared.chat_models.extractive.statements import Statement
from shared.chat_types import Message, PartHealth, Passage, RequestContext, Role, ToolCall
from shared.events import CompletionStarted, Usage
from shared.words.stop_words import Language

MODEL = "extractive"

_DONT_KNOW: dict[Language, str] = {
    "en": "I don't know: the documents say nothing about that.",
    "de": "Das weiß ich nicht: In den Dokumenten steht nichts dazu.",
}
_NO_DOCUMENTS: dict[Language, str] = {
    "en": "I cannot answer that: I have no documents to look it up in.",
    "de": "Das kann ich nicht beantworten: Ich habe keine Dokumente, in denen ich nachsehen könnte.",
}
_NOTHING_TO_ADD: dict[Language, str] = {
    "en": "I found nothing to add to that.",
    "de": "Dem habe ich nichts hinzuzufügen.",
}
_DONE = "[[DONE]]"
"""The mark by which the instructions of a discussion ask to end it."""
_NO_TOKENS = Usage(0, 0)
_WORD = re.compile(r"\s*\S+\s?")
"""What one event carries: a word with the white space around it."""
_ENDS_ITSELF = re.compile(r"[.!?…:;。！？][\"'”“»)]*$")
_CITATION = re.compile(r"(?<=[.!?…:;。！？\"'”“»)]) \[([^\[\]\n]{1,300})\](?=\s|$)")
"""The citation behind a statement, as `cited` writes it."""


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


def _answer(request: ModelRequest) -> str:
    """The whole answer, with its citations and follow-up questions."""
    said = _said_since(request)
    if said and _only_hears(request):
        return _with_done(request, " ".join(_cited(one) for one in said[:MOST_STATEMENTS]))
    language, asked = language_of(request.question), _asked(request)
    statements = read_sources((*request.sources, *_attached(request.messages)))
    best = best_statements(standalone_query(asked), statements, said)
    best = best or best_statements(request.question, statements, said)
    if not best:
        return _nothing(request, said, language)
    text = " ".join(_cited(one) for one in best)
    if request.want_followups:
        text += "".join(f"\n<<{one}>>" for one in followup_questions(statements, best, asked, language))
    return text


def _nothing(request: ModelRequest, said: Sequence[Scored], language: Language) -> str:
    """What it says instead of an answer."""
    if said:
        text = _NOTHING_TO_ADD[language]
    elif request.messages[-1].text == request.question:  # nobody has searched
        text = _NO_DOCUMENTS[language]
    else:
        text = _DONT_KNOW[language]
    return _with_done(request, text) if _has_spoken(request) or _only_hears(request) else text


def _only_hears(request: ModelRequest) -> bool:
    """Whether the others are all that an agent knows anything from."""
    has_heard = any(message.author for message in request.messages)
    return has_heard and not request.sources and _search_tool(request) is None


def _with_done(request: ModelRequest, text: str) -> str:
    """The text, with the mark that ends a discussion where the instructions ask for it."""
    wanted = any(message.role is Role.SYSTEM and _DONE in message.content for message in request.messages)
    return f"{text}\n{_DONE}" if wanted else text


def _attached(messages: Sequence[Message]) -> list[Passage]:
    """The files that came with the conversation, to be read like sources."""
    files = [file for message in messages for file in message.files]
    return [Passage(file.name, file.text, sourcepage=file.name, sourcefile=file.name) for file in files]


def _tool_call(request: ModelRequest) -> ToolCall | None:
    """The call of a search tool, with a query that stands alone; None if there is none or it has been called."""
    if request.messages[-1].role is Role.TOOL or not (found := _search_tool(request)):
        return None
    name, parameter = found
    query = standalone_query(_asked(request))
    return ToolCall("call_extractive", name, json.dumps({parameter: query}, ensure_ascii=False))


def _search_tool(request: ModelRequest) -> tuple[str, str] | None:
    """The first tool that asks for a text, and the parameter for it; those that ask for none are no searches."""
    for tool in request.tools:
        properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
        if not isinstance(properties, dict) or not isinstance(required, list):
            continue
        for parameter in required:
            schema = properties.get(parameter) if isinstance(parameter, str) else None
            if isinstance(parameter, str) and isinstance(schema, dict) and schema.get("type") == "string":
                return tool.name, parameter
    return None


def _asked(request: ModelRequest) -> list[str]:
    """What the user asked, the last question without the sources that the prompt has around it."""
    asked = [message.content for message in request.messages if _is_the_users(message)]
    return [*asked[:-1], request.question]


def _said_since(request: ModelRequest) -> list[Scored]:
    """The cited statements of the agents since the last question, in the order they were said, each once."""
    found: list[Scored] = []
    for message in _since(request.messages):
        if message.role is Role.TOOL:
            continue
        pieces = iter(_CITATION.split(message.content))
        for text, sourcepage in zip(pieces, pieces, strict=False):
            one = read_statement(Statement(text.strip(), topic=None), sourcepage)
            if not any(says_the_same(one, other) for other in found):
                found.append(one)
    return found


def _has_spoken(request: ModelRequest) -> bool:
    """Whether the agent that is asked has said something since the last question."""
    return any(message.role is Role.ASSISTANT and message.content for message in _since(request.messages))


def _cited(one: Scored) -> str:
    """A statement with its citation."""
    text = one.statement.text
    return f"{text if _ENDS_ITSELF.search(text) else f'{text}.'} [{one.sourcepage}]"


def _since(messages: Sequence[Message]) -> Sequence[Message]:
    last = max((number for number, message in enumerate(messages) if _is_the_users(message)), default=-1)
    return messages[last + 1 :]


def _is_the_users(message: Message) -> bool:
    return message.role is Role.USER and message.author is None
