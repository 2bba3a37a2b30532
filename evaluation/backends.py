"""The backends: what is asked over HTTP, and how an answer is read, in each protocol that is understood.

Sources: ai-chat-protocol; OpenAI API reference, 'Chat completions', with the `context` of Azure's 'On Your Data'.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from copy import replace
from dataclasses import dataclass
from typing import cast

import aiohttp
import msgspec

from shared.citations import citations_in

MOST_BYTES = 8_000_000
"""Of an answer."""
_TRIES = 4
_LONGEST_WAIT = 60.0
"""Seconds that a backend may ask to wait before the next try."""
_NUMBERED = re.compile(r"\[doc(\d{1,3})\]")
"""How 'On Your Data' cites: the number of a source, from 1."""

type Object = Mapping[str, object]
type Message = Mapping[str, str]


class NoAnswer(Exception):
    """A question was not answered; the message says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """What an answer was made from."""

    name: str
    """As answers cite it."""
    text: str = ""
    """Its text; empty: the backend does not say."""
    aliases: tuple[str, ...] = ()
    """Other names, such as its file or URL."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    text: str
    """What the user reads."""
    sources: tuple[Source, ...] = ()
    """In their order."""
    cited: tuple[str, ...] = ()
    """Names that the text cites, each once: in brackets, or by an annotation."""
    model: str = ""
    """Its name; empty: not known."""
    tokens: tuple[int, int] | None = None
    """Read and written; None: not counted."""
    prompt: str = ""
    """The version of the prompt; empty: not known."""
    shown: tuple[str, ...] = ()
    """The messages of the prompt; empty: not known."""
    is_answer: bool = True
    """False if the backend says that it has no answer, as the built-in model does of a nearest passage."""
    seconds: float = 0.0
    """From the request to the last byte, of the try that succeeded."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A protocol."""

    path: str
    """Below the base URL."""
    read: Callable[[Object], Reply]
    """Reads an answer."""
    names_model: bool = False
    """Whether requests name a model."""
    ranks: bool = False
    """Whether `…/stream` takes `overrides.top` and sends the sources first."""


class Backend:
    """Asks a backend.

    Args:
        session: For the requests; its headers and its time limit hold.
        base: The URL below which its routes are.
        protocol: A name of `PROTOCOLS`.
        model: The model that requests name, where the protocol has that; empty: `switchboard`.
    """

    def __init__(self, session: aiohttp.ClientSession, base: str, protocol: str, model: str = "") -> None:
        self._session = session
        self._wire = PROTOCOLS[protocol]
        self._url = f"{base.rstrip('/')}/{self._wire.path}"
        self._keys = {"model": model or "switchboard"} if self._wire.names_model else {}

    async def converse(self, questions: Sequence[str]) -> list[Message]:
        """Ask questions one after the other; return the conversation.

        Raises:
            NoAnswer: as `ask` does.
        """
        said: list[Message] = []
        for question in questions:
            reply = await self.ask(question, said)
            said += [{"role": "user", "content": question}, {"role": "assistant", "content": reply.text}]
        return said

    async def ask(self, question: str, before: Sequence[Message] = ()) -> Reply:
        """Ask for an answer, in a conversation with earlier messages.

        Raises:
            NoAnswer: there is none, or it cannot be read.
        """
        async with self._answer(self._url, question, before) as (response, begun):
            body = await _body(response)
            seconds = asyncio.get_running_loop().time() - begun
        return replace(self._wire.read(_object(body)), seconds=seconds)

    async def ranking(self, question: str, depth: int, before: Sequence[Message] = ()) -> tuple[Source, ...]:
        """Ask for more sources than the answer is made from, and leave as soon as they are there.

        Returns:
            Up to `depth` sources; none where the protocol has no such request.

        Raises:
            NoAnswer: the backend refuses it.
        """
        if not self._wire.ranks:
            return ()
        more: Object = {"context": {"overrides": {"top": depth}}}
        stream = self._answer(f"{self._url}/stream", question, before, more)
        async with stream as (response, _), aclosing(_lines(response)) as lines:
            async for line in lines:
                answer = _object(line)
                if "context" in answer or "delta" not in answer:  # else it is sent while the search takes its time
                    return self._wire.read(answer).sources[:depth]
        return ()

    @asynccontextmanager
    async def _answer(
        self, url: str, question: str, before: Sequence[Message], more: Object | None = None
    ) -> AsyncGenerator[tuple[aiohttp.ClientResponse, float]]:
        """Send a question; yield the response and when it was sent. A backend that asks to wait is asked again."""
        body = {"messages": [*before, {"role": "user", "content": question}], **self._keys, **(more or {})}
        for tries_left in reversed(range(_TRIES)):
            begun = asyncio.get_running_loop().time()
            try:
                async with self._session.post(url, json=body) as response:
                    wait = _wait(response) if tries_left else None
                    if wait is None:
                        if response.status != 200:
                            raise NoAnswer(_refusal(response, await _body(response)))
                        yield response, begun
                        return
            except TimeoutError:
                raise NoAnswer("it did not answer in time (--timeout)") from None
            except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as fault:
                raise NoAnswer(f"it cannot be reached: {_words(fault)}") from None
            await asyncio.sleep(wait)


