"""The built-in model. It answers with sentences of the sources, word for word, and is not a language model.

The same request always gets the same answer, so `temperature` and `seed` are ignored. Usage is reported as 0 tokens,
and `max_tokens` limits the number of words.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Sequence
from itertools import chain
from typing import Literal
from uuid import uuid4

from shared.chat_models import ModelEvent, ModelFinished, ModelRequest, ModelText, Room, ToolDefinition
from shared.chat_models.extractive import questions
from shared.chat_models.extractive.quotes import CITATION, LONGEST_ANSWER, Quote, best_quotes, written
from shared.chat_models.extractive.relevance import Ranked, is_duplicate, ranked, read_sources, read_statement
from shared.chat_models.extractive.sayings import LONGEST_TOPIC, SAYINGS, reply_language, told_language
from shared.chat_models.extractive.statements import Statement
from shared.chat_types import Message, PartHealth, Passage, RequestContext, Role, ToolCall
from shared.errors import BadRequest
from shared.events import CompletionStarted, Usage
from shared.words.stop_words import likely_language

MODEL = "extractive"

_SURE, _UNSURE = 1.0, -0.5
"""Logarithms of odds: from where on the best statements are an answer, and below which they hold it hardly ever."""
_NEAR = 0.2
"""Share of the question, or closeness, from which a statement is shown as the nearest one."""
_MOST_STATEMENTS = 6
"""Statements of other agents in a summary of them."""
_MOST_TITLES = 6
"""Titles of documents that are named where nothing else can be said."""
_DONE = "[[DONE]]"
"""Marker that ends a group chat. Used only if the agent's instructions contain it."""
_WORD = re.compile(r"\s*\S+\s?")
"""Text of one event: a word with the white space around it."""


