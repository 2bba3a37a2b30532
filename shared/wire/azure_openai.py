"""`azure-openai`: Azure OpenAI's chat completions 'On Your Data', for the clients of a service that Azure has retired.

Chunks and documents are those of `openai`. What differs: the sources come first, in the context of the first chunk;
the text names them by their numbers there, as `[doc1]`; and `data_sources` in a request are options of the search. The
documents are always those of the app: indexes, endpoints and keys in a request are not used, kept or logged.

Source: Azure OpenAI 'On Your Data' API reference (2024-10-21), 'Request body', 'Context' and 'Streaming'.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import replace
from typing import Annotated, Literal, cast

from msgspec.structs import asdict
from pydantic import FailFast, Field

from shared import events
from shared.chat_types import ChatRequest, Json, RetrievalMode
from shared.citations import CITED, MOST_CITATIONS, WholeCitations
from shared.core.fold import Answer
from shared.errors import BadRequest
from shared.wire.framing import SSE_OPENAI, Framed
from shared.wire.openai import ChunksEncoder, completion
from shared.wire.openai_body import OpenaiKeys, sent_files
from shared.wire.openai_body import parse as parse_openai
from shared.wire.openai_parts import error_object, gathered, joined, sources_context
from shared.wire.openai_request import AGENT, MODELS, OpenaiDetails
from shared.wire.protocol import QUESTION, Protocol, Record
from shared.wire.request_body import BodyModel

_log = logging.getLogger("switchboard.azure_openai")

_NAME = re.compile(CITED)
_NUMBER = re.compile(r"doc\d+")
_MARK = re.compile(r"\s?\[doc\d+\]")
_FILTER = re.compile(r"category (eq|ne) '((?:[^']|'')+)'")
"""The filters that are understood: of one category, or of all but one."""
_MODES = {
    "simple": (RetrievalMode.TEXT, False),
    "semantic": (RetrievalMode.TEXT, True),
    "vector": (RetrievalMode.HYBRID, False),
    "vector_simple_hybrid": (RetrievalMode.HYBRID, False),
    "vector_semantic_hybrid": (RetrievalMode.HYBRID, True),
}
"""How is searched, and whether the semantic ranker is asked for, by `query_type`.

Without an embedding model `HYBRID` searches words, where vectors alone would be an error: clients keep this setting of
an index that they had elsewhere."""
_CONTEXTS = ("citations", "intent")
"""The parts of the context that every request gets which names none."""
_MOST_LOGGED = 100
_logged: set[str] = set()
"""The deployments that were named although they name nothing here."""


class SourceParameters(BodyModel):
    """Options of the search. Others, such as endpoints, names of indexes and keys, are ignored."""

    top_n_documents: int | None = Field(default=None, ge=1, le=50, description="How many passages to search for.")
    query_type: Literal["simple", "semantic", "vector", "vector_simple_hybrid", "vector_semantic_hybrid"] | None = (
        Field(default=None, description="What is searched: words, meaning or both. Default: as the app is set up.")
    )
    filter: str | None = Field(
        default=None, max_length=1_000, description="`category eq 'name'` or `category ne 'name'`; no other filter."
    )
    role_information: str | None = Field(
        default=None, max_length=20_000, description="Is added to the instructions, where callers may change them."
    )
    in_scope: bool | None = Field(default=None, description="Is ignored: answers come from the documents.")
    strictness: int | None = Field(default=None, ge=1, le=5, description="Is ignored.")
    include_contexts: (
        Annotated[list[Literal["citations", "intent", "all_retrieved_documents"]], FailFast(), Field(max_length=3)]
        | None
    ) = Field(default=None, description="The parts of the context. Default: citations and intent.")


class DataSource(BodyModel):
    """A data source."""

    type: str = Field(max_length=100, description="Any: the documents are those of the app.")
    parameters: SourceParameters = Field(default_factory=SourceParameters)


class AzureOpenaiKeys(OpenaiKeys):
    """Keys of a request beyond those of all protocols."""

    data_sources: Annotated[list[DataSource], FailFast()] | None = Field(default=None, max_length=1)


class AzureDetails(OpenaiDetails, frozen=True):
    """What the encoder needs to know of a request."""

    contexts: tuple[str, ...] = _CONTEXTS
    """The parts of the context."""


def parse(body: Mapping[str, Json]) -> ChatRequest:
    """Validate a body and turn it into a request, without its files.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    keys = AzureOpenaiKeys.read(body)
    request = parse_openai(_without_marks({**body, "model": _model(keys.model)}))
    sources = keys.data_sources or [DataSource(type="")]
    options, overrides = sources[0].parameters, request.overrides
    if options.query_type:
        mode, ranks = _MODES[options.query_type]
        overrides = replace(overrides, retrieval_mode=mode, semantic_ranker=ranks)
    if options.role_information:
        overrides = replace(overrides, prompt_template=f">>>{options.role_information}")
    include, exclude = _categories(options.filter)
    overrides = replace(
        overrides,
        top=options.top_n_documents or overrides.top,
        include_category=include or overrides.include_category,
        exclude_category=exclude or overrides.exclude_category,
    )
    details = OpenaiDetails.of(request)
    contexts = tuple(options.include_contexts or _CONTEXTS)
    return replace(request, overrides=overrides, for_encoder=AzureDetails(**asdict(details), contexts=contexts))


def _model(named: str | None) -> str:
    """Return the model that a deployment means: one of the app's, or the app itself for the name of another."""
    if named is None or named in MODELS or named.startswith(AGENT):
        return named or next(iter(MODELS))
    if named not in _logged and len(_logged) < _MOST_LOGGED:
        _logged.add(named)
        _log.info("a request names the deployment %.64s, which is no model of this app: it is ignored", ascii(named))
    return next(iter(MODELS))


