"""Files in the JSON of a request, as OpenAI's Python package and the clients of AG-UI and the AI SDK send them."""

import base64
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import openai as sdk
import pytest
from PIL import Image

from shared.wire.request_body import BODY_LIMIT, FILES_BODY_LIMIT
from tests.app.openai_sdk import MODEL, client_of
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

PDF = (Path(__file__).parents[1] / "reading" / "files" / "three-pages.pdf").read_bytes()
NOTES = "The code word is kingfisher."


def photo() -> bytes:
    """A JPEG of some two megabytes, as a telephone takes it."""
    noise = random.Random(1).randbytes(3 * 1_600 * 1_250)  # noqa: S311 (no secret)
    file = io.BytesIO()
    Image.frombytes("RGB", (1_600, 1_250), noise).save(file, "JPEG", quality=90)
    assert 1_500_000 < file.tell() < 3_000_000
    return file.getvalue()


PHOTO = photo()


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url_of(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64_of(data)}"


def completed(*files: tuple[bytes, str, str], question: str = "What is it?") -> Any:
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": url_of(data, kind)}}
        if kind.startswith("image/")
        else {"type": "file", "file": {"file_data": url_of(data, kind), "filename": name}}
        for data, kind, name in files
    ]
    return {"messages": [{"role": "user", "content": [*parts, {"type": "text", "text": question}]}]}


def responded(*files: tuple[bytes, str, str], question: str = "What is it?") -> Any:
    parts: list[dict[str, Any]] = [
        {"type": "input_image", "image_url": url_of(data, kind), "detail": "auto"}
        if kind.startswith("image/")
        else {"type": "input_file", "file_data": url_of(data, kind), "filename": name}
        for data, kind, name in files
    ]
    return {"input": [{"role": "user", "content": [*parts, {"type": "input_text", "text": question}]}]}


def run(*files: tuple[bytes, str, str], question: str = "What is it?") -> Any:
    parts = [
        {
            "type": "image" if kind.startswith("image/") else "document",
            "source": {"type": "data", "value": base64_of(data), "mimeType": kind},
            "metadata": {"filename": name},
        }
        for data, kind, name in files
    ]
    return {"messages": [{"id": "1", "role": "user", "content": [*parts, {"type": "text", "text": question}]}]}


def chatted(*files: tuple[bytes, str, str], question: str = "What is it?") -> Any:
    parts = [{"type": "file", "url": url_of(data, kind), "filename": name} for data, kind, name in files]
    return {"messages": [{"id": "1", "role": "user", "parts": [*parts, {"type": "text", "text": question}]}]}


ROUTES = pytest.mark.parametrize(
    ("route", "asking"),
    [("/v1/chat/completions", completed), ("/v1/responses", responded), ("/ag-ui", run), ("/ai-sdk/chat", chatted)],
)

TOO_LARGE = {"/ag-ui": 200}
"""The status of a body that is too large, where it is not 413: AG-UI's clients read the stream alone."""


def prompt_of(openai: OpenAIStandIn) -> str:
    return json.dumps(openai.chats[-1].body["messages"])


async def test_openais_package_sends_a_pdf_and_a_photo_of_two_megabytes(
    app: RunningHost, openai: OpenAIStandIn
) -> None:
    files = [(PDF, "application/pdf", "plan.pdf"), (PHOTO, "image/jpeg", "")]
    async with client_of(app) as client:
        openai.reply("A plan and a photo.")
        whole = await client.chat.completions.create(model=MODEL, messages=completed(*files)["messages"])
        assert whole.choices[0].message.content == "A plan and a photo."
        prompt = prompt_of(openai)
        assert r"Name: plan.pdf\n\n(page 1)\n" in prompt
        assert base64_of(PHOTO) in prompt
        openai.reply("A plan and a photo.")
        answer = await client.responses.create(model=MODEL, input=responded(*files)["input"])
        assert answer.output_text == "A plan and a photo."
        assert prompt_of(openai) == prompt


