"""Documents that people add for themselves, as two of them see them, in a folder and in Azure's services."""

import asyncio
import hashlib
import io
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.guarded import PROTOCOLS
from tests.app.identity.conftest import QUESTIONS, Key, overrides, seen_in, sent_to, taking
from tests.app.test_answers import body
from tests.app.test_hostile_files import wait_for_readers
from tests.hostile.files import HOSTILE_FILES
from tests.local.running_host import RunningHost
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.azurite import Azurite

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

ADA, BOB = Key("ada"), Key("bob")
LIMITS = {"LIMIT_CALLER_DOCUMENTS": "2"}
NETTLE = "The project Nettle ships in the month of May, says the plan of Ada."
QUESTION = "When does the project Nettle ship?"
MISSING = "There is no such document."


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a key, who uses the demo's page, and our routes where it has none."""

    http: aiohttp.ClientSession
    url: str
    key: Key

    async def send(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        async with self.http.request(method, f"{self.url}{path}", headers=self.key.bearer, **more) as response:
            is_json = response.content_type == "application/json"
            return response.status, await (response.json() if is_json else response.text())

    async def upload(self, name: str, text: str) -> tuple[int, Any]:
        form = aiohttp.FormData()
        form.add_field("file", io.BytesIO(text.encode()), filename=name, content_type="text/plain")
        return await self.send("POST", "/ai-chat/upload", data=form)

    async def listed(self) -> list[str]:
        return (await self.send("GET", "/ai-chat/list_uploaded"))[1]

    async def forget(self, name: str) -> tuple[int, Any]:
        return await self.send("POST", "/ai-chat/delete_uploaded", json={"filename": name})

    async def found(self, path: str = "/ai-chat/chat") -> list[str]:
        """The sources that a question finds."""
        overrides = {"retrieval_mode": "text", "top": 3}
        body = {"messages": [{"role": "user", "content": QUESTION}], "context": {"overrides": overrides}}
        status, answer = await self.send("POST", path, json=body)
        assert status == 200, answer
        return answer["context"]["data_points"]["citations"]


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["folder", "container"])
async def host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, azurite: Azurite
) -> AsyncGenerator[RunningHost]:
    env = taking(ADA, BOB) | LIMITS | NO_VECTORS | {"RAI_MODE": "enforce"}
    if request.param == "folder":
        async with hosted(tmp_path_factory.mktemp("own"), env) as host:
            yield host
        return
    container = {"CONTENT_STORAGE": azurite.connection_string, "CONTENT_CONTAINER": f"c{uuid4().hex}"}
    env |= container | {"HISTORY_BACKEND": "off"}
    async with (
        AISearchStandIn() as search,
        hosted(tmp_path_factory.mktemp("own"), env | search.settings) as host,
    ):
        yield host


@pytest_asyncio.fixture(loop_scope="session")
async def people(host: RunningHost, http: aiohttp.ClientSession) -> AsyncGenerator[tuple[Person, Person]]:
    ada, bob = (Person(http, host.url, key) for key in (ADA, BOB))
    yield ada, bob
    deleted = await asyncio.gather(*(person.send("DELETE", "/documents/mine") for person in (ada, bob)))
    assert [status for status, _ in deleted] == [204, 204]
    assert (await ada.listed(), await bob.listed()) == ([], [])


async def test_what_one_person_adds_no_other_finds_lists_opens_or_deletes(people: tuple[Person, Person]) -> None:
    ada, bob = people
    assert await ada.upload("nettle.txt", NETTLE) == (200, {"message": "File uploaded successfully"})
    assert (await ada.listed(), await bob.listed()) == (["nettle.txt"], [])
    assert await ada.found() == ["mine/nettle.txt"]
    assert await bob.found() == []
    assert await ada.send("GET", "/content/mine/nettle.txt") == (200, NETTLE)
    assert (await bob.send("GET", "/content/mine/nettle.txt"))[0] == 404
    assert (await bob.forget("nettle.txt"))[0] == 404
    assert (await ada.send("GET", "/ai-chat/config"))[1]["showUserUpload"] is False  # the page cannot send keys
    _, listed = await ada.send("GET", "/documents/mine")
    assert [one["name"] for one in listed["documents"]] == ["mine/nettle.txt"]
    assert listed["used"] == {"documents": 1, "bytes": len(NETTLE), "pages": 1}
    assert (await bob.send("GET", "/documents"))[1]["documents"] == []

    await bob.upload("nettle.txt", "Bob says that the project Nettle is late.")  # the same name is another document
    assert await bob.send("GET", "/content/mine/nettle.txt") == (200, "Bob says that the project Nettle is late.")
    assert await ada.send("GET", "/content/mine/nettle.txt") == (200, NETTLE)
    assert await ada.forget("nettle.txt") == (200, {"message": "File nettle.txt deleted successfully"})
    assert (await ada.found(), await bob.found()) == ([], ["mine/nettle.txt"])


