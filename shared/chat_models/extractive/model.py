"""The built-in model. It answers with sentences of the sources, word for word, and is not a language model.

The same request always gets the same answer, so `temperature` and `seed` are ignored. Usage is reported as 0 tokens,
and `max_tokens` limits the number of words.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Sequence
from uuid import uuid4

from shared.chat_models import ModelEvent, ModelFinished, ModelRequest, ModelText, ToolDefinition
from shared.chat_models.extractive.questions import (
    followup_questions,
    is_bare_subject,
    standalone_query,
)
from shared.chat_models.extractive.refusals import DONT_KNOW, answer_language
from shared.chat_models.extractive.relevance import (
    MOST_STATEMENTS,
    Scored,
    best_statements,
    is_duplicate,
    read_sources,
    read_statement,
    subject_words,
)
from shared.chat_models.extractive.statements import Statement
from shared.chat_types import Message, PartHealth, Passage, RequestContext, Role, ToolCall
from shared.citations import CITED
from shared.events import CompletionStarted, Usage
from shared.words.stop_words import likely_language

MODEL = "extractive"

_NO_DOCUMENTS: dict[str, str] = {
    "en": "I cannot answer that: I have no documents to look it up in.",
    "de": "Das kann ich nicht beantworten: Ich habe keine Dokumente, in denen ich nachsehen könnte.",
}
_ONLY_QUOTES_FILES: dict[str, str] = {
    "en": "No sentence of the attached files has the words of the question: the built-in model only quotes sentences."
    " To have files explained or summed up, set up a language model.",
    "de": "Kein Satz der angehängten Dateien enthält die Wörter der Frage, und das eingebaute Modell zitiert nur Sätze."
    " Um Dateien erklären oder zusammenfassen zu lassen, richten Sie ein Sprachmodell ein.",
}
_NOTHING_TO_ADD: dict[str, str] = {
    "en": "I found nothing to add to that.",
    "de": "Dem habe ich nichts hinzuzufügen.",
}
_DONE = "[[DONE]]"
"""Marker that ends a group chat. Used only if the agent's instructions contain it."""
_NO_TOKENS = Usage(0, 0)
_WORD = re.compile(r"\s*\S+\s?")
"""Text of one event: a word with the white space around it."""
_HAS_PUNCTUATION_AT_END = re.compile(r"[.!?…:;。！？؟۔։।॥][\"'”“»)]*$")
_CITATION = re.compile(rf"(?<=[.!?…:;。！？؟۔։।॥\"'”“»)]) {CITED}(?=\s|$)")
"""A citation after a statement, as `_cited` writes it."""


