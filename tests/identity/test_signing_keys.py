"""The tenant's keys: fetched once for all who wait, kept, and asked for no more often than needed."""

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from shared.errors import NotSignedIn, Unavailable
from shared.identity.signing_keys import SigningKeys
from tests.stand_ins.entra import EntraStandIn


@pytest.fixture
async def entra() -> AsyncGenerator[EntraStandIn]:
    async with EntraStandIn() as entra:
        yield entra


@asynccontextmanager
async def keys_of(
    entra: EntraStandIn, *, age: float = 3600, pause: float = 0, interval: float = 0
) -> AsyncGenerator[SigningKeys]:
    keys = SigningKeys(entra.keys_url, age=age, pause=pause, interval=interval)
    try:
        yield keys
    finally:
        await keys.aclose()


async def test_requests_at_the_same_time_fetch_once_and_later_ones_not_at_all(entra: EntraStandIn) -> None:
    entra.gate = asyncio.Event()
    async with keys_of(entra) as keys:
        waiting = [asyncio.create_task(keys.key("key-0")) for _ in range(50)]
        await entra.arrived.wait()
        entra.gate.set()
        assert {key.key_id for key in await asyncio.gather(*waiting)} == {"key-0"}
        await keys.key("key-0")
    assert entra.requests == 1


async def test_who_gives_up_waiting_takes_the_keys_from_nobody(entra: EntraStandIn) -> None:
    entra.gate = asyncio.Event()
    async with keys_of(entra) as keys:
        leaves, stays = (asyncio.create_task(keys.key("key-0")) for _ in range(2))
        await entra.arrived.wait()
        leaves.cancel()
        entra.gate.set()
        assert (await stays).key_id == "key-0"
    assert entra.requests == 1


async def test_a_flood_of_forged_keys_is_not_a_flood_of_requests(entra: EntraStandIn) -> None:
    async with keys_of(entra, interval=0.1) as keys:
        for _ in range(3):
            refused = await asyncio.gather(*(keys.key(f"forged-{n}") for n in range(200)), return_exceptions=True)
            assert {type(error) for error in refused} == {NotSignedIn}
        assert (await keys.key("key-0")).key_id == "key-0"
    assert entra.requests == 3


async def test_a_forged_key_keeps_nobody_out_who_has_a_new_one(entra: EntraStandIn) -> None:
    async with keys_of(entra, pause=3600, interval=0.1) as keys:
        with pytest.raises(NotSignedIn, match="a key that the tenant does not have"):
            await keys.key("forged")
        entra.rotate()
        assert (await keys.key("key-1")).key_id == "key-1"
    assert entra.requests == 2


async def test_keys_are_asked_for_unpacked_and_packed_ones_are_none(entra: EntraStandIn) -> None:
    async with keys_of(entra) as keys:
        entra.fail(200, gzip.compress(entra.document), {"Content-Encoding": "gzip"})
        with pytest.raises(Unavailable):
            await keys.key("key-0")
        assert entra.accepted == "identity"


async def test_a_new_key_is_fetched_when_a_token_names_it_and_the_old_one_is_gone(entra: EntraStandIn) -> None:
    async with keys_of(entra) as keys:
        await keys.key("key-0")
        entra.rotate()
        assert (await keys.key("key-1")).key_id == "key-1"
        with pytest.raises(NotSignedIn):
            await keys.key("key-0")


async def test_a_directory_that_is_down_leaves_the_known_keys_in_use(
    entra: EntraStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    async with keys_of(entra, age=0) as keys:
        await keys.key("key-0")
        entra.go_down()
        for _ in range(3):
            assert (await keys.key("key-0")).key_id == "key-0"
        with pytest.raises(NotSignedIn):
            await keys.key("key-1")
    assert "the tenant's signing keys cannot be fetched" in caplog.text


async def test_keys_that_are_old_serve_while_new_ones_are_fetched(entra: EntraStandIn) -> None:
    async with keys_of(entra, age=0) as keys:
        await keys.key("key-0")
        entra.arrived.clear()
        entra.gate = asyncio.Event()
        assert (await keys.key("key-0")).key_id == "key-0"
        assert entra.requests == 1
        await entra.arrived.wait()
        assert entra.requests == 2


async def test_without_any_keys_nobody_can_be_checked_until_the_directory_is_back(entra: EntraStandIn) -> None:
    async with keys_of(entra) as keys:
        entra.fail(503)
        with pytest.raises(Unavailable, match="AUTH_AUTHORITY"):
            await keys.key("key-0")
        assert (await keys.key("key-0")).key_id == "key-0"
    async with keys_of(entra, pause=3600) as keys:
        entra.fail(503)
        for _ in range(3):
            with pytest.raises(Unavailable):
                await keys.key("key-0")
    assert entra.requests == 3


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (302, b""),
        (404, b"{}"),
        (200, b""),
        (200, b"<html>"),
        (200, b"\xff"),
        (200, b"[]"),
        (200, b'{"keys": {}}'),
        (200, b'{"keys": []}'),
        (200, b'{"keys": ["a"]}'),
        (200, b'{"keys": [{"kty": "RSA", "kid": "key-0"}]}'),
        (200, b'{"keys": [{"kty": "RSA", "kid": "key-0", "n": 1, "e": []}]}'),
        (200, b'{"keys": [{"kty": "oct", "kid": "key-0", "k": "c2VjcmV0"}]}'),
        (200, b'{"keys": ' + b"[" * 100_000),
    ],
)
async def test_what_are_no_keys_of_a_tenant_is_not_taken_for_some(
    entra: EntraStandIn, status: int, body: bytes
) -> None:
    async with keys_of(entra) as keys:
        entra.fail(status, body)
        with pytest.raises(Unavailable):
            await keys.key("key-0")


@pytest.mark.parametrize(
    "odd",
    [
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": []},
        {"use": "enc"},
        {"kty": "EC"},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kid": 1},
        {"kid": ""},
        {"n": "*", "kid": "key-1"},
        {"n": None, "e": 1, "kid": "key-1"},
    ],
)
async def test_a_key_that_is_none_is_left_out_and_those_beside_it_count(
    entra: EntraStandIn, odd: dict[str, Any]
) -> None:
    [key] = json.loads(entra.document)["keys"]
    entra.fail(200, json.dumps({"keys": [key | {"kid": "key-1"} | odd, key]}).encode())
    async with keys_of(entra, pause=3600) as keys:
        assert (await keys.key("key-0")).key_id == "key-0"
        with pytest.raises(NotSignedIn):
            await keys.key("key-1")


async def test_keys_count_only_in_a_whole_answer_of_the_directory_itself(entra: EntraStandIn) -> None:
    async with keys_of(entra) as keys:
        for status, body in ((302, entra.document), (404, entra.document), (200, entra.document + b" " * 1024 * 1024)):
            entra.fail(status, body)
            with pytest.raises(Unavailable):
                await keys.key("key-0")


async def test_a_directory_that_cannot_be_reached_is_no_fault_of_ours() -> None:
    keys = SigningKeys("http://127.0.0.1:1/keys")
    with pytest.raises(Unavailable):
        await keys.key("key-0")
    await keys.aclose()
