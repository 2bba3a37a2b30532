"""OpenAI's Python package as its users configure it, and what tests of several parts ask and read with it."""

import base64
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import openai as sdk
from openai.types.chat import ChatCompletionChunk
from pydantic import BaseModel

from shared.core.fold import notice_of
from shared.events import Finished
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost

CERTIFICATES = ssl.create_default_context()
"""Read once for all clients: that takes longer than most tests."""
MODEL, TEAM = "switchboard", "switchboard-team"
ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c626001000000ffff030000060005"
        "57bfabd40000000049454e44ae426082"
    )
).decode()
FILTERED = notice_of(Finished("content_filter"))
"""Follows a text that a filter has ended, for people whose page does not show why it ends."""
FOLLOWUPS = {"context": {"overrides": {"suggest_followup_questions": True}}}


class Cover(BaseModel):
    """What a program wants to know, as the package makes a schema of it."""

    share: int
    note: str


COVER = '{"share":80,"note":"[sic]"}'


@asynccontextmanager
async def client_of(host: RunningHost) -> AsyncGenerator[sdk.AsyncOpenAI]:
    """The package as its users configure it: the URL, any key, and no retries, which would hide a status."""
    http = sdk.DefaultAsyncHttpxClient(verify=CERTIFICATES)
    async with sdk.AsyncOpenAI(
        base_url=f"{host.url}/v1", api_key="any", max_retries=0, timeout=60, http_client=http
    ) as client:
        yield client


def extra(found: Any, key: str) -> Any:
    """A key that the package's types do not have."""
    return getattr(found, key, None)


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def streamed(client: sdk.AsyncOpenAI, question: str) -> tuple[list[ChatCompletionChunk], sdk.APIError | None]:
    """The chunks of a stream, and the error that ended it."""
    chunks: list[ChatCompletionChunk] = []
    try:
        async for chunk in await client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": question}], stream=True
        ):
            chunks.append(chunk)  # noqa: PERF401 (an exception may end it)
    except sdk.APIError as error:
        return chunks, error
    return chunks, None