def _wait(response: aiohttp.ClientResponse) -> float | None:
    """Seconds to wait before the next try; None: this is the answer."""
    if response.status not in (429, 503):
        return None
    asked = response.headers.get("Retry-After", "1")
    return min(float(asked), _LONGEST_WAIT) if asked.isdecimal() else 1.0


def _refusal(response: aiohttp.ClientResponse, body: bytes) -> str:
    """Say what a response that is no answer says."""
    try:
        error = _dig(_object(body), "error")
    except NoAnswer:
        error = None
    said = error if isinstance(error, str) else _dig(error, "message")
    return f"status {response.status}" + (f": {said[:300]}" if isinstance(said, str) else "")


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """The whole body.

    Raises:
        NoAnswer: it is too long, or HTML.
    """
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > MOST_BYTES:
            raise NoAnswer(f"its answer has more than {MOST_BYTES:,} bytes")
    if response.status == 200 and response.content_type == "text/html":
        raise NoAnswer("it answers with a page of HTML: is that the URL of a chat backend?")
    return bytes(body)


async def _lines(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
    """The lines of a stream, without blank ones, up to the most bytes of an answer."""
    begun, read = b"", 0
    async for piece in response.content.iter_any():
        read += len(piece)
        if read > MOST_BYTES:
            return
        *whole, begun = (begun + piece).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
    if begun.strip():
        yield begun


def _words(fault: BaseException) -> str:
    return str(fault).strip() or type(fault).__name__


def _object(raw: bytes) -> Object:
    try:
        return msgspec.json.decode(raw, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NoAnswer("its answer is no JSON object") from None


def _dig(found: object, *keys: str | int) -> object:
    """Follow keys and indexes into JSON; None where there is nothing."""
    for key in keys:
        if isinstance(found, dict) and isinstance(key, str):
            found = cast("Object", found).get(key)
        elif isinstance(found, list) and isinstance(key, int) and key < len(cast("list[object]", found)):
            found = cast("list[object]", found)[key]
        else:
            return None
    return found


def _items(found: object) -> list[object]:
    return cast("list[object]", found) if isinstance(found, list) else []


def _texts(found: Iterable[object]) -> list[str]:
    return [one for one in found if isinstance(one, str) and one]


def _tokens(usage: object) -> tuple[int, int] | None:
    counts = [_dig(usage, key) for key in ("prompt_tokens", "completion_tokens")]
    return (counts[0], counts[1]) if isinstance(counts[0], int) and isinstance(counts[1], int) else None


def _cited(text: str, sources: Iterable[Source], annotated: Iterable[str] = ()) -> tuple[str, ...]:
    """The sources that a text cites, by the names of the sources."""
    sources = tuple(sources)
    names = {alias: source.name for source in reversed(sources) for alias in (source.name, *source.aliases)}
    numbered = [sources[int(n) - 1].name for n in _NUMBERED.findall(text) if 0 < int(n) <= len(sources)]
    bracketed = [names[place[1]] for place in citations_in(text) if place[1] in names]
    return tuple(dict.fromkeys([*(names.get(name, name) for name in annotated), *numbered, *bracketed]))


def _read_ai_chat(answer: Object) -> Reply:
    context = answer.get("context")
    lines = _texts(_items(_dig(context, "data_points", "text")))
    names = sorted(_texts(_items(_dig(context, "data_points", "citations"))), key=len, reverse=True)
    sources = tuple(_named_line(line, names) for line in lines)
    text = _dig(answer, "message", "content")
    if not isinstance(text, str):
        if context is None:
            raise NoAnswer("its answer has no `message` with a `content`: is it another protocol (--protocol)?")
        text = ""  # the first line of a stream
    thoughts = _items(_dig(context, "thoughts"))
    model, prompt = _dig(context, "model"), _prompt_version(thoughts)
    return Reply(
        text,
        sources,
        _cited(text, sources),
        model if isinstance(model, str) else "",
        _tokens(_dig(context, "usage")),
        prompt,
        tuple(text for thought in thoughts for text in _texts(_prompt_of(thought))),
        all(_dig(thought, "props", "kind") not in ("nearest", "nothing") for thought in thoughts),
    )


def _named_line(line: str, names: Iterable[str]) -> Source:
    """Split `name: text`, by a name that the answer lists, since names may hold a colon too; longer ones come first."""
    name = next((name for name in names if line.startswith(f"{name}: ")), line.partition(": ")[0])
    return Source(name, line[len(name) + 2 :])


def _prompt_of(thought: object) -> list[object]:
    """The texts of the prompt, of the thought that shows it."""
    messages = _items(_dig(thought, "description")) if _dig(thought, "title") == "Prompt" else []
    return [_dig(message, "content") for message in messages]


def _prompt_version(thoughts: Iterable[object]) -> str:
    versions = (_dig(thought, "props", "version") for thought in thoughts)
    return next((version for version in versions if isinstance(version, str)), "")


def _read_openai(answer: Object) -> Reply:
    message = _dig(answer, "choices", 0, "message")
    text = _dig(message, "content")
    if not isinstance(text, str):
        raise NoAnswer("its answer has no `choices` with a `message`: is it another protocol (--protocol)?")
    annotations = [_dig(one, "url_citation") for one in _items(_dig(message, "annotations"))]
    annotated = [_texts((_dig(one, "title"), _dig(one, "url"))) for one in annotations]
    sources = [_cited_source(one) for one in _items(_dig(message, "context", "citations"))]
    if not sources:  # then the annotations are all that is known of them
        sources = [Source(names[0], "", tuple(names[1:])) for names in dict.fromkeys(map(tuple, annotated)) if names]
    model = answer.get("model")
    return Reply(
        text,
        tuple(sources),
        _cited(text, sources, [names[0] for names in annotated if names]),
        model if isinstance(model, str) else "",
        _tokens(answer.get("usage")),
    )


def _cited_source(found: object) -> Source:
    names = _texts(_dig(found, key) for key in ("title", "filepath", "url"))
    text = _dig(found, "content")
    return Source(names[0] if names else "", text if isinstance(text, str) else "", tuple(names[1:]))


PROTOCOLS: Mapping[str, Wire] = {
    "ai-chat": Wire("chat", _read_ai_chat, ranks=True),
    "openai": Wire("chat/completions", _read_openai, names_model=True),
}
"""By name."""
