"""Bodies are received in bounded memory, at a least rate, and each gives back what it used."""

import asyncio
import gc
import math
import weakref
from collections.abc import AsyncGenerator, Iterable
from contextlib import ExitStack

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from shared.errors import BadRequest, Overloaded, TooLarge, TooSlowBody
from shared.web import receiving
from shared.web.receiving import SMALL_BODY_BYTES, BodyBudget, read_body
from shared.wire.request_body import Body, JsonReader

NEVER = b"never"
"""Stands for a piece that does not come."""
LARGE = 100 * 1024


class Upload:
    """A body that arrives in pieces, and what became of it."""

    def __init__(self, *pieces: bytes, declares: int | None = None, ends: bool = True) -> None:
        self.left = list(pieces)
        self._ends = ends
        headers = [] if declares is None else [(b"content-length", str(declares).encode())]
        self.request = Request({"type": "http", "method": "POST", "headers": headers}, self._receive)

    async def _receive(self) -> Message:
        await asyncio.sleep(0)
        if not self.left and not self._ends:
            return {"type": "http.disconnect"}
        piece = self.left.pop(0) if self.left else b""
        if piece is NEVER:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": piece, "more_body": bool(self.left) or not self._ends}

    async def read(self, held: ExitStack, budget: BodyBudget, *, limit: int = 1 << 20, seconds: float = 600) -> Body:
        deadline = asyncio.get_running_loop().time() + seconds
        return await read_body(self.request, lambda: JsonReader(limit), deadline, held, budget)


def json_of(size: int) -> bytes:
    return b'{"a":"' + b"x" * (size - len('{"a":""}')) + b'"}'


def pieces_of(data: bytes, size: int = 10_000) -> Iterable[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.fixture
async def held() -> AsyncGenerator[ExitStack]:
    with ExitStack() as stack:
        yield stack


async def test_a_body_counts_until_it_is_not_needed_any_more() -> None:
    budget = BodyBudget(limit=2 * LARGE)
    for _ in range(3):
        with ExitStack() as one:
            await Upload(*pieces_of(json_of(LARGE))).read(one, budget)
            assert budget.used == LARGE
        assert budget.used == 0


@pytest.mark.parametrize("declares", [LARGE, None])
async def test_a_body_without_room_is_refused_and_its_rest_is_read(held: ExitStack, declares: int | None) -> None:
    budget = BodyBudget(limit=2 * LARGE - 1)
    await Upload(json_of(LARGE)).read(held, budget)
    refused = Upload(*pieces_of(json_of(LARGE)), declares=declares)
    with pytest.raises(Overloaded, match=r"no memory for another upload now. Try again in 10 seconds") as error:
        await refused.read(held, budget)
    assert error.value.retry_after == receiving.RETRY_AFTER_SECONDS
    assert refused.left == []
    assert budget.used == LARGE


async def test_small_bodies_are_read_while_there_is_no_room_for_large_ones(held: ExitStack) -> None:
    budget = BodyBudget(limit=LARGE)
    await Upload(json_of(LARGE)).read(held, budget)
    await Upload(json_of(SMALL_BODY_BYTES)).read(held, budget)
    assert budget.used == LARGE


async def test_what_was_read_of_a_refused_body_leaves_the_memory_before_its_rest_is_read(held: ExitStack) -> None:
    readers: list[weakref.ref[JsonReader]] = []
    in_memory: list[bool] = []

    class Watched(Upload):
        async def _receive(self) -> Message:
            in_memory.append(readers[0]() is not None)
            return await super()._receive()

    def choose() -> JsonReader:
        reader = JsonReader(LARGE)
        readers.append(weakref.ref(reader))
        return reader

    gc.disable()  # which frees what reference cycles hold, but some time later
    try:
        with pytest.raises(TooLarge):
            await read_body(Watched(json_of(LARGE), b"x", b"x").request, choose, math.inf, held)
    finally:
        gc.enable()
    assert in_memory == [True, True, False]


@pytest.mark.parametrize(
    ("upload", "error"),
    [
        (Upload(json_of(LARGE), json_of(1 << 20)), TooLarge),
        (Upload(json_of(LARGE), b"}"), BadRequest),
        (Upload(json_of(LARGE), ends=False), ClientDisconnect),
    ],
    ids=["too large", "no JSON", "the caller leaves"],
)
async def test_a_body_that_cannot_be_read_gives_back_what_it_used(upload: Upload, error: type[Exception]) -> None:
    budget = BodyBudget()
    with ExitStack() as held, pytest.raises(error):
        await upload.read(held, budget)
    assert budget.used == 0


async def test_a_body_that_stops_is_refused(held: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "MAX_PAUSE_SECONDS", 0.05)
    with pytest.raises(TooSlowBody, match="arrives too slowly"):
        await Upload(json_of(LARGE)[:-1], NEVER).read(held, BodyBudget())


async def test_a_body_that_drips_is_refused_however_fast_it_began(
    held: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "MAX_PAUSE_SECONDS", 0.05)
    begun = json_of(LARGE)[:-1]

    class Dripping(Upload):
        async def _receive(self) -> Message:
            if self.left:
                return await super()._receive()
            await asyncio.sleep(0.01)  # 100 bytes a second
            return {"type": "http.request", "body": b" ", "more_body": True}

    with pytest.raises(TooSlowBody):
        await Dripping(begun, ends=False).read(held, BodyBudget())


async def test_a_body_must_be_complete_by_the_deadline_of_its_answer(held: ExitStack) -> None:
    with pytest.raises(TooSlowBody):
        await Upload(json_of(LARGE)[:-1], NEVER).read(held, BodyBudget(), seconds=0.05)
