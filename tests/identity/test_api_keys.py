"""Callers by the API key that they send: one of those whose hashes are set, and no other."""

import gc
import secrets
import tracemalloc
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from local.api_key_command import new_key
from shared.chat_types import Caller
from shared.errors import NotSignedIn
from shared.identity.api_keys import ApiKeys
from shared.settings import Settings

REPORT, FLOWS = new_key(), new_key()
IDENTITY = ApiKeys.from_settings(
    Settings.read({"AUTH_MODE": "api-key", "API_KEYS": f"report:{REPORT[1]}, flows:{FLOWS[1].upper()}:staff:board,"})
)


async def refusal(headers: dict[str, str] | Headers, identity: ApiKeys = IDENTITY) -> tuple[str, bool]:
    with pytest.raises(NotSignedIn) as refused:
        await identity.caller(headers)
    return refused.value.message, refused.value.refused


async def test_each_key_is_a_caller_by_its_name_with_the_groups_that_the_setting_gives_it() -> None:
    assert await IDENTITY.caller({"Authorization": f"Bearer {REPORT[0]}"}) == Caller(key="report")
    assert await IDENTITY.caller({"Authorization": f"Bearer {FLOWS[0]}"}) == Caller(
        key="flows", groups=("staff", "board")
    )


@pytest.mark.parametrize("name", ["authorization", "Authorization", "AUTHORIZATION"])
@pytest.mark.parametrize("value", ["Bearer {}", "bearer {}", "BEARER   {}  "])
async def test_header_and_scheme_may_have_any_case(name: str, value: str) -> None:
    assert (await IDENTITY.caller({name: value.format(REPORT[0])})).key == "report"


def test_a_new_key_has_256_bits_that_no_other_has_and_its_hash_is_plain_sha256() -> None:
    made = [new_key() for _ in range(1000)]
    assert len({key for key, _ in made}) == 1000
    assert {(len(key), key[:12]) for key, _ in made} == {(55, "switchboard_")}
    assert all(digest == sha256(key.encode()).hexdigest() for key, digest in made)


async def test_every_refusal_is_the_same() -> None:
    key, digest = REPORT
    said = await refusal({})
    for value in (
        "",
        "Bearer",
        "Bearer ",
        key,
        f"Basic {key}",
        f"Bearer{key}",
        f"Bearer {digest}",
        f"Bearer {key[:-1]}",
        f"Bearer {key}x",
        f"Bearer {key.lower()}",
        f"Bearer {key} {key}",
        f"Bearer {key},{key}",
        f"Bearer {key}\u00e9",
        f"Bearer {'é' * 55}",
        f"Bearer {key[12:]}",
        f"Bearer {new_key()[0]}",
        f"Bearer {'x' * 1_000_000}",
        f"Bearer {' ' * 1_000_000}{key}",
    ):
        assert await refusal({"Authorization": value}) == said, value[:80]
    twice = Headers(raw=[(b"authorization", f"Bearer {one}".encode()) for one in (key, FLOWS[0])])
    assert await refusal(twice) == said
    same = Headers(raw=[(b"authorization", f"Bearer {key}".encode())] * 2)
    assert await refusal(same) == said
    for other in ("x-api-key", "api-key", "x-functions-key", "x-ms-client-principal"):
        assert await refusal({other: key}) == said


async def test_without_a_key_nobody_gets_in_even_where_the_hash_of_nothing_is_set() -> None:
    identity = ApiKeys({sha256(b"").digest(): Caller(key="nobody")})
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Basic x"}):
        await refusal(headers, identity)


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
async def test_no_header_is_anything_but_refused(value: str) -> None:
    await refusal({"Authorization": value})
    await refusal({"Authorization": f"Bearer {value}"})


async def test_ten_thousand_wrong_keys_leave_nothing_behind_and_lock_nobody_out() -> None:
    async def attempts(count: int) -> None:
        for _ in range(count):
            with pytest.raises(NotSignedIn):
                await IDENTITY.caller({"Authorization": f"Bearer switchboard_{secrets.token_urlsafe(32)}"})

    await attempts(100)
    gc.collect()
    tracemalloc.start()
    try:
        await attempts(10_000)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000  # ten bytes for each would be that much
    assert (await IDENTITY.caller({"Authorization": f"Bearer {REPORT[0]}"})).key == "report"
