"""The interface of a protocol. The protocols are in this package, and listed in `shared/wire/table.py`."""

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from copy import replace
from typing import Protocol as TypingProtocol
from typing import Self, cast

import msgspec

from shared.chat_types import ChatRequest, Json
from shared.core.attachments import Attachment
from shared.core.fold import Answer, agent_answer
from shared.errors import BadRequest, KeyReused, NotAllowed, NotSignedIn, SwitchboardError, TooLarge, error_text
from shared.events import AgentMessage, ChatEvent, CompletionStarted, Failed, OpenCall, ToolEnded
from shared.wire.consent import in_words, with_calls
from shared.wire.framing import SSE, BrokenOff, Framed, Framing, encode_json
from shared.wire.message_parts import SentFile, attached_files
from shared.wire.request_body import BODY_LIMIT, Body

type Record = dict[str, Json]
"""One JSON object of a stream."""

BETWEEN_MESSAGES = "\n\n"
"""Separates a team's messages for clients that join all texts of a stream into one."""
QUESTION: dict[str, Json] = {
    "messages": [{"role": "user", "content": "What does the Standard plan pay for dental care?"}]
}
"""An example request."""


class Encoder(TypingProtocol):
    """Turns the events of one answer into the records of its stream. Sans-I/O; one object per answer, with state."""

    def encode(self, event: ChatEvent) -> Iterable[Record | Framed]:
        """Return the records of this event, none or more."""
        ...


def error_record(error: SwitchboardError, invocation_id: str) -> Record:
    """Make the error record of most protocols. Front ends show `error` unchanged, so it is a string."""
    return {"error": error_text(error, invocation_id)}


def coded_error_record(error: SwitchboardError, invocation_id: str, **more: Json) -> Record:
    """Make the error record of clients that take an object: its code, for programs, its text, and more if there is."""
    return {"error": {"code": error.code, "message": error_text(error, invocation_id), **more}}


class EarlierAnswers(TypingProtocol):
    """Reads the caller's kept runs, for requests that refer to them."""

    async def request(self, run_id: str, protocol: str) -> Mapping[str, Json] | None:
        """Return the JSON of a run's request; None: there is no such run in the protocol of this name."""
        ...

    async def answer(self, run_id: str) -> Json:
        """Return the whole answer of a run: an empty object if it failed or waits for a person, null if it goes on."""
        ...


