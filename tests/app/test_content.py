"""`GET /content` over HTTP: the cited document, in parts too, and nothing else; from a folder and from a container."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from azure.storage.blob.aio import ContainerClient

from shared.chat_types import Passage
from tests.app.conftest import hosted
from tests.local.running_host import RunningHost
from tests.small_index import write_index
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.easy_auth import IN_FRONT, principal
from tests.stand_ins.entra import ADA, BEN, STAFF

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the hosts and the stand-in."""

PLAN = bytes(range(256)) * 4
LARGE = 48 * 1024 * 1024
"""More bytes than the sockets between the app and its caller hold."""
DOCUMENTS = {
    "plan.pdf": PLAN,
    "Kündigung.md": "Die Kündigungsfrist beträgt drei Monate.".encode(),
    "50% [old] c#?.txt": "Grüße".encode("latin-1"),
    "leave/page.html": b"<script>alert(1)</script>",
    "Report-2.pdf": b"%PDF- of one page",
    "empty.txt": b"",
    "for Ada.md": b"Ada's secret.",
    "for staff.md": b"The staff's secret.",
    "for all.md": b"For all.",
}
WHOSE = {"for Ada.md": ((ADA,), ()), "for staff.md": ((), (STAFF,))}

type Putting = Callable[[str, bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Place:
    """The app, and where its documents are."""

    host: RunningHost
    put: Putting
    """Writes a document as somebody else would."""

    def url(self, name: str) -> str:
        return f"{self.host.url}/content/{name}"


async def index_for(folder: Path) -> None:
    passages = [Passage(name, f"About {name}.", name, name, None, *WHOSE.get(name, ((), ()))) for name in DOCUMENTS]
    await write_index(folder, passages)


async def in_folder(folder: Path) -> tuple[dict[str, str], Putting]:
    async def put(name: str, data: bytes) -> None:
        (folder / "new").write_bytes(data)
        target = folder / "content" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / "new").replace(target)

    for name, data in DOCUMENTS.items():
        await put(name, data)
    return {}, put


async def in_container(azurite: Azurite, container: ContainerClient) -> tuple[dict[str, str], Putting]:
    async def put(name: str, data: bytes) -> None:
        oids, groups = WHOSE.get(name, ((), ()))
        metadata = {key: ",".join(named) for key, named in {"oids": oids, "groups": groups}.items() if named}
        await container.upload_blob(name, data, overwrite=True, metadata=metadata)

    await container.create_container()
    for name, data in DOCUMENTS.items():
        await put(name, data)
    settings = {"CONTENT_STORAGE": azurite.connection_string, "CONTENT_CONTAINER": container.container_name}
    return settings, put


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["folder", "container"])
async def place(
    request: pytest.FixtureRequest, azurite: Azurite, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Place]:
    """The app in which everybody sees everything."""
    data = tmp_path_factory.mktemp("data")
    async with AsyncExitStack() as stack:
        if request.param == "folder":
            settings, put = await in_folder(data)
        else:
            client = ContainerClient.from_connection_string(
                azurite.connection_string, "open", max_single_put_size=2**20, max_block_size=2**20
            )
            settings, put = await in_container(azurite, await stack.enter_async_context(client))
        yield Place(await stack.enter_async_context(hosted(data, settings)), put)


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["folder", "container"])
async def enforced(
    request: pytest.FixtureRequest, azurite: Azurite, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Place]:
    """The app in which callers see what names them."""
    data = tmp_path_factory.mktemp("data")
    await index_for(data)
    async with AsyncExitStack() as stack:
        if request.param == "folder":
            settings, put = await in_folder(data)
        else:
            client = ContainerClient.from_connection_string(azurite.connection_string, "enforced")
            settings, put = await in_container(azurite, await stack.enter_async_context(client))
        settings |= IN_FRONT | {"ACCESS_CONTROL": "enforced"}
        yield Place(await stack.enter_async_context(hosted(data, settings)), put)


@pytest.mark.parametrize(
    ("path", "name", "media_type"),
    [
        ("plan.pdf", "plan.pdf", "application/pdf"),
        ("plan.pdf%23page=3", "plan.pdf", "application/pdf"),
        ("Report-2.pdf", "Report-2.pdf", "application/pdf"),
        ("K%C3%BCndigung.md", "Kündigung.md", "text/markdown; charset=utf-8"),
        ("Ku%CC%88ndigung.md", "Kündigung.md", "text/markdown; charset=utf-8"),
        ("K%25C3%25BCndigung.md", "Kündigung.md", "text/markdown; charset=utf-8"),
        ("50%25%20%5Bold%5D%20c%23%3F.txt", "50% [old] c#?.txt", "text/plain"),
        ("leave/page.html", "leave/page.html", "text/html; charset=utf-8"),
        ("leave%2Fpage.html", "leave/page.html", "text/html; charset=utf-8"),
        ("empty.txt", "empty.txt", "text/plain; charset=utf-8"),
    ],
)
async def test_a_citation_opens(place: Place, path: str, name: str, media_type: str) -> None:
    raw = await answer_to(place, path)
    head, _, content = raw.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), raw
    headers = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert content == DOCUMENTS[name]
    assert headers["content-type"] == media_type
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-disposition"].startswith("inline; filename")
    assert ("content-security-policy" in headers) == name.endswith(".html")
    assert "cache-control" not in headers


