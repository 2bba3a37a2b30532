"""Converts streamed chunks of chat completions to model events; accepts the deviations of real services.

Source: OpenAI API reference, 'The chat completion chunk object'. Beyond it: Azure sends chunks without choices or
delta; Ollama, vLLM and gateways leave out indexes, ids and `[DONE]`, and tell of errors inside the stream.
"""

import re
import time
from collections.abc import Callable
from typing import Any, Literal, cast
from uuid import uuid4

import msgspec

from shared.chat_models import ModelEvent, ModelFinished, ModelText
from shared.chat_models.openai_request import sender
from shared.chat_models.sse_reader import SseReader, StreamTooLong
from shared.chat_models.written_calls import Repeats, ThinkingMarks, WrittenCalls
from shared.chat_types import SENT_BY, Json, ToolCall, bounded_beside
from shared.events import CompletionStarted, FilterAnnotation, ReasoningDelta, Usage
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.outbound.openai_service.reasons import read_fault


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | dict[str, object] | None = None
    thought_signature: Any = None


class _ToolCallPiece(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Any = None  # Gemini's, with a signature of its thoughts
    thought_signature: Any = None


class _Delta(msgspec.Struct, gc=False):
    content: Any = None  # a text or a list of parts; any other value is no answer's text, and is as absent
    reasoning_content: Any = None  # a text, by DeepSeek, llama.cpp and older vLLM
    reasoning: Any = None  # the same by Ollama, OpenRouter and newer vLLM; elsewhere it may be anything
    refusal: Any = None
    tool_calls: list[_ToolCallPiece] | None = None


class _Choice(msgspec.Struct, gc=False):
    index: Any = None
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: Any = None
    content_filter_results: Any = None
    content_filter_offsets: Any = None


class _Chunk(msgspec.Struct, gc=False):
    """A chunk. What an answer can do without is of any type: what is odd there is as absent."""

    id: Any = None
    created: Any = None
    model: Any = None
    system_fingerprint: Any = None
    choices: list[_Choice] | None = None
    usage: Any = None
    prompt_filter_results: Any = None  # JSON of any shape, as the next; msgspec cannot analyse the recursive `Json`
    error: Any = None
    object: Any = None
    code: Any = None
    message: Any = None


_decoder = msgspec.json.Decoder(_Chunk)
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATES = re.compile(rb"\\\\|" + _HIGH + _LOW + rb"|(?P<high>" + _HIGH + rb")|(?P<low>" + _LOW + rb")")
"""Characters beyond the 16-bit ones in JSON's escapes: both halves, or one that stands alone."""

LONGEST_TEXT = 8_192
"""Characters of a `ModelText`: a longer piece of the answer becomes several, so that no stage works long at one."""

_REASONS = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "max_tokens": "length",
}
"""Finish reasons of `ModelFinished`, by the service's word; any other word, such as `eos`, means `stop`."""


class _OpenCall:
    """A tool call with incomplete arguments."""

    def __init__(self, piece: _ToolCallPiece) -> None:
        self.index = piece.index
        self.id = piece.id
        self.name = ""
        self.beside: dict[str, Json] = {}
        self._arguments: list[str] = []

    def is_continued_by(self, piece: _ToolCallPiece) -> bool:
        """Whether a piece of the same index, or of none, belongs to this call."""
        if piece.id and self.id:
            return piece.id == self.id
        # A name comes once a call: without ids and indexes it is what tells calls apart.
        return piece.index is not None or not (piece.function and piece.function.name)

    def add(self, piece: _ToolCallPiece) -> int:
        """Add a piece; return how many characters it has."""
        self.id = self.id or piece.id
        added = len(piece.id or "")
        signature: Json = piece.thought_signature or (piece.function and piece.function.thought_signature)
        given: dict[str, Json] = {"extra_content": piece.extra_content, "thought_signature": signature}
        self.beside |= {name: value for name, value in given.items() if value}
        if piece.function is None:
            return added
        name, arguments = piece.function.name or "", piece.function.arguments or ""
        self.name = self.name or name
        self._arguments.append(arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode())
        return added + len(name) + len(self._arguments[-1])

    def to_tool_call(self, thought: str, sent_by: str) -> ToolCall:
        beside = bounded_beside(self.beside | ({"reasoning_content": thought} if thought else {}))
        beside |= {SENT_BY: sent_by} if beside else {}
        arguments = "".join(self._arguments)
        return ToolCall(id=self.id or f"call_{uuid4().hex}", name=self.name, arguments=arguments, beside=beside)


