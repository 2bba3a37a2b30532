"""Requests with files against the running app: by Microsoft's client, and byte by byte."""

import asyncio
import json
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from shared.web.receiving import MAX_BODY_BYTES_IN_MEMORY
from shared.wire.multipart import FILE_LIMIT
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import QUESTION, body, read_lines, without_ids
from tests.clients.ai_chat_protocol import ask, sent_file
from tests.local.running_host import RunningHost
from tests.stand_ins.dropping_openai import DroppingOpenAI
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("npm_clients")]
"""One loop with the stand-in that the tests script."""

ROUTE = "/ai-chat-2024-05-29/chat"
PDF = Path(__file__).parents[1] / "reading" / "files" / "three-pages.pdf"
PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
NOTES = "The code word is Kürbis."
BOUNDARY = "boundary-of-the-test"


def form(*files: tuple[str, str, bytes], said: Any = None) -> aiohttp.MultipartWriter:
    """A form as a browser would send it; files are (part, content type, bytes)."""
    writer = aiohttp.MultipartWriter("form-data", boundary=BOUNDARY)
    writer.append_json(said or body()).set_content_disposition("form-data", name="json")
    for name, content_type, data in files:
        part = writer.append(BytesIO(data), {"content-type": content_type})
        part.set_content_disposition("form-data", quote_fields=False, name=name)
    return writer


def content_of(openai: OpenAIStandIn) -> Any:
    """The last message of the model's last prompt."""
    messages = openai.chats[-1].body["messages"]
    assert isinstance(messages, list)
    last = messages[-1]
    assert isinstance(last, dict)
    return last["content"]


@pytest.mark.parametrize("kind", ["answer", "stream"])
async def test_microsofts_client_sends_an_image_and_a_text(app: RunningHost, openai: OpenAIStandIn, kind: str) -> None:
    openai.reply("A pumpkin.")
    files = [sent_file("image/png", PNG), sent_file("text/plain", NOTES.encode(), "notes.txt")]
    message = {"role": "user", "content": QUESTION, "files": files}
    outcome = await ask(app.url + ROUTE, kind, [message], sessionState={"id": 1})
    assert outcome.thrown is None
    said = outcome.records[0] if kind == "answer" else outcome.records[1]
    assert said["message" if kind == "answer" else "delta"]["content"] == "A pumpkin."
    assert outcome.records[0]["sessionState"] == {"id": 1}
    image, text = content_of(openai)
    told = f"<file>\nName: notes.txt\n\n{NOTES}\n</file>\n\nSources:\n<source>\nName: plan.pdf#page=3\n"
    assert text["text"].startswith(told)
    sources, _, after = text["text"].partition("\n\nToday is ")
    assert sources.endswith("\n</source>")
    assert f"\n\n{QUESTION}" in after
    scheme, _, data = image["image_url"]["url"].partition(",")
    assert (scheme, b64decode(data)) == ("data:image/png;base64", PNG)
    thoughts = {thought["title"]: thought["description"] for thought in outcome.records[0]["context"]["thoughts"]}
    assert thoughts["Prompt"][-1]["content"].startswith(f"[image: image/png, 1 kB]\n{told}")
    assert "base64" not in json.dumps(outcome.records)
    assert [file.get("file") or file["image"] for file in thoughts["Attached files"]] == ["notes.txt", "image/png"]