class ExtractiveModel:
    """The `ChatModel` that is used when no other is configured."""

    takes_images = False
    takes_tools = False

    async def room(self) -> Room:
        """See `ChatModel.room`."""
        return Room(4_000)

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield `CompletionStarted`, then the answer word by word or a call of a search tool, then `ModelFinished`.

        An answer that has to be JSON raises BadRequest.
        """
        if request.form:
            raise BadRequest(
                f"{request.form.key}: the built-in model is no language model and writes no JSON. Leave it out, or set "
                "OPENAI_CHAT_MODEL or AZURE_OPENAI_CHAT_DEPLOYMENT."
            )
        yield CompletionStarted(f"extractive-{uuid4().hex}", int(time.time()), MODEL)
        if call := _tool_call(request):
            yield call
            yield ModelFinished("tool_calls", Usage(0, 0))
            return
        # In a thread: analysing many long sources takes long and would block the event loop's other streams.
        text, kind = await asyncio.to_thread(_answer, request, context.accept_language)
        every = _WORD.findall(text)
        for word in (shown := every[: request.max_tokens]):
            yield ModelText(word)
            await asyncio.sleep(0)  # lets other tasks run between two words
        yield ModelFinished("length" if len(shown) < len(every) else "stop", Usage(0, 0), answer_kind=kind)

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


type _Kind = Literal["answer", "nearest", "nothing"]
type _Reply = tuple[str, _Kind | None]
"""The whole answer, with citations and follow-up questions, and what it is; None: the message asked for nothing."""
type _Part = tuple[str, list[Quote], bool]
"""The answer to a part of a question, its quotes, and whether it is sure."""


def _answer(request: ModelRequest, accept_language: str = "") -> _Reply:
    if request.is_task:
        return questions.title_of_chat(request.messages), None
    said = _agents_statements(request)
    if said and _can_only_summarize(request):
        return _ended(request, " ".join(written([[one]]) for one in said[:_MOST_STATEMENTS])), "answer"
    asked = _user_questions(request)
    files = [file for message in request.messages for file in message.files]
    passages = (*request.sources, *(Passage(file.name, file.text, file.name, "") for file in files))
    sample = "\n".join(passage.content for passage in passages)
    language = reply_language(reversed(asked), request.language, accept_language, sample)
    note = f" {SAYINGS[language].only_quotes_files}" if files else ""
    if questions.asks_for_nothing(asked):
        return _without_statements(request, language, None, note)
    note += f" {SAYINGS[language].by_meaning}" if request.foreign else ""
    statements = read_sources(passages)
    query = questions.standalone_query(asked)
    before = questions.subject_words(query).keys() - questions.subject_words(request.question).keys()
    found = ranked(query, statements, request.rarities, before)
    if before and found.sure < _SURE:  # perhaps it refers to nothing
        found = max(found, ranked(request.question, statements, request.rarities), key=lambda one: one.sure)
    own, foreign = told_language(request.question), told_language(sample)
    is_known = not (own and foreign and own != foreign) or any(passage.closeness for passage in passages)
    if is_known and (names := questions.documents_mentioning(request.question, found.statements)):
        return names, "answer"
    if not is_known:
        found = found._replace(sure=min(found.sure, 0.0))
    replies = _parts_quoted(request, statements, language, said) if is_known else []
    replies = replies or [_quoted(found, language, said, 2 if said else 1)]
    quotes = [quote for _, new, _ in replies for quote in new]
    if not quotes:
        return _without_statements(request, language, "nothing", note, said=said)
    kind = "answer" if any(is_sure for *_, is_sure in replies) else "nearest"
    text = "\n\n".join(dict.fromkeys(text for text, *_ in replies)) + ("" if kind == "answer" else note)
    if request.want_followups:
        said_now = [one for quote in quotes for one in quote]
        text += questions.followups(found.statements, said_now, asked, language)
    return text, kind


def _parts_quoted(
    request: ModelRequest, statements: Sequence[Statement], language: str, said: Sequence[Statement]
) -> list[_Part]:
    """Quote what answers each part of a question; empty: it has one."""
    parts = questions.parts_asked(request.question)
    found: list[_Part] = []
    known = [*said]
    for place, part in enumerate(parts, 1):
        query, words = questions.standalone_query(parts[:place]), questions.subject_words(part)
        best = ranked(query, statements, request.rarities, questions.subject_words(query).keys() - words.keys())
        text, quotes, is_sure = _quoted(best, language, known, len(parts), part.rstrip("?"))
        if quotes or all(one.terms.isdisjoint(word.terms) for one in known for word in words.values()):
            found.append((text, quotes, is_sure))
            known += chain.from_iterable(quotes)
    return found


def _quoted(found: Ranked, language: str, known: Sequence[Statement], parts: int, part: str = "") -> _Part:
    """Quote what answers a question, or one of its parts, with a word of how sure that is."""
    sayings = SAYINGS[language]
    is_near = any(max(one.share, one.closeness) >= _NEAR for one in found.statements)
    quotes = best_quotes(found.statements, known, LONGEST_ANSWER // parts) if is_near else []
    if not quotes or (parts > 1 and found.sure < _UNSURE):
        return f"“{part}”: {sayings.nothing}", [], False
    if found.sure >= _SURE:
        return written(quotes), quotes, True
    foreign = told_language(" ".join(one.text for one in quotes[0]))
    name = f" ({SAYINGS[foreign].name})" if foreign and foreign != language else ""
    return f"{sayings.unsaid * (found.sure < _UNSURE)}{sayings.nearest}{name} {written(quotes)}", quotes, False


def _without_statements(
    request: ModelRequest, language: str, kind: Literal["nothing"] | None, note: str, *, said: Sequence[Statement] = ()
) -> _Reply:
    """Make the reply to a question that no statement answers, and to a message that asks for nothing."""
    titles = request.titles or dict.fromkeys(source.title or source.sourcefile for source in request.sources)
    named = [title[:LONGEST_TOPIC] for title in titles][:_MOST_TITLES]
    sayings = SAYINGS[language]
    about = f"{sayings.about} {', '.join(named)}." if named else ""
    if said:
        text = sayings.nothing_to_add
    elif kind and not request.sources and request.messages[-1].text == request.question:
        text = sayings.no_documents  # no search was made, so the prompt has no sources
    else:
        text = f"{sayings.nothing} {about}".strip() if kind else about or sayings.about.partition(".")[0] + "."
    if not said:
        text += note + (questions.topic_questions(named, language) if request.want_followups and kind else "")
    answers = (message.content for message in _since_question(request.messages) if message.role is Role.ASSISTANT)
    return _ended(request, text) if any(answers) or _can_only_summarize(request) else text, kind


def _can_only_summarize(request: ModelRequest) -> bool:
    """Whether the messages of other agents are the only source: no documents and no search tool."""
    return not request.sources and _search_tool(request) is None and any(one.author for one in request.messages)


def _ended(request: ModelRequest, text: str) -> str:
    """Append the marker that ends a group chat if the system messages ask for it."""
    wanted = any(message.role is Role.SYSTEM and _DONE in message.content for message in request.messages)
    return f"{text}\n{_DONE}" if wanted else text


def _tool_call(request: ModelRequest) -> ToolCall | None:
    """Make the call of a search tool, with a standalone query; None if there is no such tool or its result is there."""
    tool = _search_tool(request)
    if tool is None or request.messages[-1].role is Role.TOOL:
        return None
    asked = _user_questions(request)
    query = asked[-1] if questions.asks_for_nothing(asked) else questions.standalone_query(asked)
    wanted = [query] if tool.takes_queries else query
    return ToolCall("call_extractive", tool.name, json.dumps({tool.query: wanted}, ensure_ascii=False))


def _search_tool(request: ModelRequest) -> ToolDefinition | None:
    """Find the first tool that takes a search query."""
    return next((tool for tool in request.tools if tool.query), None)


def _user_questions(request: ModelRequest) -> list[str]:
    """Return the user's questions, oldest first; the last one without the sources that the prompt adds to it."""
    asked = [message.content for message in request.messages if message.role is Role.USER and not message.author]
    return [*asked[:-1], request.question]


def _agents_statements(request: ModelRequest) -> list[Statement]:
    """Return the cited statements in the agents' messages since the last question, in order and without duplicates."""
    found: list[Statement] = []
    for message in _since_question(request.messages):
        pieces = iter(CITATION.split(message.content) if message.role is not Role.TOOL else ())
        for text, sourcepage in zip(pieces, pieces, strict=False):
            one = read_statement(Statement(text.strip()), sourcepage, likely_language(text))
            if not any(is_duplicate(one, other) for other in found):
                found.append(one)
    return found


def _since_question(messages: Sequence[Message]) -> Sequence[Message]:
    """Return what agents have said since the user's last question, and the results of tools."""
    from_user = (message.role is Role.USER and not message.author for message in messages)
    return messages[max((number for number, is_ in enumerate(from_user, 1) if is_), default=0) :]
