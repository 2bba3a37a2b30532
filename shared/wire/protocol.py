"""The boundary to protocols: what one file in this package has to give."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol as TypingProtocol

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, agent_answer
from shared.errors import SwitchboardError
from shared.events import ChatEvent
from shared.wire.framing import Framing

type Record = dict[str, Json]
"""One JSON object of a stream."""


BETWEEN_MESSAGES = "\n\n"
"""What parts a team's messages where clients join all texts of a stream into one."""


class Encoder(TypingProtocol):
    """Turns the events of one answer into the records of its stream. Sans-I/O; keeps what it has to remember."""

    def encode(self, event: ChatEvent) -> Iterable[Record]:
        """The records that this event makes, none or more."""
        ...


def error_text(error: SwitchboardError, invocation_id: str) -> str:
    """What the caller reads: the sentence, and the id that finds the log entry."""
    return f"{error.message} (invocation {invocation_id})"


def error_record(error: SwitchboardError, invocation_id: str) -> Record:
    """What most protocols say of an error: front ends show `error` as it is, so it is a string."""
    return {"error": error_text(error, invocation_id)}


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol: two pure halves and how they are framed."""

    name: str
    """Its name in pinned routes and in `CHAT_DEFAULT_PROTOCOL`."""
    title: str
    """Its name for people."""
    parse: Callable[[Mapping[str, Json]], ChatRequest]
    """A JSON body to a request; raises BadRequest."""
    answer: Callable[[ChatRequest, Answer], Json]
    """A whole answer, or one agent's part of a team's, as one JSON document."""
    encoder: Callable[[ChatRequest], Encoder]
    """The encoder for a streamed answer."""
    framing: Framing
    """How a stream's records are told apart."""
    error: Callable[[SwitchboardError, str], Record] = error_record
    """An error and its invocation id, as a document or the last record of a stream."""
    infer: Callable[[Mapping[str, Json]], bool] = lambda _body: False
    """Whether a body on a bare route can only be this protocol's."""
    aliases: tuple[str, ...] = ()
    """Other names that it goes by."""
    takes_files: bool = False
    """Whether it has a form of request that carries files."""

    def team_answer(self, request: ChatRequest, answer: Answer) -> list[Json]:
        """A team's whole answer: one array with the document of each agent's part, or what that is an array of."""
        turn, late = answer.completion, answer.finished.prompt_filter_results
        turn = replace(turn, prompt_filter_results=turn.prompt_filter_results or late)
        asked = replace(request, conversation_id=request.conversation_id or turn.id)
        parts = [self.answer(asked, agent_answer(message, turn)) for message in answer.messages]
        return [item for part in parts for item in (part if isinstance(part, list) else [part])]


async def stream_bytes(
    protocol: Protocol, request: ChatRequest, batches: AsyncIterable[Sequence[ChatEvent]]
) -> AsyncGenerator[bytes]:
    """Yield one piece of bytes a batch that says something, for one write each; an empty batch is a keep-alive."""
    encoder, framing = protocol.encoder(request), protocol.framing
    async for batch in batches:
        records = [framing.frame(record) for event in batch for record in encoder.encode(event)]
        if records or not batch:
            yield b"".join(records) or framing.keep_alive
