"""No text keeps the event loop busy: each stage that a text goes through there works for a short time at once.

The stages get hostile texts, whole and in pieces. What is measured is the CPU time of this thread, the best of three
tries, so that other work on the machine does not count.
"""

import asyncio
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr

from shared.agents.gate import CallServices
from shared.agents.lane import Lane
from shared.agents.toolbox import Toolbox
from shared.chat_models.chunk_reader import LONGEST_TEXT
from shared.chat_types import ChatRequest, Json, Message, RequestContext, Role
from shared.citations import unverified_citations
from shared.core.citation_links import linked, without_links
from shared.core.fold import fold
from shared.core.followups import FollowupParser
from shared.errors import SwitchboardError
from shared.events import ChatEvent, CompletionStarted, DataPoint, Finished, Retrieved, TextDelta
from shared.guard import Api, Buffer, Side
from shared.guard.clearance import ReleaseQueue
from shared.guard.content_safety.growing_text import GrowingText
from shared.guard.content_safety.service import ContentSafety
from shared.guard.content_safety.session import MOST_TEXTS
from shared.guard.payloads import PayloadReader
from shared.history import NEWEST, Mode, StoredMessage, new_session_id
from shared.history.searching import find_chats
from shared.history.sqlite_history import SqliteHistory
from shared.reading import Page
from shared.reading.readers import with_text
from shared.tools import ToolContext
from shared.tools.arguments import problem_in
from shared.verdicts import kept_answer
from shared.wire.activity import read_activity
from shared.wire.activity_reply import Reply
from shared.wire.framing import encode_json
from shared.wire.protocol import Protocol
from shared.wire.request_body import BODY_LIMIT, JsonReader
from shared.wire.table import PROTOCOLS
from tests import loop_of_routes

AT_ONCE = 0.05
"""Seconds of CPU time that a stage may take before other requests have their turn."""
LONGEST_ANSWER = 512 * 1024
"""Bytes of a model's answer in UTF-8; it may have as many characters."""
LONGEST_CHAT = 8_000_000
"""Bytes of a chat's messages, nearly as many as it may have."""
SLOW_TO_FOLD = "ΐ"
"""A letter that is three when it is folded."""
HOSTILE = (
    " ", "\n", "\r\n", "[", "]", "[a](b", "[a.pdf]", "](", "[x](http://h/a)", "`", "\u0301", "a", "<", "<<a>>",
    "<< ", "a <<b>c>>\n", ". ", '"', "\\", "🦷",
)  # fmt: skip
"""What the texts repeat: white space, brackets, backticks, combining marks, one letter, no letter, parts of markers."""
PIECES = [1, LONGEST_TEXT, *(pytest.param(size, marks=pytest.mark.nightly) for size in (16, 64, 1_000))]
"""Lengths of the pieces in which a text comes; the reader of chunks makes no longer ones."""
QUESTION = ChatRequest(messages=(Message(Role.USER, "What does it pay?"),))
MANY_LINES = "[a.pdf]\n" + "\n".join(map(str, range(10_000, 11_300)))
FOUND = Retrieved(data_points=(DataPoint("a.pdf", "It pays."),), thoughts=())
STARTED = CompletionStarted("id", 1, "model")


def repeated(unit: str, length: int) -> str:
    return unit * (length // len(unit.encode()))


def pieces_of(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def longest[Piece](stage: Callable[[], Callable[[Piece], object]], pieces: Iterable[Piece]) -> tuple[float, float]:
    """Return the CPU seconds of the slowest piece, and those of all, in the best of three tries."""
    tries: list[tuple[float, float]] = []
    for _ in range(3):
        take = stage()
        spent: list[float] = []
        for piece in pieces:
            begun = time.thread_time()
            take(piece)
            spent.append(time.thread_time() - begun)
        tries.append((max(spent), sum(spent)))
        if tries[-1][0] < AT_ONCE / 4:
            break
    return min(slowest for slowest, _ in tries), min(total for _, total in tries)


def followups() -> Callable[[str], object]:
    return FollowupParser().feed


def sentences() -> Callable[[str], object]:
    text = GrowingText(10_000)

    def take(piece: str) -> None:
        text.add(piece)
        while text.take():
            pass

    return take


def release() -> Callable[[str], object]:
    queue: ReleaseQueue[None] = ReleaseQueue()

    def take(piece: str) -> None:
        queue.hold_text(piece)
        queue.take_text(None)

    return take


STREAMED = {"follow-up questions": followups, "sentences for the guard": sentences, "release": release}
"""The stages that take the answer piece by piece."""


@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize("stage", STREAMED.values(), ids=STREAMED)
def test_no_piece_of_an_answer_is_worked_on_for_long_and_all_cost_grows_with_the_length(
    stage: Callable[[], Callable[[str], object]], size: int
) -> None:
    for unit in HOSTILE:
        pieces = pieces_of(repeated(unit, min(1_500 * size, 2**17)), size)
        slowest, half = longest(stage, pieces)
        assert slowest < AT_ONCE, unit
        _, whole = longest(stage, pieces * 2)
        assert whole < 3.5 * half + AT_ONCE, unit


async def test_many_texts_of_one_payload_are_taken_in_a_short_time_and_one_by_one() -> None:
    payload = {"messages": [{"role": "user", "content": "a"}] * MOST_TEXTS}

    async def check() -> None:
        async with ContentSafety("http://127.0.0.1:9", SecretStr("k"), {}, 9).session(
            RequestContext("i", 9e9)
        ) as session:
            await session.send(Buffer(Side.PROMPT, Api.CHAT_COMPLETION, json.dumps(payload)))

    await check()  # imports what it needs
    assert await best_of_three(lambda: slowest_turn(check())) < AT_ONCE


def test_texts_that_a_payload_repeats_are_compared_with_no_more_than_they_repeat() -> None:
    def payload(count: int) -> Buffer:
        choices = [{"index": 0, key: {"content": "a"}} for key in ("delta", "message") for _ in range(count)]
        return Buffer(Side.COMPLETION, Api.CHAT_COMPLETION, json.dumps({"choices": choices}))

    _, half = longest(lambda: PayloadReader().read, [payload(4_000)])
    _, whole = longest(lambda: PayloadReader().read, [payload(8_000)])
    assert whole < 3 * half


CHOICES: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"enum": [*map(str, range(10_000))]}}},
}


