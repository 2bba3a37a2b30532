"""The built-in model. It answers with sentences of the sources, word for word, and is not a language model.

The same request always gets the same answer, so `temperature` and `seed` are ignored. Usage is reported as 0 tokens,
and `max_tokens` limits the number of words.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple
from uuid import uuid4

from shared.chat_models import ModelEvent, ModelFinished, ModelRequest, ModelText, ToolDefinition
from shared.chat_models.extractive.questions import (
    asks_for_nothing,
    followup_questions,
    is_bare_subject,
    standalone_query,
    topic_questions,
)
from shared.chat_models.extractive.quotes import MOST_STATEMENTS, Quote, best_quotes, excerpt, points_back
from shared.chat_models.extractive.relevance import (
    ENOUGH,
    Scored,
    is_duplicate,
    read_sources,
    read_statement,
    scored,
    subject_words,
)
from shared.chat_models.extractive.sayings import SAYINGS, reply_language, told_language
from shared.chat_models.extractive.statements import Statement
from shared.chat_types import Json, Message, PartHealth, Passage, RequestContext, Role, ToolCall
from shared.citations import CITED
from shared.errors import BadRequest
from shared.events import CompletionStarted, Usage
from shared.late_imports import run_import
from shared.words.stop_words import likely_language

MODEL = "extractive"

_NEAR = 0.4
"""Relevance from which a statement is shown as the nearest one."""
_MOST_ADDED_STATEMENTS = 2
"""Maximum number of statements in an answer that adds to those of other agents."""
_MOST_TITLES = 6
"""Titles of documents that are named where nothing else can be said."""
_LONGEST_TITLE = 80
"""Characters of a title that is named."""
_LONGEST_SAMPLE = 5_000
"""Characters of the sources that tell the language of the documents."""
_DONE = "[[DONE]]"
"""Marker that ends a group chat. Used only if the agent's instructions contain it."""
_NO_TOKENS = Usage(0, 0)
_WORD = re.compile(r"\s*\S+\s?")
"""Text of one event: a word with the white space around it."""
_HAS_PUNCTUATION_AT_END = re.compile(r"[.!?…:;。！？؟۔։।॥：][\"'”“»)]*$")
_CITATION = re.compile(rf"(?<=[.!?…:;。！？؟۔։।॥\"'”“»)]) {CITED}(?=\s|$)")
"""A citation after a statement, as `_cited` writes it."""