async def test_files_stay_with_their_messages_and_out_of_the_search(app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.call_tool("search_sources", {"search_queries": ["dental care"]})
    openai.reply("Page two.")
    first = {"role": "user", "content": "Look.", "files": [sent_file("application/pdf", PDF.read_bytes(), "a.pdf")]}
    conversation = [first, {"role": "assistant", "content": "I did."}, {"role": "user", "content": "And now?"}]
    outcome = await ask(app.url + "/chat", "answer", conversation)
    assert outcome.thrown is None
    rewriting, answering = (json.dumps(request.body["messages"]) for request in openai.chats[-2:])
    assert "a.pdf" not in rewriting
    told, _, later = answering.partition("I did.")
    assert r"Name: a.pdf\n\n(page 1)\n" in told
    assert r"\n\nLook." in told
    assert "a.pdf" not in later


async def test_the_extractive_model_reads_files_and_cites_them(built_in: RunningHost) -> None:
    message = {
        "role": "user",
        "content": "What is the code word?",
        "files": [sent_file("text/plain", NOTES.encode(), "notes.txt")],
    }
    outcome = await ask(built_in.url + ROUTE, "answer", [message])
    assert outcome.records[0]["message"]["content"] == f"{NOTES} [notes.txt]"
    assert "Unverified" not in json.dumps(outcome.records)


@pytest.mark.parametrize("kind", ["answer", "stream"])
async def test_the_client_throws_why_an_image_cannot_be_seen(built_in: RunningHost, kind: str) -> None:
    message = {"role": "user", "content": QUESTION, "files": [sent_file("image/png", PNG)]}
    outcome = await ask(built_in.url + ROUTE, kind, [message])
    assert outcome.thrown["code"] == "bad_request"
    assert "messages[0].files[0] is an image. The extractive model" in outcome.thrown["message"]
    assert "OPENAI_CHAT_MODEL" in outcome.thrown["message"]


async def test_images_can_be_switched_off(data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession) -> None:
    async with (
        hosted(data_dir, openai.settings | NO_VECTORS | {"CHAT_VISION": "false"}) as host,
        http.post(host.url + ROUTE, data=form(("messages[0].files[0]", "image/png", PNG))) as response,
    ):
        error = (await response.json())["error"]
    assert response.status == 400
    assert "CHAT_VISION is false" in error["message"]


async def test_a_form_without_files_is_answered_like_json(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    asked = body(sessionState={"any": "JSON"})
    async with http.post(built_in.url + "/chat/stream", data=form(said=asked)) as response:
        assert response.headers["content-type"] == "application/jsonl"
        streamed = await read_lines(response)
    async with http.post(built_in.url + ROUTE + "/stream", json=asked) as response:
        assert without_ids(streamed) == without_ids(await read_lines(response))


FILE = ("messages[0].files[0]", "text/plain", b"text")


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([("messages[1].files[0]", "text/plain", b"text")], "messages[1].files[0] names a message that is not there"),
        ([("attachment", "text/plain", b"text")], "no place for a part named 'attachment'"),
        ([("json", "application/json", b"{}")], "two parts named 'json'"),
        ([FILE, FILE], "two parts named 'messages[0].files[0]'"),
        ([("messages[0].files[0]", "image/png", b"text")], "its bytes are no such image"),
        ([("messages[0].files[0]", "application/zip", b"text")], "which cannot be read"),
        ([("messages[0].files[0]", "application/pdf", b"text")], "is damaged"),
    ],
)
@pytest.mark.parametrize("path", ["/chat", ROUTE + "/stream"])
async def test_a_file_without_its_place_is_a_400_that_names_it(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str, files: list[tuple[str, str, bytes]], says: str
) -> None:
    async with http.post(built_in.url + path, data=form(*files)) as response:
        error = (await response.json())["error"]
    assert (response.status, error["code"]) == (400, "bad_request")
    assert says in error["message"]


WHOLE = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="json"\r\n\r\n{json.dumps(body())}\r\n--{BOUNDARY}--\r\n'


@pytest.mark.parametrize(
    ("sent", "content_type", "says"),
    [
        (WHOLE, "multipart/form-data", "no boundary"),
        (WHOLE, f"multipart/related; boundary={BOUNDARY}", "multipart/form-data"),
        (WHOLE, "multipart/form-data; boundary=another", "malformed before its first part"),
        (WHOLE[:-10], f"multipart/form-data; boundary={BOUNDARY}", "cut off"),
        (WHOLE.replace(' name="json"', ""), f"multipart/form-data; boundary={BOUNDARY}", "Part 1 has no name"),
        (WHOLE.replace("json", "body", 1), f"multipart/form-data; boundary={BOUNDARY}", "part named 'body'"),
        (f"--{BOUNDARY}--\r\n", f"multipart/form-data; boundary={BOUNDARY}", "no part named 'json'"),
        ("", f"multipart/form-data; boundary={BOUNDARY}", "no body"),
        (WHOLE.replace('"user"', '"robot"'), f"multipart/form-data; boundary={BOUNDARY}", "messages[0].role"),
        (WHOLE.replace("{", "", 1), f"multipart/form-data; boundary={BOUNDARY}", "not JSON"),
    ],
)
async def test_a_malformed_form_is_a_400_that_says_how(
    built_in: RunningHost, http: aiohttp.ClientSession, sent: str, content_type: str, says: str
) -> None:
    async with http.post(
        built_in.url + "/chat", data=sent.encode(), headers={"content-type": content_type}
    ) as response:
        error = (await response.json())["error"]
    assert (response.status, error["code"]) == (400, "bad_request")
    assert says in error["message"]