class ChunkReader:
    """Converts the bytes of one answer to model events."""

    def __init__(
        self,
        model: str,
        *,
        framing: Literal["sse", "json"] = "sse",
        address: str = "",
        names_model: bool = True,
        marks: ThinkingMarks | None = None,
        written: WrittenCalls | None = None,
    ) -> None:
        """Start an answer.

        Args:
            model: the model's name for when the service does not give one.
            framing: `sse`, or `json` for a whole completion in one document.
            address: URL of the endpoint that answers.
            names_model: Whether the service's name of the model counts: local ones give a path of their disk.
            marks: Takes thoughts out of the text.
            written: Takes calls of tools out of the text.
        """
        self._model = model
        self._names_model = names_model
        self._address = address
        self._lines = SseReader(reads_errors=True) if framing == "sse" else None
        self._document = bytearray()
        self.marks = marks or ThinkingMarks()
        self.has_lone_end = False
        """Whether the text that has gone out had an end of thoughts without their beginning."""
        self._written = written or WrittenCalls(())
        self._repeats = Repeats()
        self._thought: list[str] = []  # of `reasoning_content` alone, which its services want back under that name
        self._calls: list[_OpenCall] = []
        self.usage: Usage | None = None
        """Tokens of the answer; None: the service has not told them."""
        self._prompt_filter_results: Json = None
        self._content_filter_results: dict[str, Json] = {}
        self._piece_results: dict[str, Json] = {}
        self._half = b""
        self._started = False
        self._finish_reason: str | None = None
        self._done = False
        self._characters = 0
        self.has_content = False
        """Whether a part of the answer has arrived."""

    @property
    def is_complete(self) -> bool:
        """Whether the model has ended its answer; the usage may still follow."""
        return self._done or self._finish_reason is not None

    @property
    def is_done(self) -> bool:
        """Whether the service has said that nothing follows."""
        return self._done

    def feed(self, received: bytes) -> list[ModelEvent]:
        """Add received bytes; return the events that they complete.

        Raises:
            ServiceFault: the service tells of a fault, or sends what is no chunk.
        """
        if self._lines is None:
            self._document += received
            _check(len(self._document), _MAX_DOCUMENT_BYTES)
            return []
        try:
            payloads = self._lines.feed(received)
        except StreamTooLong as exc:
            raise ServiceFault(Fault(Reason.NOT_AN_ANSWER)) from exc
        events: list[ModelEvent] = []
        for payload in payloads:
            self._read(payload, events)
        return events

    def finish(self) -> list[ModelEvent]:
        """End the stream; return the last text, the tool calls and the finish reason.

        Raises:
            ServiceFault: the answer ended in its middle, or there was none.
        """
        payloads = [bytes(self._document)] if self._lines is None else self._lines.flush()
        events: list[ModelEvent] = []
        for payload in payloads:
            self._read(payload, events)
        if not self.is_complete or not (self.has_content or self._finish_reason):
            raise ServiceFault(Fault(Reason.CUT_OFF if self.has_content else Reason.NOT_AN_ANSWER))
        thought, text = self.marks.flush()
        events += [*_pieces(ReasoningDelta, thought), *_pieces(ModelText, self._written.feed(text))]
        thought, sent_by = "".join(self._thought), sender(self._address, self._model)
        calls = [call.to_tool_call(thought, sent_by) for call in self._calls if call.name]
        if isinstance(held := self._written.end(), ToolCall) and not calls:
            calls = [held]
        else:
            events += _pieces(ModelText, held if isinstance(held, str) else "")
        reason = _REASONS.get(self._finish_reason or "stop", "stop")
        if calls and reason == "stop":
            reason = "tool_calls"
        return [*events, *calls, ModelFinished(reason, self.usage, self._content_filter_results or None)]

    def _read(self, payload: bytes, events: list[ModelEvent]) -> None:
        """Read one chunk and append the events that it makes: no generators here, since this is done for each token."""
        if self._done:
            return
        if not payload.startswith(b"{"):
            text = payload.strip()
            self._done = text == b"[DONE]"
            if self._done or not text:
                return
        chunk = self._decode(payload)
        if chunk.prompt_filter_results:
            self._prompt_filter_results = chunk.prompt_filter_results
        # Azure's first chunk has only filter results: neither an id nor a choice.
        if not self._started and (chunk.id or chunk.choices):
            self._started = True
            events.append(self._start(chunk))
        usage: object = chunk.usage
        if isinstance(usage, dict) and usage:
            counts = cast("dict[str, object]", usage)
            details = counts.get("completion_tokens_details")
            thought = cast("dict[str, object]", details).get("reasoning_tokens") if isinstance(details, dict) else 0
            read, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
            self.usage = Usage(_tokens(read), _tokens(written), _tokens(thought))
        for choice in chunk.choices or ():
            if not choice.index:
                self._read_choice(choice, events)

    def _decode(self, payload: bytes) -> _Chunk:
        try:
            chunk = _decoder.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            try:
                chunk = _decoder.decode(_SURROGATES.sub(self._joined_half, payload))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
                raise ServiceFault(Fault(Reason.NOT_AN_ANSWER)) from exc
        if chunk.error or chunk.object == "error":  # vLLM has told it without that key
            raise ServiceFault(read_fault(chunk.error or {"code": chunk.code, "message": chunk.message}))
        return chunk

    def _joined_half(self, found: re.Match[bytes]) -> bytes:
        """Move the first half of a character to its second one, which some services send with the next chunk."""
        if found["high"]:
            self._half = found["high"]
            return b""
        if found["low"]:
            half, self._half = self._half, b""
            return half + found["low"] if half else b""
        return found[0]

    def _start(self, chunk: _Chunk) -> CompletionStarted:
        created = int(chunk.created) if isinstance(chunk.created, int | float) and chunk.created < _LAST_SECOND else 0
        return CompletionStarted(
            id=_name(chunk.id) or f"chatcmpl-{uuid4().hex}",
            created=created if created > 0 else int(time.time()),
            model=(self._names_model and _name(chunk.model)) or self._model,
            system_fingerprint=_name(chunk.system_fingerprint),
            prompt_filter_results=self._prompt_filter_results,
            address=self._address,
        )

    def _read_choice(self, choice: _Choice, events: list[ModelEvent]) -> None:  # noqa: C901 (no calls: it is per token)
        if choice.finish_reason == "error":
            raise ServiceFault(Fault(Reason.BROKEN))
        if choice.finish_reason and isinstance(choice.finish_reason, str):
            self._finish_reason = choice.finish_reason
        filtered: object = choice.content_filter_results
        if isinstance(filtered, dict):
            results = cast("dict[str, Json]", filtered)
            self._content_filter_results = _worst(self._content_filter_results, results)
            _check(len(self._content_filter_results), _MAX_CATEGORIES)
            if choice.delta and _text(choice.delta):
                if results != self._piece_results:  # they are beside each token, and nearly always the same
                    self._piece_results = results
                    events.append(FilterAnnotation(results, None))
            # Gateways repeat the offsets beside each token, where they tell of nothing that has gone out already.
            elif choice.content_filter_offsets:
                events.append(FilterAnnotation(results, choice.content_filter_offsets))
        # Some services repeat the whole message at the end of a stream: it counts only where no delta came before.
        delta = choice.delta or (None if self.has_content else choice.message)
        if delta is None:
            return
        for piece in delta.tool_calls or ():
            self._add(piece)
        if isinstance(delta.reasoning_content, str):
            self._thought.append(delta.reasoning_content)
        reasoning: object = delta.reasoning_content or delta.reasoning or _thought(delta.content)
        if reasoning and isinstance(reasoning, str):
            self.has_content = True
            self._hold(len(reasoning))
            events += _pieces(ReasoningDelta, reasoning)
        if text := _text(delta):
            self.has_content = True
            self._hold(len(text))
            if not self.marks.is_over:
                thought, text = self.marks.feed(text)
                events += _pieces(ReasoningDelta, thought)
            elif "</think>" in text:
                self.has_lone_end = True
            if self._repeats.feed(text):
                self._finish_reason, self._done = "length", True
            text = self._written.feed(text)
            if len(text) <= LONGEST_TEXT:
                if text:
                    events.append(ModelText(text))
            else:
                events += _pieces(ModelText, text)

    def _add(self, piece: _ToolCallPiece) -> None:
        self.has_content = True
        same_place = (call for call in reversed(self._calls) if piece.index is None or call.index == piece.index)
        call = next(same_place, None)
        # Ollama numbers every call 0, so the index alone does not tell whose piece it is.
        if call is None or not call.is_continued_by(piece):
            call = _OpenCall(piece)
            self._calls.append(call)
            _check(len(self._calls), _MAX_CALLS)
        self._hold(call.add(piece))

    def _hold(self, characters: int) -> None:
        self._characters += characters
        _check(self._characters, _MAX_CHARACTERS)


