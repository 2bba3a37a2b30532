"""The services that `make live` knows, and what each needs in the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from uuid import uuid4

UNSAFE_TEXT = "LIVE_UNSAFE_TEXT"
"""The variable with a word or sentence that the safety service blocks under its policy."""


@dataclass(frozen=True, slots=True)
class LiveService:
    """A service with a contract."""

    name: str
    """What it is."""
    file: str
    """Its tests."""
    needed: tuple[tuple[str, ...], ...]
    """The settings that it needs, in each way to reach it."""

    def missing(self, environment: Mapping[str, str]) -> str:
        """What would have to be set, in words; empty if all of one way is there."""
        ways = [[name for name in way if not environment.get(name)] for way in self.needed]
        return "" if [] in ways else ", or ".join(" and ".join(way) for way in ways)


SERVICES = (
    LiveService(
        "Chat model (OpenAI, compatible or Azure OpenAI)",
        "tests/live/test_chat_model.py",
        (
            ("OPENAI_API_KEY", "OPENAI_CHAT_MODEL"),
            ("OPENAI_BASE_URL", "OPENAI_CHAT_MODEL"),
            ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_CHAT_DEPLOYMENT"),
        ),
    ),
    LiveService("Azure AI Search, index", "tests/live/test_search_index.py", (("AZURE_SEARCH_ENDPOINT",),)),
    LiveService("Azure AI Search, retriever", "tests/live/test_search_retriever.py", (("AZURE_SEARCH_ENDPOINT",),)),
    LiveService(
        "Chat history in Azure Table Storage",
        "tests/live/test_table_history.py",
        (("AzureWebJobsStorage__tableServiceUri",), ("AzureWebJobsStorage",)),
    ),
    LiveService(
        "Documents in Azure Blob Storage",
        "tests/live/test_blob_documents.py",
        (("CONTENT_STORAGE__blobServiceUri",), ("CONTENT_STORAGE",)),
    ),
    LiveService(
        "Safety service (RAI or Azure AI Content Safety)",
        "tests/live/test_safety.py",
        (("RAI_ENDPOINT", UNSAFE_TEXT), ("RAI_BACKEND", "CONTENT_SAFETY_ENDPOINT", UNSAFE_TEXT)),
    ),
)


@cache
def own_name() -> str:
    """A name for what this run writes: of lower-case letters and digits, and in no use."""
    return f"switchboardlive{uuid4().hex[:12]}"