@pytest.mark.parametrize(
    ("asked", "status", "served"),
    [
        ("bytes=0-9", 206, bytes(range(10))),
        ("bytes=-2", 206, b"\xfe\xff"),
        ("bytes=1000-", 206, bytes(range(232, 256))),
        ("bytes=1000-9999", 206, bytes(range(232, 256))),
        ("bytes=9999-", 416, b""),
        ("bytes=-0", 416, b""),
        ("bytes=0-1,5-6", 200, PLAN),
        ("bytes=5-1", 200, PLAN),
        ("lines=1-2", 200, PLAN),
    ],
)
async def test_a_part_can_be_asked_for(
    place: Place, http: aiohttp.ClientSession, asked: str, status: int, served: bytes
) -> None:
    async with http.get(place.url("plan.pdf"), headers={"range": asked}) as response:
        content = await response.read()
    assert (response.status, content) == (status, served)
    if status == 206:
        start = len(PLAN) - len(served) if not asked.startswith("bytes=0") else 0
        assert response.headers["content-range"] == f"bytes {start}-{start + len(served) - 1}/1024"
    if status == 416:
        assert response.headers["content-range"] == "bytes */1024"
    else:
        assert response.headers["accept-ranges"] == "bytes"
        assert response.headers["content-length"] == str(len(served))


async def test_a_head_has_what_a_get_has_but_no_body(place: Place, http: aiohttp.ClientSession) -> None:
    async with http.get(place.url("plan.pdf")) as whole:
        await whole.read()
    async with http.head(place.url("plan.pdf"), headers={"range": "bytes=0-9"}) as response:
        assert (response.status, await response.read()) == (200, b"")
    varying = {"Date", "Server", "Connection", "Keep-Alive"}
    assert {(name, value) for name, value in response.headers.items() if name not in varying} == {
        (name, value) for name, value in whole.headers.items() if name not in varying
    }
    async with http.head(place.url("no.pdf")) as response:
        assert (response.status, await response.read()) == (404, b"")


async def test_what_the_caller_has_is_not_sent_again_until_it_changes(
    place: Place, http: aiohttp.ClientSession
) -> None:
    await place.put("changing.txt", b"first version")
    url = place.url("changing.txt")
    async with http.get(url) as response:
        assert await response.text() == "first version"
    etag, changed = response.headers["etag"], response.headers["last-modified"]
    for known in ({"if-none-match": etag}, {"if-modified-since": changed}, {"if-none-match": "*"}):
        async with http.get(url, headers=known) as response:
            assert (response.status, await response.read()) == (304, b"")
            assert response.headers["etag"] == etag
    rest = {"range": "bytes=6-", "if-range": etag}
    async with http.get(url, headers=rest) as response:
        assert (response.status, await response.text()) == (206, "version")
    await place.put("changing.txt", b"second version")
    async with http.get(url, headers=rest) as response:
        assert (response.status, await response.text()) == (200, "second version")
    async with http.get(url, headers={"if-none-match": etag}) as response:
        assert (response.status, await response.text()) == (200, "second version")


async def test_a_document_that_changes_while_it_is_sent_is_cut_off_and_never_mixed(
    place: Place, http: aiohttp.ClientSession
) -> None:
    await place.put("large.pdf", b"1" * LARGE)
    came = bytearray()
    async with http.get(place.url("large.pdf")) as response:
        assert response.headers["content-length"] == str(LARGE)
        came += await response.content.readany()
        await place.put("large.pdf", b"2" * LARGE)
        with pytest.raises(aiohttp.ClientPayloadError):
            await read_into(came, response)
    assert 0 < len(came) < LARGE
    assert set(came) == {ord("1")}
    await asyncio.to_thread(place.host.wait_for, "a document was cut off: The document was changed")


async def read_into(came: bytearray, response: aiohttp.ClientResponse) -> None:
    while piece := await response.content.readany():
        came += piece


async def test_a_caller_who_leaves_does_no_harm(place: Place, http: aiohttp.ClientSession) -> None:
    await place.put("large.pdf", b"1" * LARGE)
    for _ in range(3):
        async with http.get(place.url("large.pdf")) as response:
            await response.content.readany()
            response.close()
    async with http.get(place.url("large.pdf"), headers={"range": f"bytes={LARGE - 5}-"}) as response:
        assert (response.status, await response.read()) == (206, b"11111")