class ExtractiveModel:
    """The `ChatModel` that is used when no other is configured.

    Args:
        looks_for_models: Whether its health names a language model that this machine serves.
    """

    takes_images = False
    takes_tools = False
    source_tokens = 2_000

    def __init__(self, *, looks_for_models: bool = False) -> None:
        self._looks_for_models = looks_for_models

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield `CompletionStarted`, then the answer word by word or a call of a search tool, then `ModelFinished`.

        Raises:
            BadRequest: The answer has to be JSON.
        """
        if request.form:
            raise BadRequest(
                f"{request.form.key}: the built-in model is no language model and writes no JSON. Leave it out, or set "
                "OPENAI_CHAT_MODEL or AZURE_OPENAI_CHAT_DEPLOYMENT."
            )
        yield CompletionStarted(f"extractive-{uuid4().hex}", int(time.time()), MODEL)
        if call := _tool_call(request):
            yield call
            yield ModelFinished("tool_calls", _NO_TOKENS)
            return
        # In a thread: analysing many long sources takes long and would block the event loop's other streams.
        reply = await asyncio.to_thread(_answer, request, context.accept_language)
        reason = "stop"
        for count, word in enumerate(_WORD.findall(reply.text)):
            if request.max_tokens is not None and count >= request.max_tokens:
                reason = "length"
                break
            yield ModelText(word)
            await asyncio.sleep(0)  # lets other tasks run between two words
        yield ModelFinished(reason, _NO_TOKENS, answer_kind=reply.kind)

    async def check(self) -> PartHealth:
        """Report the model as usable, and state in the detail that it is not a language model."""
        facts: dict[str, Json] = {"model": MODEL}
        if self._looks_for_models and (line := await (await run_import(_finder_of_models))()):
            facts["start_with"] = line
        return PartHealth(
            "embedded",
            True,
            "Extractive, not a language model: it answers with sentences of the documents. For a language model set "
            "OPENAI_CHAT_MODEL with OPENAI_API_KEY or OPENAI_BASE_URL, or AZURE_OPENAI_ENDPOINT with "
            "AZURE_OPENAI_CHAT_DEPLOYMENT.",
            facts,
        )


def _finder_of_models() -> Callable[[], Awaitable[str | None]]:
    from shared.outbound.model_servers import line_to_start_with

    return line_to_start_with


class _Reply(NamedTuple):
    text: str
    """The whole answer, with citations and follow-up questions."""
    kind: Literal["answer", "nearest", "nothing"] | None
    """What it is; None: the message asked for nothing."""


def _answer(request: ModelRequest, accept_language: str = "") -> _Reply:
    said = _agents_statements(request)
    if said and _can_only_summarize(request):
        return _Reply(_with_done_marker(request, " ".join(map(_cited_alone, said[:MOST_STATEMENTS]))), "answer")
    asked = _user_questions(request)
    passages = (*request.sources, *_attached(request.messages))
    language = _language(request, asked, passages, accept_language)
    if asks_for_nothing(asked):
        return _without_statements(request, language, None)
    sources = read_sources(passages)
    query = standalone_query(asked)
    relevant = _scored(query, sources, request)
    best = max((one.score for source in relevant for one in source), default=0.0)
    foreign = _foreign(request.question, passages)
    most = _MOST_ADDED_STATEMENTS if said else MOST_STATEMENTS
    quotes = best_quotes(relevant, said, most) if best >= ENOUGH and not foreign else []
    if query != standalone_query(asked[-1:]) and (not quotes or _were_said(quotes, request.messages)):
        quotes = _not_said_yet(request, relevant, quotes, said) or quotes
    text = _written(quotes)
    if not quotes and not said and best >= _NEAR:
        quotes = [excerpt(relevant)]
        text = f"{_nearest(language, foreign)} {_written(quotes)}"
    elif not quotes:
        return _without_statements(request, language, "nothing", said=said)
    kind = "answer" if text == _written(quotes) else "nearest"
    if kind == "nearest" and any(message.files for message in request.messages):
        text = f"{text} {SAYINGS[language].only_quotes_files}"
    if request.want_followups:
        every = [one for source in relevant for one in source]
        quoted = [one for quote in quotes for one in quote.statements]
        text += _followups(followup_questions(every, quoted, asked, language))
    return _Reply(text, kind)


def _foreign(question: str, passages: Iterable[Passage]) -> str | None:
    """Return the language of the passages if it is certain that the question is in another."""
    asked, found = told_language(question), told_language(_sample(passages))
    return found if asked and asked != found else None


def _scored(query: str, sources: Sequence[Sequence[Scored]], request: ModelRequest) -> list[list[Scored]]:
    found = iter(scored(query, [one for source in sources for one in source], request.rarities))
    return [[next(found) for _ in source] for source in sources]


def _nearest(language: str, foreign: str | None) -> str:
    """Introduce the nearest passage, and name its language if that is not the question's."""
    text = SAYINGS[language].nearest
    return f"{text} ({SAYINGS[foreign].name})" if foreign else text


def _language(request: ModelRequest, asked: Sequence[str], passages: Iterable[Passage], accept_language: str) -> str:
    return reply_language(reversed(asked), request.language, accept_language, _sample(passages))


def _sample(passages: Iterable[Passage]) -> str:
    return "\n".join(passage.content for passage in passages)[:_LONGEST_SAMPLE]


def _were_said(quotes: Sequence[Quote], messages: Sequence[Message]) -> bool:
    """Whether the last answer has all of these statements already."""
    answers = [message.content for message in messages if message.role is Role.ASSISTANT]
    return bool(answers) and all(one.statement.text in answers[-1] for quote in quotes for one in quote.statements)


