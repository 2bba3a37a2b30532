"""The documents in the index over HTTP: listed, uploaded and deleted by those who may."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from yarl import URL

from tests.app.conftest import hosted
from tests.app.identity.conftest import Key, taking
from tests.local.running_host import RunningHost

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

ZEBRA = b"Zebras have 42 stripes on the left side."
STAFF, OTHERS = "11111111-0000-0000-0000-000000000001", "11111111-0000-0000-0000-000000000002"
WRITER, READER, STRANGER = Key("writer", (STAFF,)), Key("reader", (STAFF,)), Key("stranger", (OTHERS,))
ALONE, OPERATOR = Key("alone"), Key("operator")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    folder = tmp_path_factory.mktemp("open")
    (folder / "elsewhere").mkdir()
    (folder / "content").mkdir()
    (folder / "content" / "link").symlink_to(folder / "elsewhere")
    async with hosted(folder, {}) as host:
        yield host
    assert not any((folder / "elsewhere").iterdir())


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    """Rights are enforced, and two keys may write."""
    environment = taking(WRITER, READER, STRANGER, ALONE, OPERATOR) | {
        "OPERATORS": "operator",
        "ACCESS_CONTROL": "enforced",
        "DOCUMENTS_WRITERS": f"writer, alone, {OTHERS}",
    }
    async with hosted(tmp_path_factory.mktemp("guarded"), environment) as host:
        yield host


LINES = {"accept": "application/x-ndjson"}


async def put(
    http: aiohttp.ClientSession, host: RunningHost, path: str, data: bytes, key: Key | None = None
) -> tuple[int, dict[str, Any]]:
    headers = key.bearer if key else {}
    url = URL(f"{host.url}/documents/{path}", encoded=True)
    async with http.put(url, data=data, headers=headers) as response:
        return response.status, await response.json()


async def names(http: aiohttp.ClientSession, host: RunningHost, key: Key | None = None, **query: str) -> list[str]:
    headers = key.bearer if key else {}
    async with http.get(f"{host.url}/documents", params=query, headers=headers) as response:
        return [one["name"] for one in (await response.json())["documents"]]


async def answer(http: aiohttp.ClientSession, host: RunningHost, question: str, key: Key | None = None) -> str:
    body = {"messages": [{"role": "user", "content": question}]}
    async with http.post(f"{host.url}/ai-chat/chat", json=body, headers=key.bearer if key else {}) as response:
        return (await response.json())["message"]["content"]


async def test_a_document_is_answered_from_as_soon_as_it_is_uploaded_until_it_is_deleted(
    host: RunningHost, http: aiohttp.ClientSession
) -> None:
    done = await put(http, host, "animals/Z%C3%A9bra%20%231.md", ZEBRA)
    assert done == (200, {"name": "animals/Zébra #1.md", "state": "indexed", "detail": "1 passage"})
    assert "42 stripes" in await answer(http, host, "How many stripes do zebras have?")
    async with http.get(f"{host.url}/documents") as response:
        [listed] = (await response.json())["documents"]
    assert (listed["name"], listed["type"], listed["size"]) == ("animals/Zébra #1.md", "text/markdown", len(ZEBRA))
    assert (listed["passages"], listed["pages"]) == (1, 1)
    async with http.get(f"{host.url}/content/animals/Z%C3%A9bra%20%231.md") as response:
        assert await response.read() == ZEBRA
    async with http.delete(f"{host.url}/documents/animals/Z%C3%A9bra%20%231.md") as response:
        assert response.status == 204
    assert await names(http, host) == []
    assert "42" not in await answer(http, host, "How many stripes do zebras have?")
    async with http.delete(f"{host.url}/documents/animals/Z%C3%A9bra%20%231.md") as response:
        assert response.status == 404


async def test_what_was_not_read_of_a_document_is_in_the_list(host: RunningHost, http: aiohttp.ClientSession) -> None:
    mail = EmailMessage()
    mail["Subject"] = "Plan"
    mail.set_content("It is attached.")
    mail.add_attachment(b"model", "application", "octet-stream", filename="plan.dwg")
    _, done = await put(http, host, "plan.eml", mail.as_bytes())
    assert done["detail"] == "1 passage; not read: attachment plan.dwg"
    async with http.get(f"{host.url}/documents", params={"search": "plan.eml"}) as response:
        [listed] = (await response.json())["documents"]
    assert listed["left_out"] == "attachment plan.dwg"
    async with http.delete(f"{host.url}/documents/plan.eml") as response:
        assert response.status == 204


async def test_a_document_is_replaced_only_where_the_request_says_so(
    host: RunningHost, http: aiohttp.ClientSession
) -> None:
    assert (await put(http, host, "horse.md", b"Horses sleep for three hours."))[0] == 200
    status, refused = await put(http, host, "horse.md", b"Horses sleep for nine hours.")
    assert status == 409
    assert "There is a document of this name already" in refused["error"]
    assert "three" in await answer(http, host, "How long do horses sleep?")
    assert (await put(http, host, "horse.md?overwrite=true", b"Horses sleep for nine hours."))[0] == 200
    assert "nine" in await answer(http, host, "How long do horses sleep?")


async def test_of_uploads_of_a_name_at_the_same_time_one_is_indexed(
    host: RunningHost, http: aiohttp.ClientSession
) -> None:
    texts = [f"Camels drink {number} litres of water.".encode() for number in range(8)]
    done = await asyncio.gather(*(put(http, host, "camel.md", text) for text in texts))
    assert sorted(status for status, _ in done) == [200] + [409] * 7
    [kept] = [text for text, (status, _) in zip(texts, done, strict=True) if status == 200]
    async with http.get(f"{host.url}/content/camel.md") as response:
        assert await response.read() == kept
    assert kept.decode().split()[2] in await answer(http, host, "How many litres of water do camels drink?")


async def test_who_accepts_lines_gets_each_step_and_everybody_else_one_document(
    host: RunningHost, http: aiohttp.ClientSession
) -> None:
    url = f"{host.url}/documents/lines.md"
    async with http.put(url, data=ZEBRA, headers=LINES) as response:
        assert (response.status, response.content_type) == (200, "application/x-ndjson")
        steps = [json.loads(line) for line in (await response.text()).splitlines()]
    assert [step["state"] for step in steps] == ["reading", "embedding", "writing", "indexed"]
    assert steps[-1] == {"name": "lines.md", "state": "indexed", "detail": "1 passage"}
    async with http.put(url, data=ZEBRA, headers=LINES) as response:
        assert (response.status, response.content_type) == (409, "application/json")
    async with http.put(f"{host.url}/documents/broken.pdf", data=b"%PDF-1.7 nothing", headers=LINES) as response:
        assert response.status == 200
        assert "is damaged" in json.loads((await response.text()).splitlines()[-1])["detail"]


@pytest.mark.parametrize(
    ("path", "data", "status", "says"),
    [
        ("tool.exe", b"MZ", 400, "no format that can be read"),
        (".hidden.md", b"x", 400, "is hidden"),
        ("a%5Cb.md", b"x", 400, "no link can lead to"),
        ("n" * 1100 + ".md", b"x", 400, "no link can lead to"),
        ("two%0Alines.md", b"x", 400, "no link can lead to"),
        ("n" * 300 + ".md", b"x", 400, "over 255 bytes"),
        ("taken.md/below.md", b"x", 400, "is a document"),
        ("link/new.md", b"x", 400, "a link"),
        ("empty.md", b"", 400, "has no body"),
        ("big.md", b"x" * (20 * 1024 * 1024 + 1), 413, "over 20 MiB"),
        ("a.md?overwrite=maybe", b"x", 400, "overwrite: should be true or false"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_what_cannot_be_indexed_is_refused(
    host: RunningHost, http: aiohttp.ClientSession, path: str, data: bytes, status: int, says: str
) -> None:
    await put(http, host, "taken.md", ZEBRA)
    before = await names(http, host)
    url = f"{host.url}/documents/{path}"
    async with http.put(URL(url, encoded=True), data=BytesIO(data)) as response:
        assert (response.status, says in await response.text()) == (status, True), await response.text()
    assert await names(http, host) == before


async def test_a_document_that_cannot_be_read_leaves_nothing(host: RunningHost, http: aiohttp.ClientSession) -> None:
    status, refused = await put(http, host, "broken.pdf", b"%PDF-1.7 nothing")
    assert status == 422
    assert "The document is damaged" in refused["error"]
    assert "broken.pdf" not in await names(http, host)


async def failed(http: aiohttp.ClientSession, host: RunningHost, key: Key | None = None) -> dict[str, str]:
    async with http.get(f"{host.url}/documents", headers=key.bearer if key else {}) as response:
        return {one["name"]: one["detail"] for one in (await response.json())["failed"]}


async def test_a_document_that_cannot_be_read_is_listed_with_the_reason_until_it_is_replaced_or_deleted(
    host: RunningHost, http: aiohttp.ClientSession
) -> None:
    for name, data in (("first.pdf", b"%PDF-1.7 nothing"), ("second.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))):
        await put(http, host, name, data)
    reasons = await failed(http, host)
    assert ("damaged" in reasons["first.pdf"], "not text" in reasons["second.md"]) == (True, True)
    await put(http, host, "second.md", ZEBRA)
    async with http.delete(f"{host.url}/documents/first.pdf") as response:
        assert response.status == 204
    assert not {"first.pdf", "second.md"} & (await failed(http, host)).keys()
    async with http.delete(f"{host.url}/documents/first.pdf") as response:
        assert response.status == 404


async def test_the_list_comes_in_pages_and_is_searched(host: RunningHost, http: aiohttp.ClientSession) -> None:
    for number in range(5):
        await put(http, host, f"pages/{number}.md?overwrite=true", f"Page {number} is here.".encode())
    seen: list[str] = []
    query = "?search=PAGES/&limit=2"
    for _ in range(10):
        async with http.get(f"{host.url}/documents{query}") as response:
            found = (await response.json())["documents"]
            link = response.links.get("next")
        assert len(found) <= 2
        seen += [one["name"] for one in found]
        if not link:
            break
        query = f"?{URL(link['url']).raw_query_string}"
    assert seen == [f"pages/{number}.md" for number in range(5)]
    async with http.get(f"{host.url}/documents?limit=0") as response:
        assert response.status == 400


async def test_an_uploaded_document_is_seen_by_those_whom_its_rights_name(
    guarded: RunningHost, http: aiohttp.ClientSession
) -> None:
    assert (await put(http, guarded, "secret.md", ZEBRA, WRITER))[0] == 200
    assert await names(http, guarded, READER) == ["secret.md"]
    assert await names(http, guarded, STRANGER) == []
    assert "42" in await answer(http, guarded, "How many stripes do zebras have?", READER)
    assert "42" not in await answer(http, guarded, "How many stripes do zebras have?", STRANGER)
    async with http.get(f"{guarded.url}/content/secret.md", headers=STRANGER.bearer) as response:
        assert response.status == 404


async def test_of_a_document_that_cannot_be_read_those_are_told_who_may_see_it_and_manage_documents(
    guarded: RunningHost, http: aiohttp.ClientSession
) -> None:
    await put(http, guarded, "bad.pdf", b"%PDF-1.7 nothing", WRITER)
    told = [list(await failed(http, guarded, key)) for key in (WRITER, READER, STRANGER, OPERATOR)]
    assert told == [["bad.pdf"], [], [], ["bad.pdf"]]
    async with http.delete(f"{guarded.url}/documents/bad.pdf", headers=STRANGER.bearer) as response:
        assert response.status == 404
    assert await failed(http, guarded, WRITER)


async def test_nobody_writes_over_what_they_may_not_see(guarded: RunningHost, http: aiohttp.ClientSession) -> None:
    await put(http, guarded, "mine.md?overwrite=true", ZEBRA, WRITER)
    status, _ = await put(http, guarded, "mine.md?overwrite=true", b"Zebras have no stripes.", STRANGER)
    assert status == 403
    async with http.delete(f"{guarded.url}/documents/mine.md", headers=STRANGER.bearer) as response:
        assert response.status == 404
    assert "mine.md" in await names(http, guarded, READER)


async def test_only_those_whom_the_setting_names_may_write(guarded: RunningHost, http: aiohttp.ClientSession) -> None:
    await put(http, guarded, "here.md?overwrite=true", ZEBRA, WRITER)
    status, refused = await put(http, guarded, "reader.md", ZEBRA, READER)
    assert (status, "DOCUMENTS_WRITERS" in refused["error"]) == (403, True)
    async with http.delete(f"{guarded.url}/documents/here.md", headers=READER.bearer) as response:
        assert response.status == 403
    status, refused = await put(http, guarded, "nobodys.md", ZEBRA, ALONE)
    assert (status, "no groups" in refused["error"]) == (403, True)
    for key, may in ((WRITER, True), (READER, False), (STRANGER, True)):
        async with http.get(f"{guarded.url}/documents", headers=key.bearer) as response:
            assert (await response.json())["may_write"] is may


async def test_nobody_writes_in_azure_unless_the_settings_say_so(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    async with hosted(tmp_path, {"WEBSITE_SITE_NAME": "app", "AzureWebJobsStorage": ""}) as azure:
        status, refused = await put(http, azure, "zebra.md", ZEBRA)
    assert (status, "DOCUMENTS_WRITERS" in refused["error"]) == (403, True)


async def delete(http: aiohttp.ClientSession, host: RunningHost, path: str, key: Key | None = None) -> int:
    url = URL(f"{host.url}/documents/{path}", encoded=True)
    async with http.delete(url, headers=key.bearer if key else {}) as response:
        return response.status


@pytest.mark.parametrize(
    ("name", "other"),
    [("deer.txt%23v2.txt", "deer.txt"), ("a%2520b.txt", "a%20b.txt"), ("caf%25C3%25A9.txt", "caf%C3%A9.txt")],
)
async def test_a_deletion_takes_the_exact_name_also_when_it_is_repeated(
    host: RunningHost, http: aiohttp.ClientSession, name: str, other: str
) -> None:
    for path in (name, other):
        assert (await put(http, host, path, ZEBRA))[0] == 200
    assert [await delete(http, host, name) for _ in range(2)] == [204, 404]
    async with http.get(URL(f"{host.url}/content/{other}", encoded=True)) as response:
        assert response.status == 200
    assert await delete(http, host, other) == 204


async def begun(host: RunningHost, path: str, data: bytes, key: Key) -> Callable[[], Awaitable[int]]:
    """Begin an upload: send its headers and a part of the body. The result sends the rest and returns the status."""
    reader, writer = await asyncio.open_connection(URL(host.url).host, URL(host.url).port)
    lines = [f"PUT /api/documents/{path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in key.bearer.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + data[:5])
    await writer.drain()

    async def finish() -> int:
        writer.write(data[5:])
        status = int((await reader.readline()).split()[1])
        writer.close()
        return status

    return finish


@pytest.mark.parametrize("query", ["", "?overwrite=true"])
async def test_an_upload_that_was_overtaken_leaves_the_other_document(
    guarded: RunningHost, http: aiohttp.ClientSession, query: str
) -> None:
    name = f"overtaken{len(query)}.md"
    finish = await begun(guarded, name + query, b"Zebras have no stripes.", STRANGER)
    assert (await put(http, guarded, name, ZEBRA, WRITER))[0] == 200
    assert await finish() in (403, 409)  # by when the first one was checked
    async with http.get(f"{guarded.url}/content/{name}", headers=READER.bearer) as response:
        assert await response.read() == ZEBRA
    async with http.get(f"{guarded.url}/content/{name}", headers=STRANGER.bearer) as response:
        assert response.status == 404
    assert await delete(http, guarded, name, WRITER) == 204


async def test_who_replaces_a_document_leaves_it_to_those_who_may_see_it(
    guarded: RunningHost, http: aiohttp.ClientSession
) -> None:
    await put(http, guarded, "shared.md", ZEBRA, WRITER)
    assert (await put(http, guarded, "shared.md?overwrite=true", ZEBRA[:-1], WRITER))[0] == 200
    assert "shared.md" in await names(http, guarded, READER)
    assert "shared.md" not in await names(http, guarded, STRANGER)
    assert await delete(http, guarded, "shared.md", WRITER) == 204
    assert (await put(http, guarded, "shared.md", ZEBRA, STRANGER))[0] == 200
    assert "shared.md" not in await names(http, guarded, READER)
    assert await delete(http, guarded, "shared.md", STRANGER) == 204