async def answer_to(place: Place, path: str) -> bytes:
    """The whole answer to a path that is sent raw: a client would tidy it up first."""
    reader, writer = await asyncio.open_connection("127.0.0.1", place.host.port)
    writer.write(f"GET /api/content/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    "path",
    [
        *("../index.sqlite", "..%2findex.sqlite", "%2e%2e/index.sqlite", "..%5cindex.sqlite", "..\\index.sqlite"),
        *("%252e%252e%252findex.sqlite", "leave/../../index.sqlite", "leave%2f..%2f..%2findex.sqlite"),
        *("/etc/passwd", "%2fetc%2fpasswd", "%00", "plan.pdf%00", "plan.pdf%2500", "", ".", "leave", "leave/", "%FF"),
        *("plan.pdf/", "/plan.pdf", "PLAN.PDF", "plan.pdf%20", "a" * 300, "a" * 3000, "a%2f" * 900),
        *("../open/plan.pdf", "..%2f..%2fopen%2fplan.pdf", "%ED%B3%BC.md", ".hidden.md", "%0d%0aX-Evil:%201"),
    ],
)
async def test_nothing_else_is_served(place: Place, path: str) -> None:
    raw = await answer_to(place, path)
    assert raw.split(b" ")[1] in (b"404", b"400")
    assert b"SQLite" not in raw
    assert b"root:" not in raw
    assert b"\r\nX-Evil" not in raw
    assert PLAN not in raw


@pytest.mark.parametrize(
    ("headers", "seen"),
    [
        (principal(ADA), {"for Ada.md"}),
        (principal(ADA, STAFF), {"for Ada.md", "for staff.md"}),
        (principal(BEN, STAFF), {"for staff.md"}),
        (principal(BEN), set[str]()),
    ],
)
async def test_where_rights_are_enforced_only_what_names_the_caller_is_there(
    enforced: Place, http: aiohttp.ClientSession, headers: dict[str, str], seen: set[str]
) -> None:
    async with http.get(enforced.url("no such document.md"), headers=headers) as response:
        missing = response.status, without_id(await response.text()), sorted(response.headers)
    for name in ("for Ada.md", "for staff.md", "for all.md", "plan.pdf"):
        async with http.get(enforced.url(name), headers=headers) as response:
            answer = await response.read()
        if name in seen:
            assert (response.status, answer) == (200, DOCUMENTS[name])
            assert response.headers["cache-control"] == "private, no-cache"
            known = {"if-none-match": response.headers["etag"]}
        else:
            assert (response.status, without_id(answer.decode()), sorted(response.headers)) == missing
            known = {"if-none-match": "*", "range": "bytes=0-1"}
        async with http.get(enforced.url(name), headers=headers | known) as response:
            assert response.status == (304 if name in seen else 404)


def without_id(body: str) -> str:
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "id", body)


async def test_a_new_version_is_for_those_whom_it_names_even_before_the_index_follows(
    azurite: Azurite, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    await index_for(tmp_path)
    async with ContainerClient.from_connection_string(azurite.connection_string, "changed") as container:
        settings, put = await in_container(azurite, container)
        async with hosted(tmp_path, settings | IN_FRONT | {"ACCESS_CONTROL": "enforced"}) as host:
            place = Place(host, put)

            async def status(oid: str, *groups: str) -> int:
                async with http.get(place.url("for staff.md"), headers=principal(oid, *groups)) as response:
                    return response.status

            assert (await status(ADA, STAFF), await status(BEN)) == (200, 404)
            await container.upload_blob("for staff.md", b"Ben's secret.", overwrite=True, metadata={"oids": BEN})
            assert (await status(ADA, STAFF), await status(BEN), await status(BEN, STAFF)) == (404, 404, 200)
            await container.upload_blob("for staff.md", b"Nobody's.", overwrite=True, metadata={"oids": ","})
            assert await status(BEN, STAFF) == 404


async def test_where_rights_are_enforced_nobody_is_served_who_is_not_signed_in(
    enforced: Place, http: aiohttp.ClientSession
) -> None:
    for name in ("for Ada.md", "for all.md", "no such document.md"):
        for method in ("GET", "HEAD"):
            async with http.request(method, enforced.url(name)) as response:
                assert response.status == 401


@pytest.mark.nightly
async def test_a_storage_account_that_is_gone_is_told_and_answers_go_on(
    http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    async with Azurite() as azurite:
        settings = {"CONTENT_STORAGE": azurite.connection_string}
    async with hosted(tmp_path, settings) as host:
        async with http.get(host.url + "/content/plan.pdf") as response:
            assert response.status == 503
            assert "CONTENT_STORAGE" in await response.text()
        async with http.get(host.url + "/health") as response:
            health = await response.json()
        assert health["parts"]["documents"]["ok"] is False
        assert "CONTENT_STORAGE" in health["parts"]["documents"]["detail"]