_LAST_SECOND = 253_402_300_800
"""Start of the year 10000 in Unix seconds: a larger `created` is in other units and is ignored."""

_MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
"""Limit for an answer in one JSON document, in bytes: far more than any model writes."""
_MAX_CHARACTERS = 512 * 1024
"""Limit for the text and the tool calls of an answer, in characters: the 128,000 tokens that models write at most."""
_MAX_CALLS = 128
"""Limit for the tool calls of an answer; as many tools can be offered to OpenAI's models."""
_MAX_CATEGORIES = 100
"""Limit for the categories of a content filter's results; Azure has ten."""
_MAX_NAME = 256
"""Limit for an id or the name of a model, in characters: they may go out with each piece of the answer."""
_MAX_TOKENS = 10_000_000
"""Limit for what a service counts as tokens of one call; budgets believe it."""


def _check(count: int, limit: int) -> None:
    """Raise a ServiceFault if a limit is exceeded: no model answers so."""
    if count > limit:
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER))


def _name(value: object) -> str | None:
    """An id or a model's name, unless it is no text, or too long to be one."""
    return value if isinstance(value, str) and 0 < len(value) <= _MAX_NAME else None


def _tokens(count: object) -> int:
    """A number of tokens, between 0 and the limit."""
    return int(max(0, min(count, _MAX_TOKENS))) if isinstance(count, int | float) else 0