class Protocol(msgspec.Struct, frozen=True):
    """A protocol: the parser of its requests and the encoders of its answers.

    The types of its JSON, for the OpenAPI document, are in `tools/description/protocols.py`, with its texts in other
    documents.
    """

    name: str
    """Its name in routes and in `CHAT_DEFAULT_PROTOCOL`."""
    parse: Callable[[Mapping[str, Json]], ChatRequest]
    """Turns a JSON body into a request; raises BadRequest."""
    answer: Callable[[ChatRequest, Answer], Json] | None
    """Turns a whole answer, or one agent's part of a team's, into a JSON document; None: all its routes stream."""
    encoder: Callable[[ChatRequest], Encoder]
    """Makes the encoder of one streamed answer."""
    framing: Framing
    """How a stream separates its records."""
    error: Callable[[SwitchboardError, str], Record] = error_record
    """Turns an error and its invocation id into a document, or the last record of a stream."""
    infer: Callable[[Mapping[str, Json]], bool] = lambda _body: False
    """Whether the body of a request, on a route that names no protocol, can only be in this protocol."""
    example: dict[str, Json] = msgspec.field(default_factory=lambda: QUESTION)
    """Example of a request. If `infer` is defined, it selects the protocol for this body."""
    aliases: tuple[str, ...] = ()
    """Other names in routes."""
    team_is_one: bool = False
    """Whether a team's answer is one document as any other answer is, whole and streamed."""
    demo_page: bool = False
    """Whether azure-search-openai-demo's web page speaks it, and finds its further routes below the protocol's name."""
    fails_in_stream: tuple[type[SwitchboardError], ...] = ()
    """With which errors a stream has status 200 and ends with the error, from before the turn on: its clients show no
    status of these, nor the body beside it."""
    refuses_in_stream: bool = False
    """Whether a missing or refused sign-in is among them. Else it has its status, which clients that sign in read."""
    sent_files: Callable[[Mapping[str, Json]], Iterator[tuple[int, SentFile]]] | None = None
    """Yields the files inside a JSON body that `parse` has accepted, each with the index of its message; raises
    BadRequest. None: no body has any."""
    takes_files: bool = False
    """Whether requests can contain files, as a multipart form."""
    keeps_chats: bool = False
    """Whether the app keeps the conversation: clients send the newest message alone, with the state that they got."""
    waits_briefly: bool = False
    """Whether its client gives up on a whole answer after 30 seconds."""
    message_encoder: Callable[[ChatRequest], Encoder] | None = None
    """Makes the encoder that sends an error in a message like an answer, for a client that shows no error in any form.
    `ERRORS_AS_MESSAGES` chooses it."""
    filter_ends: bool = False
    """Whether a filter that stops an answer's text is how the answer ends, streamed or whole; else it is an error."""
    links_citations: bool = False
    """Whether citations become links where `PUBLIC_URL` is set: its clients make none by themselves."""
    shows_progress: bool = False
    """Whether its streams have a place for `AgentWork`, which requests ask for with `show_progress`."""
    stream_headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Headers of a streamed response beyond those of all."""
    plain_errors: bool = False
    """Whether an error before the stream is a plain text: its client shows the body unchanged."""
    key_header: str = ""
    """The header in which its clients send a key instead of `Authorization`, at its own routes; empty: none."""
    completed: Callable[[Body, EarlierAnswers | None], Awaitable[Body]] | None = None
    """Puts into a body what it refers to of earlier answers (None: none are kept). None: its requests refer to none."""
    unfinished: Callable[[ChatRequest, str], Json] | None = None
    """Makes the document of a run that a request wants to be read later, by its status. Set where requests refer to
    answers by the ids of their runs."""
    user_agent: str | None = None
    """The beginning of its client's name in `User-Agent`, which selects the protocol on a route that names none."""

    def with_errors_in(self, messages: Collection[str]) -> Self:
        """Return the protocol with its errors in messages if its name is among these."""
        if self.message_encoder is None:
            return self
        if self.name in messages:
            return replace(self, encoder=self.message_encoder, fails_in_stream=(SwitchboardError,))
        return replace(self, message_encoder=None)

    def sends_inside(self, error: SwitchboardError, request: ChatRequest) -> bool:
        """Whether an error is sent inside an answer with status 200, since its client shows no others.

        Args:
            error: The error.
            request: What was asked; without messages before the body was read and understood. A body that cannot be
                is a 400 in every protocol, and a key that names another request a 422: no page sends these, and who
                writes a client reads the status.
        """
        if isinstance(error, NotSignedIn | NotAllowed) and not self.refuses_in_stream:
            return False
        if isinstance(error, KeyReused) or (isinstance(error, BadRequest) and not request.messages):
            return False
        return isinstance(error, self.fails_in_stream) and (request.stream or self.message_encoder is not None)

    def error_answer(self, failed: Failed, request: ChatRequest) -> tuple[bytes, str]:
        """Make an answer that is nothing but an error: its bytes and their content type."""
        records = [*self.encoder(request).encode(failed)]
        if request.stream:
            return self.framing.join(records) + self.framing.end, self.framing.content_type
        return encode_json(cast("list[Json]", records)), "application/json"

    def files_of(self, body: Body) -> tuple[Attachment, ...]:
        """Return the files that came in or beside the JSON of a request that `parse` has accepted.

        Raises:
            BadRequest: a file cannot be decoded.
            TooLarge: there are too many, or the JSON without its files is over `BODY_LIMIT`.
        """
        if self.sent_files is None:
            return body.files
        files = attached_files(self.sent_files(body.json))
        if body.size - sum((len(file.data) + 2) // 3 * 4 for file in files) > BODY_LIMIT:
            raise TooLarge(
                f"The request is over {BODY_LIMIT:,} bytes without its files. Send fewer or shorter messages."
            )
        return files

    def team_answer(self, request: ChatRequest, answer: Answer) -> Json:
        """A team's whole answer: one array with each agent's document, or with the items of those that are arrays.

        Of a protocol that has no place for several messages it is one document.
        """
        if self.answer is None:
            raise TypeError(f"The protocol '{self.name}' has no whole answers.")
        if self.team_is_one:
            return self.answer(request, answer)
        turn, late = answer.completion, answer.finished.prompt_filter_results
        turn = replace(turn, prompt_filter_results=turn.prompt_filter_results or late)
        messages, calls = in_words(request, answer).messages, [*answer.tool_calls, *answer.open_calls]
        return [item for message in messages for item in self.agent_documents(request, message, turn, calls)]

    def agent_documents(
        self,
        request: ChatRequest,
        message: AgentMessage,
        turn: CompletionStarted,
        calls: list[ToolEnded | OpenCall] | None = None,
    ) -> list[Json]:
        """One agent's part of a team's answer: its document, or the items of one that is an array.

        Args:
            request: The request.
            message: The agent's message.
            turn: Metadata of the team's turn.
            calls: Calls of servers' tools, from which the agent's are taken.
        """
        if self.answer is None:
            raise TypeError(f"The protocol '{self.name}' has no whole answers.")
        asked = request.in_conversation(request.chat.conversation_id or turn.id)
        part = self.answer(asked, with_calls(agent_answer(message, turn), calls or []))
        return part if isinstance(part, list) else [part]

    def said_so_far(self, request: ChatRequest, events: Iterable[ChatEvent]) -> Iterator[list[Json]]:
        """Yield each agent's message of a team's turn that goes on. Which one is the last shows at the end."""
        turn = CompletionStarted("", 0, "team")
        for event in events:
            if isinstance(event, CompletionStarted):
                turn = event
            elif isinstance(event, AgentMessage):
                yield self.agent_documents(request, replace(event, total_usage=None), turn)


async def stream_bytes(
    protocol: Protocol,
    request: ChatRequest,
    batches: AsyncIterable[Sequence[ChatEvent]],
    *,
    after: int = -1,
    numbered: bool = False,
    breaks_off: bool = True,
) -> AsyncGenerator[bytes]:
    """Encode a turn's events as they arrive: one chunk of bytes, for one write, per batch with records.

    An empty batch is sent as a keep-alive.

    Args:
        protocol: The protocol.
        request: The request.
        batches: The events.
        after: Number of the last record that the reader has, from 0: only those after it are sent.
        numbered: Whether server-sent events get the numbers of their records as ids.
        breaks_off: Whether the reader can take a connection that breaks off, if the framing has it.
    """
    encode, join = protocol.encoder(request).encode, protocol.framing.join
    number = -1
    last: Record | Framed = b""
    async for batch in batches:
        records = [record for event in batch for record in encode(event)]
        if numbered or number < after:
            first, number = number + 1, number + len(records)
            left_out = max(0, after + 1 - first)
            records = records[left_out:]
            if numbered and protocol.framing.before == SSE.before:
                records = [b"id: %d\n%b" % (first + left_out + at, join((one,))) for at, one in enumerate(records)]
        if records:
            last = records[-1]
            yield join(records)
        elif not batch:
            yield protocol.framing.keep_alive
    if breaks_off and protocol.framing.breaks_off and not isinstance(last, bytes) and "error" in last:
        raise BrokenOff
    if protocol.framing.end:
        yield protocol.framing.end