async def test_a_file_without_a_media_type_is_read_by_its_name(built_in: RunningHost) -> None:
    file = {"file_data": base64_of(NOTES.encode()), "filename": "C:\\notes\\notes.txt"}
    async with client_of(built_in) as client:
        asked: list[Any] = [{"type": "text", "text": "What is the code word?"}, {"type": "file", "file": file}]
        whole = await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": asked}])
        assert whole.choices[0].message.content == f"{NOTES} [notes.txt]"
        parts: Any = [{"type": "input_text", "text": "What is the code word?"}, {"type": "input_file", **file}]
        answer = await client.responses.create(model=MODEL, input=[{"role": "user", "content": parts}])
        assert answer.output_text == f"{NOTES} [notes.txt]"


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        ("$$", "a.pdf", "messages[0].content[0].file.file_data: should be the file in base64"),
        ("", "a.pdf", "should be the file in base64"),
        ("data:application/pdf,Hi", "a.pdf", "should be the file in base64, as a data: URL; nothing is fetched"),
        (base64_of(b"no pdf"), "a.pdf", "('a.pdf') is damaged"),
        (base64_of(PDF[:2_000]), "a.pdf", "('a.pdf') is damaged"),
        (base64_of(PDF), "a.zip", "which cannot be read. Send PDF"),
        (base64_of(PDF), None, "no content-type and no known file name"),
        (url_of(PHOTO, "application/pdf"), "a.pdf", "but its bytes are image/jpeg"),
    ],
)
async def test_a_file_that_cannot_be_read_is_told_why(
    built_in: RunningHost, data: str, name: str | None, words: str
) -> None:
    file = {"file_data": data, "filename": name}
    asked: list[Any] = [{"type": "file", "file": file}, {"type": "text", "text": "What is it?"}]
    async with client_of(built_in) as client:
        with pytest.raises(sdk.BadRequestError) as refused:
            await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": asked}])
    assert words in refused.value.message


async def test_no_file_is_read_for_tools_that_nobody_can_call(built_in: RunningHost) -> None:
    file = {"file_data": base64_of(PDF[:2_000]), "filename": "a.pdf"}
    asked: list[Any] = [{"type": "file", "file": file}, {"type": "text", "text": "What is it?"}]
    tool: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    async with client_of(built_in) as client:
        with pytest.raises(sdk.BadRequestError) as refused:
            await client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": asked}], tools=[tool], tool_choice="required"
            )
    assert "calls no tools" in refused.value.message


async def test_a_file_in_a_message_that_is_not_the_users_is_a_400(built_in: RunningHost) -> None:
    file = {"type": "file", "file": {"file_data": url_of(NOTES.encode(), "text/plain"), "filename": "notes.txt"}}
    said: list[Any] = [{"role": "system", "content": [file]}, {"role": "user", "content": "What is it?"}]
    async with client_of(built_in) as client:
        with pytest.raises(sdk.BadRequestError, match="files go with the user's"):
            await client.chat.completions.create(model=MODEL, messages=said)


@ROUTES
async def test_a_body_with_files_may_be_larger_than_one_without(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, route: str, asking: Callable[..., Any]
) -> None:
    padding = b" " * (FILES_BODY_LIMIT * 3 // 4 - len(PHOTO) - 2_000)
    files = ((PHOTO, "image/jpeg", "photo.jpg"), (NOTES.encode() + padding, "text/plain", "notes.txt"))
    whole = json.dumps(asking(*files)).encode()
    assert FILES_BODY_LIMIT - 4_000 < len(whole) < FILES_BODY_LIMIT
    for size, fits in ((FILES_BODY_LIMIT, True), (FILES_BODY_LIMIT + 1, False)):
        openai.reply("A photo and notes.") if fits else None
        async with http.post(app.url + route, data=io.BytesIO(whole.ljust(size))) as response:
            said = await response.text()
        assert response.status == (200 if fits else TOO_LARGE.get(route, 413)), said
        assert ("8,388,608 bytes" in said) == (not fits)
        if fits:
            prompt = prompt_of(openai)
            assert base64_of(PHOTO) in prompt
            assert f"Name: notes.txt\\n\\n{NOTES}" in prompt


@ROUTES
async def test_the_rest_of_a_body_with_files_is_as_small_as_ever(
    built_in: RunningHost, http: aiohttp.ClientSession, route: str, asking: Callable[..., Any]
) -> None:
    files = (NOTES.encode() + b" " * 1_000_000, "text/plain", "notes.txt")
    for blanks, fits in ((BODY_LIMIT - 2_000, True), (BODY_LIMIT, False)):
        body = json.dumps(asking(files, question="What is the code word?") | {"more": " " * blanks}).encode()
        async with http.post(built_in.url + route, data=io.BytesIO(body)) as response:
            said = await response.text()
        assert response.status == (200 if fits else TOO_LARGE.get(route, 413)), said
        assert ("over 1,048,576 bytes without its files" in said) == (not fits)


async def test_protocols_without_files_in_json_take_no_larger_body(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "Hello?"}], "more": " " * BODY_LIMIT}).encode()
    async with http.post(built_in.url + "/chat", data=io.BytesIO(body)) as response:
        assert response.status == 413
        assert "over 1,048,576 bytes" in await response.text()
