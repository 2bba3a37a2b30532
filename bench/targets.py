"""What can be asked for a streamed answer: our app in its protocols, what it is compared with, and the model itself."""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from bench.caller import Answer, Connection
from bench.processes import OTHER_CORE, SERVER_CORE, Child, running
from shared.chat_types import Passage
from shared.retrieval import FileEntry
from shared.retrieval.sqlite.index import SqliteIndex
from shared.wire.protocol import QUESTION
from shared.wire.table import PROTOCOLS as PROTOCOL_TABLE
from tests.retrieval.azure_search.azure_search import search_service
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.identity_endpoint import identity_endpoint

OURS = "ours"
PROTOCOLS = {
    "ai-chat": 1,
    "ai-chat-2024-01-28": 1,
    "semantic-kernel": 2,
    "semantic-kernel-python": 1,
    "openai": 1,
    "openai-responses": 5,
    "ag-ui": 1,
    "ai-sdk": 1,
}
"""Those that are measured, and how often each says a token in its stream."""

_BODY = json.dumps(QUESTION).encode()
_PASSAGES = (
    Passage("1", "The Standard plan pays for one eye exam in each plan year.", "plan.pdf#page=3", "plan.pdf"),
    Passage("2", "Glasses are paid after two years of membership.", "glasses.md", "glasses.md"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """Something that streams an answer."""

    server: Child
    """Its process."""
    path: str
    """Where its answers are."""
    marks: int = 1
    """How often it says each token."""
    invocation: str = ""
    """The function that the worker invokes for a request, and the route's parameter; empty where there is no worker."""
    body: bytes = _BODY
    """What it is asked."""

    async def connect(self) -> Connection:
        """A new connection."""
        return await Connection.to(self.server.address)

    async def ask(self, connection: Connection) -> Answer:
        """Ask once; the answer has one arrival a token."""
        answer = await connection.ask(self.request())
        answer.arrivals = answer.arrivals[:: self.marks]
        return answer

    def request(self) -> bytes:
        """A request to send at once: its invocation is on the way."""
        invocation_id = str(uuid4())
        if self.invocation:
            self.server.tell(f"invoke {invocation_id} {self.invocation}")
        head = (
            f"POST {self.path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"x-ms-invocation-id: {invocation_id}\r\ncontent-length: {len(self.body)}\r\n\r\n"
        )
        return head.encode() + self.body


@dataclass(frozen=True, slots=True)
class Field:
    """All that runs while streams are measured."""

    upstream: Child
    """The model."""
    direct: Target
    """The model itself."""
    relay: Target
    """Bytes passed through unread."""
    baseline: Target
    """The SDK's typed stream."""
    ours: dict[str, Target]
    """Our app by protocol."""
    settings: dict[str, str]
    """The environment that our app runs with."""

    async def plan(self, tokens: int, gap: float = 0.0) -> None:
        """Say what the model's next answers are: how many tokens, and the seconds between two."""
        await self.upstream.order(f"plan {tokens} {gap}")


@asynccontextmanager
async def field() -> AsyncGenerator[Field]:
    """Start everything: the servers share one core, one of them at work at a time."""
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(running("bench.upstream", core=OTHER_CORE))
        env = model_settings(upstream)
        data = stack.enter_context(TemporaryDirectory())
        await make_index(Path(data) / "index.sqlite")
        relay = await stack.enter_async_context(running("bench.relay", env, core=SERVER_CORE))
        baseline = await stack.enter_async_context(running("bench.baseline", env, core=SERVER_CORE))
        settings = env | {"DATA_DIR": data, "HISTORY_BACKEND": "off"}
        ours = await stack.enter_async_context(running("bench.worker_server", settings, core=SERVER_CORE))
        yield Field(
            upstream,
            Target(upstream, "/v1/chat/completions"),
            Target(relay, "/chat/stream"),
            Target(baseline, "/chat/stream"),
            {
                name: Target(ours, f"/api/{name}/chat/stream", marks, f"pinned_chat_stream {name}", _body(name))
                for name, marks in PROTOCOLS.items()
            },
            settings,
        )


def _body(protocol: str) -> bytes:
    return json.dumps(PROTOCOL_TABLE[protocol].example).encode()


def model_settings(upstream: Child) -> dict[str, str]:
    """The environment that points an app at the model."""
    return {
        "OPENAI_BASE_URL": f"{upstream.address}/v1",
        "OPENAI_API_KEY": "sk-bench-0123456789",
        "OPENAI_CHAT_MODEL": "gpt-4o",
    }


@asynccontextmanager
async def in_azure(endpoint: str, token: str) -> AsyncGenerator[dict[str, str]]:
    """Start what stands in for the services that an app in Azure has beside its model.

    Args:
        endpoint: Where its model is, as Azure OpenAI.
        token: What its identity gives the app for that.

    Yields:
        The environment of an app that signs in to Azure OpenAI by its identity, searches Azure AI Search, and keeps its
        chats and budgets in tables and its documents in blobs.
    """
    async with identity_endpoint(token) as (identity, _), search_service(_PASSAGES) as search, Azurite() as azurite:
        yield {
            **identity,
            **search.settings,
            "AZURE_OPENAI_ENDPOINT": endpoint,
            "AZURE_OPENAI_CHAT_DEPLOYMENT": "gpt-4o",
            "AzureWebJobsStorage": azurite.connection_string,
            "CONTENT_STORAGE": azurite.connection_string,
            "HISTORY_BACKEND": "azure-table",
            "LIMIT_BACKEND": "azure-table",
            "LIMIT_TOKENS_PER_DAY": "1000000000",
        }


async def make_index(path: Path) -> None:
    """Write the two passages that are searched."""
    index = SqliteIndex(path)
    for passage in _PASSAGES:
        await index.replace(FileEntry(passage.sourcefile, "1", [passage]))
    await index.aclose()