def _categories(text: str | None) -> tuple[str | None, str | None]:
    """Return the category that a filter wants, and the one that it leaves out."""
    if not text:
        return None, None
    if not (found := _FILTER.fullmatch(text.strip())):
        raise BadRequest(
            "data_sources[0].parameters.filter: should be category eq 'name' or category ne 'name': the index has no "
            "other field that requests can filter by."
        )
    name = found[2].replace("''", "'")
    return (name, None) if found[1] == "eq" else (None, name)


def _without_marks(body: dict[str, Json]) -> dict[str, Json]:
    """Return a body without marks in earlier answers, which name sources of then, and without what came beside them."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    said: list[Json] = []
    for message in messages:
        match message:
            case {"role": "tool"} if not message.get("tool_call_id"):
                continue  # the sources of an earlier answer, as sample-app-aoai-chatGPT sends them
            case {"role": "assistant", "content": str(text)}:
                said.append({**message, "content": _MARK.sub("", text)})
            case _:
                said.append(message)
    return {**body, "messages": said}


def _marked(text: str, points: Iterable[events.DataPoint]) -> str:
    """Return a text that names its sources by their numbers. A number that a model made up loses its brackets."""
    numbers: dict[str, int] = {}
    for number, point in enumerate(points, 1):
        numbers.setdefault(point.sourcepage, number)

    def mark(found: re.Match[str]) -> str:
        if number := numbers.get(found[1]):
            return f"[doc{number}]"
        return found[1] if _NUMBER.fullmatch(found[1]) else found[0]

    return _NAME.sub(mark, text, MOST_CITATIONS)


def _context(
    request: ChatRequest,
    points: Iterable[events.DataPoint],
    thoughts: Iterable[events.Thought],
    finished: events.Finished,
) -> Record:
    """Make the context with the parts that the request wants."""
    details, points = request.for_encoder, [*points]
    contexts = details.contexts if isinstance(details, AzureDetails) else _CONTEXTS
    context = sources_context(request, points, [*thoughts], finished)
    citations = cast("list[dict[str, Json]]", context["citations"])
    if "all_retrieved_documents" in contexts:
        queries = [thought.description for thought in thoughts if thought.title == "Generated search query"]
        found: list[Json] = [{**each, "search_queries": queries, "data_source_index": 0} for each in citations]
        context["all_retrieved_documents"] = found
    return {key: value for key, value in context.items() if key in contexts or key not in ("citations", "intent")}


def _answer(request: ChatRequest, answer: Answer) -> Record:
    document = completion(request, answer)
    points, thoughts = gathered(answer)
    choice = cast("list[dict[str, Json]]", document["choices"])[0]
    message = cast("dict[str, Json]", choice["message"])
    if isinstance(text := message["content"], str):
        message["content"] = _marked(text, points)
    message["context"] = _context(request, points, thoughts, answer.finished)
    message["annotations"] = []  # the context has the sources
    message["end_turn"] = True
    return {**document, "object": "extensions.chat.completion"}


class _Encoder(ChunksEncoder):
    """Encodes an answer as chunks: the sources, the text with their numbers, and how it ended."""

    object = "extensions.chat.completion.chunk"

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request)
        self._has_begun = True  # the first chunk has the sources, and the role
        self._whole = WholeCitations(lambda text: _marked(text, self._points))
        self._told: tuple[events.DataPoint, ...] | None = None

    def encode(self, event: events.ChatEvent) -> Iterator[Record | Framed]:
        """Yield the chunks of an event. A text waits until it is known whether it ends in the middle of a name."""
        text = self._whole.feed(event.text) if isinstance(event, events.TextDelta) else self._whole.flush()
        if text:
            yield from self._sources()
            yield from super().encode(events.TextDelta(text))
        if isinstance(event, events.TextDelta):
            return
        if isinstance(event, events.AgentMessage):
            self._points = joined(self._points, event.data_points)
            event = replace(event, text=_marked(event.text, self._points))
        for record in [*super().encode(event)]:
            if not isinstance(event, events.Failed):
                yield from self._sources()
            yield record

    def _sources(self) -> Iterator[Record]:
        """The context before the first chunk, and again if more sources were found since."""
        if self._told != self._points:
            self._told = self._points
            context = _context(self._request, self._points, self._thoughts, events.Finished("stop"))
            yield self._chunk({"role": "assistant", "context": context})

    def _chunk(self, delta: Record, reason: str | None = None, **more: Json) -> Record:
        made = super()._chunk(delta, reason, **more)
        cast("list[dict[str, Json]]", made["choices"])[0]["end_turn"] = reason is not None
        return made

    def _end(self, finished: events.Finished) -> Iterator[Record | Framed]:
        for record in super()._end(finished):
            if isinstance(record, bytes) or "context" not in _delta_of(record):  # the sources were told first
                yield record


def _delta_of(record: Record) -> Mapping[str, Json]:
    match record:
        case {"choices": [{"delta": dict(delta)}]}:
            return delta
        case _:
            return {}


AZURE_OPENAI = Protocol(
    name="azure-openai",
    parse=parse,
    sent_files=sent_files,
    answer=_answer,
    encoder=_Encoder,
    error=error_object,
    filter_ends=True,
    key_header="api-key",
    framing=SSE_OPENAI,
    team_is_one=True,
    example={
        **QUESTION,
        "data_sources": [{"type": "azure_search", "parameters": {"top_n_documents": 5, "index_name": "any"}}],
    },
)
