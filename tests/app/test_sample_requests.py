"""The requests in `samples/` do what they say on the sample documents, and leave no route and no protocol out."""

import json
import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from shared.chat_types import Json
from shared.wire.table import NAMES, PROTOCOLS
from tests.app.conftest import hosted
from tests.app.test_from_documents_to_answers import index
from tests.description.documents import OPENAPI
from tests.description.test_documents import indexed, operations
from tests.local.running_host import REPOSITORY, RunningHost

ON_ONE_LOOP = pytest.mark.asyncio(loop_scope="session")

SAMPLES = REPOSITORY / "samples"
DOCUMENTS = [path.relative_to(SAMPLES / "documents").as_posix() for path in (SAMPLES / "documents").rglob("*.*")]
TEXTS = {"content", "Content", "text", "Text", "output_text", "delta"}
BESIDE_THE_ANSWER = {"context", "metadata", "Metadata"}
STARTS_A_CHAT = ("POST", "/chat-history")
NEEDS_SAFETY_SERVICE = "/rai/"
VARIABLE = re.compile(r"\{\{(?:chat|batch|response|answer|approval|shared)\}\}")
NEEDS_SIGN_IN = {
    "/messages",
    "/mcp/oauth-protected-resource",
    "/documents/mine",
    "/chat-history/{{chat}}/share",
    "/shared/{{shared}}",
}
NEEDS_TO_BE_NAMED = {
    ("GET", "/feedback"),
    ("GET", "/runs?limit=20"),
    ("POST", "/runs/{{batch}}/stop"),
    ("POST", "/runs/{{batch}}/retry"),
}
NEEDS_AN_APPROVAL = "{{approval}}"


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A request as the file has it, with its variables."""

    name: str
    """What it is for."""
    method: str
    """Of HTTP."""
    path: str
    """Below the host, with the query."""
    headers: dict[str, str]
    """As they are written."""
    body: bytes
    """With its files."""

    def filled(self, started: str) -> tuple[str, bytes]:
        """The path and the body with the id of the chat, or the batch, that they name."""
        return VARIABLE.sub(started, self.path), VARIABLE.sub(started, self.body.decode("latin-1")).encode("latin-1")


def read_requests() -> Iterator[SampleRequest]:
    """The file as REST Client reads it.

    Source: its README, 'Usage' and 'Variables'; the lines of a form end in CR LF.
    """
    file = (SAMPLES / "requests.http").read_text(encoding="utf-8")
    variables, *requests = re.split(r"^### ", file, flags=re.MULTILINE)
    named = ["host", "chat", "batch", "response", "answer", "approval", "shared"]
    assert re.findall(r"^@(\w+) = \S+$", variables, re.MULTILINE) == named
    for request in requests:
        head, _, body = request.strip().partition("\n\n")
        name, line, *headers = head.split("\n")
        method, url = line.split(" ")
        assert url.startswith("{{host}}/")
        fields = dict(header.split(": ") for header in headers)
        lines = [
            (SAMPLES / part.removeprefix("< ")).read_bytes() if part.startswith("< ") else part.encode()
            for part in body.split("\n")
        ]
        end = b"\r\n" if fields.get("Content-Type", "").startswith("multipart/") else b"\n"
        yield SampleRequest(name, method, url.removeprefix("{{host}}"), fields, end.join(lines))


REQUESTS = list(read_requests())
WITH_NOTHING_CONFIGURED = [
    one
    for one in REQUESTS
    if one.path not in NEEDS_SIGN_IN
    and NEEDS_SAFETY_SERVICE not in one.path
    and (one.method, one.path) not in NEEDS_TO_BE_NAMED
    and NEEDS_AN_APPROVAL not in one.path
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample documents, indexed."""
    folder = tmp_path_factory.mktemp("samples")
    await index(folder, {})
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(samples: Path) -> AsyncGenerator[RunningHost]:
    async with hosted(samples, {}) as host:
        yield host


async def started_for(host: RunningHost, http: aiohttp.ClientSession, request: SampleRequest) -> str:
    """The id of what a sample starts, a batch, a chat or an answer, so that this request can name it."""
    if "{{batch}}" in request.path:
        (start,) = (one for one in REQUESTS if "Prefer" in one.headers)
    elif "{{response}}" in request.path:
        (start,) = (one for one in REQUESTS if b'"background"' in one.body)
    elif b"{{answer}}" in request.body:
        return json.loads(await sent(host, http, REQUESTS[0], ""))["context"]["answer_id"]
    else:
        (start,) = (one for one in REQUESTS if (one.method, one.path) == STARTS_A_CHAT)
    return json.loads(await sent(host, http, start, ""))["id"]