def test_arguments_of_a_call_are_checked_and_found_in_what_was_read_within_a_bound() -> None:
    listed: list[Json] = ["9999"] * 2_000
    slowest, _ = longest(lambda: lambda arguments: problem_in(arguments, CHOICES), [{"a": listed}])
    assert slowest < AT_ONCE
    assert problem_in({"a": listed}, CHOICES).startswith("The arguments cannot be checked")
    assert not problem_in({"a": listed[:15]}, CHOICES), "such as a list of countries"
    context = ToolContext(ChatRequest((Message(Role.USER, "Drop it."),)), cast("Any", None), cast("Any", None), 0)
    services = CallServices(cast("Any", None), read=[("a.pdf", "IBAN DE02 1203 " + "some words " * 300_000)])
    toolbox = Toolbox("Ada", [], context, Lane("Ada", None), services)
    arguments: dict[str, Json] = {"names": [f"name {number}" for number in range(2_000)], "to": "DE02 1203"}
    slowest, _ = longest(lambda: toolbox.origins, [arguments])
    assert slowest < AT_ONCE
    assert toolbox.origins(arguments) == {"to": "a.pdf"}


@pytest.mark.parametrize("unit", HOSTILE)
async def test_links_are_made_piece_by_piece(unit: str) -> None:
    async def answer() -> AsyncGenerator[ChatEvent]:
        yield FOUND
        for piece in pieces_of(repeated(unit, 16 * LONGEST_TEXT), LONGEST_TEXT):
            yield TextDelta(piece)

    async def slowest_piece() -> float:
        events, slowest, event = linked(answer(), "http://h/content"), 0.0, True
        while event:
            begun = time.thread_time()
            event = await anext(events, None)
            slowest = max(slowest, time.thread_time() - begun)
        return slowest

    assert await best_of_three(slowest_piece) < AT_ONCE


def said_to_the_bot(text: str) -> str:
    """Read an activity of Teams as large as it may be: its text, the quotes in its HTML, and who is mentioned."""
    own: Json = {"id": "bot"}
    mentions: list[Json] = [
        {"type": "mention", "mentioned": own, "text": f"{text[:9]}{number}"} for number in range(2_000)
    ]
    html: Json = {"contentType": "text/html", "content": text[: 2**17]}
    quotes: list[Json] = [
        {"contentType": "text/html", "content": f"<{tag} itemprop='copy'>" * 6_000} for tag in ("p a", "px")
    ]
    asked: dict[str, Json] = {"type": "message", "conversation": {"id": "c"}, "recipient": own, "text": text[: 2**17]}
    more: list[dict[str, Json]] = [{"entities": mentions}, *({"attachments": [one]} for one in (html, *quotes))]
    return max((read_activity({**asked, **one}).said for one in more), key=len)


def shown_by_the_bot(text: str) -> str:
    """Draw an answer that still grows as Teams shows it."""
    reply = Reply(read_activity({"type": "message", "conversation": {"id": "c"}, "channelId": "msteams"}), None, "a")
    reply.add(FOUND)
    reply.add(TextDelta(text))
    return reply.text


WHOLE: dict[str, Callable[[str], object]] = {
    "what is said to the bot": said_to_the_bot,
    "what the bot shows": shown_by_the_bot,
    "what is kept of an answer": lambda text: kept_answer(QUESTION, MANY_LINES, [DataPoint("a.pdf", text[:200_000])]),
    "citations": lambda text: unverified_citations(text, ["a.pdf"]),
    "links sent back": lambda text: without_links(
        ChatRequest(messages=(Message(Role.ASSISTANT, text), Message(Role.USER, "Why?"))), "http://h"
    ),
    "pages with text": lambda text: with_text([Page(text)]),
}
"""The stages that take a whole text."""