def _worst(before: dict[str, Json], after: dict[str, Json]) -> dict[str, Json]:
    """Merge the filter results of two parts of an answer by category: a filtered one wins, else the later."""
    return before | after | {name: found for name, found in before.items() if _is_filtered(found)}


def _is_filtered(found: Json) -> bool:
    """Whether a category or a blocklist filtered it."""
    entries = found if isinstance(found, list) else [found]
    return any(isinstance(entry, dict) and entry.get("filtered") for entry in entries)


def _pieces[Piece: ModelText | ReasoningDelta](made: Callable[[str], Piece], text: str) -> list[Piece]:
    return [made(text[start : start + LONGEST_TEXT]) for start in range(0, len(text), LONGEST_TEXT)]


def _text(delta: _Delta) -> str:
    content = delta.content if isinstance(delta.content, str) else _joined(delta.content, "text")
    return content + delta.refusal if isinstance(delta.refusal, str) else content


def _thought(content: object) -> str:
    """What is thought in parts of the content, as Mistral's models write it."""
    return "" if isinstance(content, str) else _joined(content, "thinking")


def _joined(parts: object, kind: str) -> str:
    """Join the texts of all parts of a type; a part of thoughts has parts of its own."""
    texts: list[str] = []
    for part in cast("list[object]", parts) if isinstance(parts, list) else ():
        fields = cast("dict[str, object]", part) if isinstance(part, dict) else {}
        if fields.get("type") == kind:
            said = fields.get(kind)
            texts.append(said if isinstance(said, str) else _joined(said, "text"))
    return "".join(texts)