async def test_in_every_protocol_each_is_answered_from_their_own(people: tuple[Person, Person]) -> None:
    for person, name in zip(people, ("ADA", "BEN"), strict=True):
        await person.upload("teeth.txt", f"The plan pays for teeth: secret of {name}.")

    async def seen_by(person: Person, path: str) -> tuple[set[str], bool]:
        _, answer = await person.send("POST", path, json=sent_to(path, overrides()))
        return seen_in(str(answer)), "mine/teeth.txt" in str(answer) and ".people" not in str(answer)

    fetch = {"name": "fetch", "arguments": {"id": "mine/teeth.txt"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": fetch}
    for person, name in zip(people, ("ADA", "BEN"), strict=True):
        seen = await asyncio.gather(*(seen_by(person, path) for path in QUESTIONS))
        assert dict(zip(QUESTIONS, seen, strict=True)) == dict.fromkeys(QUESTIONS, ({name}, True))
        assert seen_in(str(await person.send("POST", "/mcp", json=call))) == {name}


async def test_what_the_policy_forbids_is_not_quoted_from_a_persons_own_either(people: tuple[Person, Person]) -> None:
    ada, _ = people
    await ada.upload("warehouse.txt", "From stolen fertilizer the thieves make a pipe bomb.")
    sent = body("What do the thieves make from stolen fertilizer?")
    for protocol in PROTOCOLS:
        status, answer = await ada.send("POST", f"/{protocol}/chat", json=sent)
        told = "safety check stopped this answer" in str(answer)
        assert (protocol, status, told, "bomb" in str(answer)) == (protocol, 400, True, False)


async def test_a_person_replaces_a_document_and_may_have_so_many(people: tuple[Person, Person]) -> None:
    ada, _ = people
    await ada.upload("a.txt", "First.")
    assert (await ada.send("PUT", "/documents/mine/a.txt", data=b"Second."))[0] == 409
    status, outcome = await ada.send("PUT", "/documents/mine/a.txt?overwrite=true", data=b"Second.")
    assert (status, outcome["name"], outcome["state"]) == (200, "mine/a.txt", "indexed")
    assert await ada.send("GET", "/content/mine/a.txt") == (200, "Second.")
    await ada.upload("b.txt", "Another.")
    status, refusal = await ada.upload("c.txt", "One too many.")
    assert (status, "You may have 2 documents" in refusal["error"]) == (413, True)
    assert sorted(await ada.listed()) == ["a.txt", "b.txt"]


async def test_an_own_document_that_cannot_be_read_is_listed_for_its_owner_alone(people: tuple[Person, Person]) -> None:
    ada, bob = people
    await ada.upload("a.txt", "First.")
    image = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    for name, data in (("a.txt", image), ("b.pdf", b"%PDF-1.7 nothing"), ("c.pdf", b"%PDF-1.7 nothing")):
        sent = await ada.send("PUT", f"/documents/mine/{name}?overwrite=true", data=data)
        assert sent[0] == 422
    _, listed = await ada.send("GET", "/documents/mine")
    assert [(one["name"], one["state"]) for one in listed["failed"]] == [
        (f"mine/{name}", "failed") for name in ("a.txt", "b.pdf", "c.pdf")
    ]
    assert "The document is damaged" in listed["failed"][1]["detail"]
    assert ([one["name"] for one in listed["documents"]], listed["used"]["documents"]) == (["mine/a.txt"], 1)
    assert await ada.listed() == ["a.txt"]
    assert await ada.send("GET", "/content/mine/a.txt") == (200, "First.")  # what was there stays
    assert (await bob.send("GET", "/documents/mine"))[1]["failed"] == []
    assert (await bob.send("DELETE", "/documents/mine/b.pdf"))[0] == 404
    assert (await ada.send("DELETE", "/documents/mine/b.pdf"))[0] == 204
    await ada.upload("a.txt", "Second.")
    _, listed = await ada.send("GET", "/documents/mine")
    assert [one["name"] for one in listed["failed"]] == ["mine/c.pdf"]
    assert (await ada.send("DELETE", "/documents/mine"))[0] == 204
    assert (await ada.send("GET", "/documents/mine"))[1]["failed"] == []


@pytest.mark.parametrize(
    "name", ["..%2f..%2fx.txt", ".hidden.txt", "", "a.exe", "%00.txt", "x" * 1_020 + ".txt", "a%5cb.txt"]
)
async def test_a_name_that_leads_elsewhere_is_refused(people: tuple[Person, Person], name: str) -> None:
    ada, _ = people
    status, refusal = await ada.send("PUT", f"/documents/mine/{name}", data=b"x")
    assert status == 400, refusal


async def test_others_are_not_found_by_the_names_in_the_store(people: tuple[Person, Person]) -> None:
    ada, bob = people
    await ada.upload("nettle.txt", NETTLE)
    folder = hashlib.sha256(b"key:ada").hexdigest()[:32]
    for path in (f"/content/.people/{folder}/nettle.txt", f"/content/mine/../{folder}/nettle.txt"):
        assert (await bob.send("GET", path))[0] == 404
    assert (await bob.forget(f"../{folder}/nettle.txt"))[0] == 404


async def test_a_slow_file_of_one_person_keeps_no_other_waiting_and_ends_when_its_sender_leaves(
    people: tuple[Person, Person], host: RunningHost
) -> None:
    ada, bob = people
    await bob.upload("first.txt", "Starts the server of the readers.")
    slow = HOSTILE_FILES["links.rtf"]()
    paths = ("/documents/mine/a.rtf", "/documents/mine/b.rtf")
    sending = [asyncio.create_task(ada.send("PUT", path, data=io.BytesIO(slow))) for path in paths]
    await asyncio.to_thread(wait_for_readers, host, 1)
    assert (await bob.upload("second.txt", "Bob waits for nobody."))[0] == 200
    assert not any(one.done() for one in sending), "else the file is not slow"
    for one in sending:
        one.cancel()  # closes the connection
    await asyncio.wait(sending)
    await asyncio.to_thread(wait_for_readers, host, 0)
    assert await ada.listed() == []