@pytest.mark.parametrize("stage", WHOLE.values(), ids=WHOLE)
def test_a_whole_text_of_the_longest_answer_is_worked_on_for_a_short_time(stage: Callable[[str], object]) -> None:
    for unit in HOSTILE:
        slowest, _ = longest(lambda: stage, [repeated(unit, LONGEST_ANSWER)])
        assert slowest < AT_ONCE, unit


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
async def test_encoders_take_each_piece_and_the_whole_answer_in_a_short_time(protocol: Protocol) -> None:
    for unit in HOSTILE:
        text = repeated(unit, LONGEST_ANSWER)
        events: list[ChatEvent] = [FOUND, STARTED, *map(TextDelta, pieces_of(text, LONGEST_TEXT)), Finished("stop")]

        def encoding() -> Callable[[ChatEvent], object]:
            encode, join = protocol.encoder(QUESTION).encode, protocol.framing.join
            return lambda event: join(list(encode(event)))

        slowest, _ = longest(encoding, events)
        assert slowest < AT_ONCE, unit
        if protocol.answer:
            answer, whole = await fold(_replayed(events)), protocol.answer
            slowest, _ = longest(lambda: lambda _: encode_json(whole(QUESTION, answer)), [None])  # noqa: B023 (called here)
            assert slowest < AT_ONCE, unit


async def _replayed(events: list[ChatEvent]) -> AsyncGenerator[ChatEvent]:
    for event in events:
        yield event


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_body_as_large_as_it_may_be_is_read_in_a_short_time(unit: str) -> None:
    for body in _bodies(unit):
        slowest, _ = longest(lambda: _read, [body])
        assert slowest < AT_ONCE
        if (values := _read(body)) is not None:
            for name, protocol in PROTOCOLS.items():
                slowest, _ = longest(lambda: lambda sent: _parse(protocol, sent), [values])  # noqa: B023 (called here)
                assert slowest < AT_ONCE, name


async def test_chats_are_searched_piece_by_piece(tmp_path: Path) -> None:
    history = SqliteHistory(tmp_path / "history.sqlite")
    text = repeated(SLOW_TO_FOLD, LONGEST_CHAT // 2) + repeated("[a]", LONGEST_CHAT // 2)
    for number in range(4):
        chat = await history.create("o", Mode.STANDARD, "t", new_session_id())
        await history.write("o", chat.id, [StoredMessage("1", Role.USER, f"{text} chat{number}", "now")])

    async def search() -> None:
        words = ["chat0", (2 * SLOW_TO_FOLD).casefold()]
        assert len((await find_chats(history, "o", words, NEWEST))[0]) == 1

    assert await best_of_three(lambda: slowest_turn(search())) < AT_ONCE


async def best_of_three(measure: Callable[[], Awaitable[float]]) -> float:
    """Measure CPU seconds, three times at most: until they are few enough."""
    best = await measure()
    for _ in range(2):
        if best >= AT_ONCE:
            best = min(best, await measure())
    return best


async def slowest_turn(work: Coroutine[None, None, object]) -> float:
    """Do some work; return the CPU seconds of the longest time that it kept the event loop from others."""
    working, slowest = asyncio.create_task(work), 0.0
    while not working.done():
        begun = time.thread_time()
        await asyncio.sleep(0)  # whatever else the loop has to do now
        slowest = max(slowest, time.thread_time() - begun)
    await working
    return slowest


def test_no_route_keeps_the_loop_for_long_whatever_it_is_sent_and_has_kept(tmp_path: Path) -> None:
    key = f"ada:{hashlib.sha256(loop_of_routes.KEY.encode()).hexdigest()}"
    env = {"DATA_DIR": str(tmp_path), "AUTH_MODE": "api-key", "API_KEYS": key}
    command = [sys.executable, "-m", "tests.loop_of_routes"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    walked = [json.loads(line) for line in done.stdout.splitlines()]
    assert {name for name, *_ in walked} == {route.name for route in loop_of_routes.ROUTES}
    for name, method, seconds, statuses in walked:
        assert max(seconds) < AT_ONCE, (name, method)
        assert 500 not in statuses, (name, method, done.stderr)


def _bodies(unit: str) -> Iterator[bytes]:
    """The largest body that asks with such a text, and one of two messages of half its length."""
    escaped = len(json.dumps(unit, ensure_ascii=False).encode()) - 2
    text = unit * ((BODY_LIMIT - 1_000) // escaped)
    half = text[: len(text) // 2]
    conversations: list[list[Json]] = [
        [{"role": "user", "content": text}],
        [{"role": "assistant", "content": half}, {"role": "user", "content": half}],
    ]
    for messages in conversations:
        yield json.dumps({"messages": messages, "input": messages}, ensure_ascii=False).encode()[:BODY_LIMIT]
        yield json.dumps({"messages": messages}, ensure_ascii=False).encode()


def _read(body: bytes) -> dict[str, Json] | None:
    reader = JsonReader()
    with suppress(SwitchboardError):
        reader.feed(body)
        return reader.finish().json
    return None


def _parse(protocol: Protocol, values: dict[str, Json]) -> None:
    with suppress(SwitchboardError):
        protocol.parse(values)