async def sent(host: RunningHost, http: aiohttp.ClientSession, request: SampleRequest, started: str) -> bytes:
    path, body = request.filled(started)
    async with http.request(request.method, host.url + path, headers=request.headers, data=BytesIO(body)) as response:
        answer = await response.read()
        assert response.ok, answer
        return answer


def said(answer: bytes) -> str:
    """The text of an answer in any protocol, whole or streamed."""
    lines = [line.removeprefix("data: ") for line in answer.decode().split("\n")]
    return "".join(text for line in lines if line.startswith(("{", "[{")) for text in texts_in(json.loads(line)))


def texts_in(value: Json) -> Iterator[str]:
    match value:
        case dict():
            for key, item in value.items():
                if key in TEXTS and isinstance(item, str):
                    yield item
                elif key not in BESIDE_THE_ANSWER:
                    yield from texts_in(item)
        case list():
            for item in value:
                yield from texts_in(item)
        case _:
            return


def in_route(path: str) -> str:
    """A path as a route has it."""
    path = VARIABLE.sub("{id}", path.partition("?")[0]).replace("/models/switchboard", "/models/{id}")
    return path if path in NEEDS_SIGN_IN else re.sub(r"^/(content|documents)/.*", r"/\1/{path}", path)


def test_no_route_is_left_out() -> None:
    pinned = {"{protocol}", *PROTOCOLS}
    bare = {(path, method) for path, method in indexed() if path.split("/")[1] not in pinned and method != "head"}
    bare.remove(("/playground/{digest}/{path}", "get"))  # the page alone knows these addresses
    assert bare <= {(in_route(one.path), one.method.lower()) for one in REQUESTS}


@pytest.mark.parametrize("name", NAMES)
def test_no_protocol_is_left_out(name: str) -> None:
    routes = {one.path for one in REQUESTS}
    assert {f"/{name}/ask"} & routes if name == "rag-chat" else {f"/{name}/chat", f"/{name}/chat/stream"} <= routes


@ON_ONE_LOOP
@pytest.mark.parametrize("request_", WITH_NOTHING_CONFIGURED, ids=lambda one: one.name)
async def test_a_request_succeeds_with_nothing_configured_and_an_answer_cites(
    host: RunningHost, http: aiohttp.ClientSession, request_: SampleRequest
) -> None:
    answer = await sent(host, http, request_, await started_for(host, http, request_))
    if "Prefer" in request_.headers or b'"background"' in request_.body:
        assert json.loads(answer)["status"] in {"queued", "running"}  # it may have begun by now
    elif request_.path.endswith(("/chat", "/ask", "/stream", "/batch", "/completions", "/responses", "/ag-ui")):
        cited = ["doc1"] if request_.path.startswith("/azure-openai/") else DOCUMENTS
        assert [name for name in cited if f"[{name}" in said(answer)]


@ON_ONE_LOOP
async def test_what_the_safety_service_says_is_told_once_there_is_one(
    samples: Path, http: aiohttp.ClientSession
) -> None:
    async with hosted(samples, {"RAI_MODE": "annotate"}) as host:
        of_a_text, of_a_conversation = [
            await sent(host, http, one, "") for one in REQUESTS if NEEDS_SAFETY_SERVICE in one.path
        ]
    assert json.loads(of_a_text)["blocked"]
    assert b"END_REASON_END_OF_STREAM" in of_a_conversation


@ON_ONE_LOOP
async def test_each_example_of_the_openapi_document_can_be_sent_as_it_stands(
    host: RunningHost, http: aiohttp.ClientSession
) -> None:
    """Postman and others fill a request with it. What it names, such as a call or an answer, need not exist here."""
    for path, method, operation in operations(OPENAPI):
        if "requestBody" in operation:
            url = host.url + re.sub(r"\{.*?\}", lambda one: "ai-chat" if one[0] == "{protocol}" else "0" * 32, path)
            example = operation["requestBody"]["content"]["application/json"]["example"]
            async with http.request(method, url, json=example) as response:
                answer = await response.text()
            missing = "rai" in path or "{" in path or operation["operationId"] in {"give_feedback", "take_activity"}
            assert response.ok or (missing and response.status in {404, 503}), (path, answer)