@pytest.mark.parametrize(
    "path", ["/ai-chat/chat", "/ai-chat/chat/stream", "/rag-chat/chat", "/semantic-kernel/chat", "/ask"]
)
async def test_other_protocols_say_which_one_takes_files(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.post(built_in.url + path, data=form(FILE)) as response:
        error = (await response.json())["error"]
    assert response.status == 400
    assert "takes no files" in error
    assert "ai-chat-2024-05-29" in error


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_file_of_20_megabytes_is_a_413_before_it_is_all_there(
    built_in: RunningHost, http: aiohttp.ClientSession, *, streamed: bool
) -> None:
    start, _, end = WHOLE.replace('"json"', '"messages[0].files[0]"').partition(json.dumps(body()))
    size = 20_000_000

    async def pieces() -> Any:
        yield start.encode()
        for _ in range(0, size, 50_000):
            yield b"x" * 50_000
        yield end.encode()

    whole = start.encode() + b"x" * size + end.encode()
    headers = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
    data = pieces() if streamed else BytesIO(whole)
    async with http.post(built_in.url + "/chat", data=data, headers=headers) as response:
        error = (await response.json())["error"]
    assert (response.status, error["code"]) == (413, "too_large")
    assert f"'messages[0].files[0]' is over {FILE_LIMIT:,} bytes" in error["message"]


async def test_microsofts_client_throws_that_a_file_is_too_large(built_in: RunningHost) -> None:
    message = {"role": "user", "content": QUESTION, "files": [sent_file("text/plain", b"x" * 20_000_000)]}
    outcome = await ask(built_in.url + ROUTE, "answer", [message])
    assert outcome.thrown["code"] == "too_large"


async def test_a_file_at_the_limit_is_read_to_where_there_is_room(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    long = NOTES.encode().ljust(FILE_LIMIT, b"x")
    asked = body("What is the code word?")
    async with http.post(
        built_in.url + ROUTE, data=form(("messages[0].files[0]", "text/plain", long), said=asked)
    ) as response:
        answer = await response.json()
    assert response.status == 200
    (attached,) = [thought for thought in answer["context"]["thoughts"] if thought["title"] == "Attached files"]
    assert attached["description"][0]["left_out"] > 9_000_000


async def test_a_caller_who_leaves_amid_the_upload_leaves_nothing_behind(
    data_dir: Path, http: aiohttp.ClientSession
) -> None:
    async with hosted(data_dir, {}) as host:
        reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
        head = f"POST /api{ROUTE} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n"
        writer.write(f"{head}Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n".encode())
        assert b"100 Continue" in await reader.readline()  # the upload has begun
        writer.write(WHOLE[:-20].encode())
        await writer.drain()
        writer.transport.abort()
        await asyncio.to_thread(host.wait_for, r"pinned_chat POST cancelled")
        async with http.post(host.url + ROUTE, data=form()) as response:
            assert response.status == 200
        assert "Traceback" not in host.log()
        assert "turn ended" not in host.log().partition("cancelled")[0]


async def test_uploads_without_room_are_refused_until_others_are_answered(
    data_dir: Path, http: aiohttp.ClientSession
) -> None:
    size = 2_000_000
    image = PNG + bytes(size - len(PNG))
    large = tuple((f"messages[0].files[{index}]", "image/png", image) for index in range(10))
    async with DroppingOpenAI() as model, asyncio.TaskGroup() as asked:
        env = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "a key", "OPENAI_CHAT_MODEL": "m"} | NO_VECTORS
        async with hosted(data_dir, env) as host:

            async def upload(*files: tuple[str, str, bytes]) -> tuple[int, str | None, Any]:
                async with http.post(host.url + ROUTE, data=form(*files)) as response:
                    return response.status, response.headers.get("Retry-After"), await response.json()

            answers: list[asyncio.Task[tuple[int, str | None, Any]]] = []
            for _ in range(MAX_BODY_BYTES_IN_MEMORY // (10 * size)):
                answers.append(asked.create_task(upload(*large)))
                await asyncio.wait_for(model.received.get(), 60)
            status, retry_after, refused = await upload(*large)
            assert (status, retry_after, refused["error"]["code"]) == (503, "10", "overloaded")
            without_files = asked.create_task(upload())
            await asyncio.wait_for(model.received.get(), 60)
            model.may_answer.set()
            for answer in (*answers, without_files):
                assert (await answer)[0] == 200
            assert (await upload(*large))[0] == 200
            assert "Traceback" not in host.log()