def _not_said_yet(
    request: ModelRequest, relevant: Sequence[Sequence[Scored]], quotes: Sequence[Quote], said: Sequence[Scored]
) -> list[Quote]:
    """Add what a question that refers back is about, where the statements for it are those of the last answer."""
    if not quotes or is_bare_subject(request.question):
        alone = _scored(request.question, relevant, request)
        if max((one.score for source in alone for one in source), default=0.0) >= ENOUGH:
            return best_quotes(alone, said)
    if not quotes:
        return []
    every = [one for source in relevant for one in source]
    languages = tuple({one.language: None for one in every})
    own = {term for word in subject_words(request.question, languages).values() for term in word.terms}
    answer = next((one.content for one in reversed(request.messages) if one.role is Role.ASSISTANT), "")
    new = [
        [
            replace(one, score=0.0 if one.statement.text in answer or own.isdisjoint(one.terms) else one.score)
            for one in source
        ]
        for source in relevant
    ]
    return [*quotes, *best_quotes(new, said, most=1)]


def _without_statements(
    request: ModelRequest, language: str, kind: Literal["nothing"] | None, *, said: Sequence[Scored] = ()
) -> _Reply:
    """Make the reply to a question that no statement answers, and to a message that asks for nothing."""
    titles = request.titles or dict.fromkeys(source.title or source.sourcefile for source in request.sources)
    named = [title[:_LONGEST_TITLE] for title in titles][:_MOST_TITLES]
    sayings = SAYINGS[language]
    about = f"{sayings.about} {', '.join(named)}." if named else ""
    if said:
        text = sayings.nothing_to_add
    elif kind and not request.sources and request.messages[-1].text == request.question:
        text = sayings.no_documents  # no search was made, so the prompt has no sources
    else:
        text = f"{sayings.nothing} {about}".strip() if kind else about or sayings.about.partition(".")[0] + "."
    if any(message.files for message in request.messages) and not said:
        text = f"{text} {sayings.only_quotes_files}"
    if request.want_followups and kind and not said:
        text += _followups(topic_questions(named, language))
    ends = _has_answered_before(request) or _can_only_summarize(request)
    return _Reply(_with_done_marker(request, text) if ends else text, kind)


def _followups(questions: Iterable[str]) -> str:
    return "".join(f"\n<<{one}>>" for one in questions)


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
    asked = _user_questions(request)
    query = asked[-1] if asks_for_nothing(asked) else standalone_query(asked)
    wanted = [query] if tool.takes_queries else query
    return ToolCall("call_extractive", tool.name, json.dumps({tool.query: wanted}, ensure_ascii=False))


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


def _written(quotes: Sequence[Quote]) -> str:
    """Write quotes one after the other, each with its citation; with their headings if these differ."""
    texts = [
        _cited(quote, named=len({quote.statements[0].statement.topic for quote in quotes}) > 1) for quote in quotes
    ]
    return ("\n\n" if any("\n" in text for text in texts) else " ").join(texts)


def _cited(quote: Quote, *, named: bool) -> str:
    """Write a quote with its citation, such as `The plan pays 80 %. [plans.pdf#page=2]`."""
    first = quote.statements[0].statement
    named = named or points_back(first.text)
    text = f"{first.topic}: " if named and first.topic and first.topic not in first.text else ""
    for one in quote.statements:
        said = one.statement.text
        ended = said if _HAS_PUNCTUATION_AT_END.search(said) else f"{said}."
        text += (
            f"\n- {ended}"
            if one.statement.lead and len(quote.places) > 1
            else f"{' ' if text[-1:].strip() else ''}{ended}"
        )
    return f"{text} [{quote.sourcepage}]"


def _cited_alone(one: Scored) -> str:
    return _cited(Quote([one], [0]), named=False)


def _messages_since_question(messages: Sequence[Message]) -> Sequence[Message]:
    last = max((number for number, message in enumerate(messages) if _is_from_user(message)), default=-1)
    return messages[last + 1 :]


def _is_from_user(message: Message) -> bool:
    return message.role is Role.USER and message.author is None