class ExtractiveModel:
    """The `ChatModel` that is used when no other is configured."""

    takes_images = False
    source_tokens = 2_000

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield `CompletionStarted`, then the answer word by word or a call of a search tool, then `ModelFinished`."""
        del context  # no deadline is needed: there are no requests to wait for
        yield CompletionStarted(f"extractive-{uuid4().hex}", int(time.time()), MODEL)
        if call := _tool_call(request):
            yield call
            yield ModelFinished("tool_calls", _NO_TOKENS)
            return
        # In a thread: analysing many long sources takes long and would block the event loop's other streams.
        text = await asyncio.to_thread(_answer, request)
        reason = "stop"
        for count, word in enumerate(_WORD.findall(text)):
            if request.max_tokens is not None and count >= request.max_tokens:
                reason = "length"
                break
            yield ModelText(word)
            await asyncio.sleep(0)  # lets other tasks run between two words
        yield ModelFinished(reason, _NO_TOKENS)

    async def check(self) -> PartHealth:
        """Report the model as usable, and state in the detail that it is not a language model."""
        return PartHealth(
            "embedded",
            True,
            "Extractive, not a language model: it answers with sentences of the documents. For a language model set "
            "OPENAI_CHAT_MODEL with OPENAI_API_KEY or OPENAI_BASE_URL, or AZURE_OPENAI_ENDPOINT with "
            "AZURE_OPENAI_CHAT_DEPLOYMENT.",
            {"model": MODEL},
        )


def _answer(request: ModelRequest) -> str:
    """Make the whole answer, with citations and follow-up questions."""
    said = _agents_statements(request)
    if said and _can_only_summarize(request):
        return _with_done_marker(request, " ".join(_cited(one) for one in said[:MOST_STATEMENTS]))
    asked = _user_questions(request)
    statements = read_sources((*request.sources, *_attached(request.messages)))
    query = standalone_query(asked)
    best = best_statements(query, statements, request.rarities, said)
    refers_back = query != standalone_query(asked[-1:])
    if refers_back and (not best or _were_said(best, request.messages)):
        best = _not_said_yet(request, query, statements, best, said)
    if not best:
        return _answer_without_statements(request, said)
    text = " ".join(_cited(one) for one in best)
    if request.want_followups:
        language = answer_language(request.question, request.language)
        text += "".join(f"\n<<{one}>>" for one in followup_questions(statements, best, asked, language))
    return text


def _were_said(best: Sequence[Scored], messages: Sequence[Message]) -> bool:
    """Whether the last answer has all of these statements already."""
    answers = [message.content for message in messages if message.role is Role.ASSISTANT]
    return bool(answers) and all(one.statement.text in answers[-1] for one in best)


def _not_said_yet(
    request: ModelRequest, query: str, statements: Sequence[Scored], best: Sequence[Scored], said: Sequence[Scored]
) -> list[Scored]:
    """Add what a question that refers back is about, where the statements for it are those of the last answer."""
    if (not best or is_bare_subject(request.question)) and (
        alone := best_statements(request.question, statements, request.rarities, said)
    ):
        return alone
    languages = tuple({one.language: None for one in statements})
    own = {term for word in subject_words(request.question, languages).values() for term in word.terms}
    new = [one for one in statements if not (_were_said([one], request.messages) or own.isdisjoint(one.terms))]
    return [*best, *best_statements(query, new, request.rarities, [*said, *best])[:1]]


def _answer_without_statements(request: ModelRequest, said: Sequence[Scored]) -> str:
    """Make the text for a question that no statement answers."""
    language = _own_language(request)
    if said:
        text = _NOTHING_TO_ADD[language]
    elif request.messages[-1].text == request.question:  # no search was made, so the prompt has no sources
        text = _NO_DOCUMENTS[language]
    else:
        text = DONT_KNOW[answer_language(request.question, request.language)]
    if any(message.files for message in request.messages) and not said:
        text = f"{text} {_ONLY_QUOTES_FILES[language]}"
    return _with_done_marker(request, text) if _has_answered_before(request) or _can_only_summarize(request) else text


def _own_language(request: ModelRequest) -> str:
    """Return the language of the sentences that the model has in German and English only."""
    return "de" if answer_language(request.question, request.language) == "de" else "en"


def _can_only_summarize(request: ModelRequest) -> bool:
    """Whether the messages of other agents are the only source: no documents and no search tool."""
    has_other_agents = any(message.author for message in request.messages)
    return has_other_agents and not request.sources and _search_tool(request) is None


def _with_done_marker(request: ModelRequest, text: str) -> str:
    """Append the marker that ends a group chat if the system messages ask for it."""
    wanted = any(message.role is Role.SYSTEM and _DONE in message.content for message in request.messages)
    return f"{text}\n{_DONE}" if wanted else text


def _attached(messages: Sequence[Message]) -> list[Passage]:
    """Convert the files attached to the conversation to passages, so that they are used like sources."""
    files = [file for message in messages for file in message.files]
    return [Passage(file.name, file.text, sourcepage=file.name, sourcefile=file.name) for file in files]


def _tool_call(request: ModelRequest) -> ToolCall | None:
    """Make the call of a search tool, with a standalone query; None if there is no such tool or its result is there."""
    tool = _search_tool(request)
    if tool is None or request.messages[-1].role is Role.TOOL:
        return None
    query = standalone_query(_user_questions(request))
    asked = [query] if tool.takes_queries else query
    return ToolCall("call_extractive", tool.name, json.dumps({tool.query: asked}, ensure_ascii=False))


def _search_tool(request: ModelRequest) -> ToolDefinition | None:
    """Find the first tool that takes a search query."""
    return next((tool for tool in request.tools if tool.query), None)


def _user_questions(request: ModelRequest) -> list[str]:
    """Return the user's questions, oldest first; the last one without the sources that the prompt adds to it."""
    asked = [message.content for message in request.messages if _is_from_user(message)]
    return [*asked[:-1], request.question]


def _agents_statements(request: ModelRequest) -> list[Scored]:
    """Return the cited statements in the agents' messages since the last question, in order and without duplicates."""
    found: list[Scored] = []
    for message in _messages_since_question(request.messages):
        if message.role is Role.TOOL:
            continue
        pieces = iter(_CITATION.split(message.content))
        for text, sourcepage in zip(pieces, pieces, strict=False):
            one = read_statement(Statement(text.strip(), topic=None), sourcepage, likely_language(text))
            if not any(is_duplicate(one, other) for other in found):
                found.append(one)
    return found


def _has_answered_before(request: ModelRequest) -> bool:
    """Whether this agent has already answered since the user's last question."""
    return any(
        message.role is Role.ASSISTANT and message.content for message in _messages_since_question(request.messages)
    )


def _cited(one: Scored) -> str:
    """Write a statement with its citation, such as `The plan pays 80 %. [plans.pdf#page=2]`."""
    text = one.statement.text
    return f"{text if _HAS_PUNCTUATION_AT_END.search(text) else f'{text}.'} [{one.sourcepage}]"


def _messages_since_question(messages: Sequence[Message]) -> Sequence[Message]:
    last = max((number for number, message in enumerate(messages) if _is_from_user(message)), default=-1)
    return messages[last + 1 :]


def _is_from_user(message: Message) -> bool:
    return message.role is Role.USER and message.author is None
