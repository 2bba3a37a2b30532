"""Signing in with OpenAI's Python package, whose key may be a token, or a function that fetches one."""

import asyncio
from collections.abc import Awaitable, Callable

import openai as sdk
import pytest

from tests.app.identity.conftest import EVERY_DOCUMENT, QUESTION, seen_in
from tests.local.running_host import RunningHost
from tests.stand_ins.entra import ADA, BEN, EntraStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in for the directory."""

type Key = str | Callable[[], Awaitable[str]]


async def answered(host: RunningHost, key: Key) -> str:
    async with sdk.AsyncOpenAI(base_url=f"{host.url}/v1", api_key=key, max_retries=0) as client:
        answer = await client.chat.completions.create(
            model="switchboard",
            messages=[{"role": "user", "content": QUESTION}],
            extra_body={"context": {"overrides": {"top": 50}}},
        )
    return answer.model_dump_json()


async def test_a_function_that_fetches_tokens_is_the_key_and_its_caller_sees_what_is_theirs(
    with_tokens: RunningHost, entra: EntraStandIn
) -> None:
    async def fetch() -> str:
        return entra.token(oid=ADA, groups=[])

    assert seen_in(await answered(with_tokens, fetch)) == {"ADA"}
    assert seen_in(await answered(with_tokens, entra.token(oid=BEN, groups=[]))) == {"BEN"}


async def test_the_package_for_threads_takes_such_a_function_too(with_tokens: RunningHost, entra: EntraStandIn) -> None:
    def models() -> list[str]:
        with sdk.OpenAI(base_url=f"{with_tokens.url}/v1", api_key=entra.token, max_retries=0) as client:
            return [model.id for model in client.models.list()]

    assert "switchboard" in await asyncio.to_thread(models)


@pytest.mark.parametrize("key", ["sk-any", "a.b.c"])
async def test_any_other_key_is_refused_as_the_package_knows_it(with_tokens: RunningHost, key: str) -> None:
    with pytest.raises(sdk.AuthenticationError) as caught:
        await answered(with_tokens, key)
    assert caught.value.type == "authentication_error"
    assert not any(f"secret of {name}" in caught.value.message for name in EVERY_DOCUMENT)
    async with sdk.AsyncOpenAI(base_url=f"{with_tokens.url}/v1", api_key=key, max_retries=0) as client:
        with pytest.raises(sdk.AuthenticationError):
            await client.models.list()
