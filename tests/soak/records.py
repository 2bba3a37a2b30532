"""What a soak has seen, and what is wrong with it."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

UNSAFE = "subhuman"
"""A word that the sample policy of the safety service blocks in what a model writes."""
TOLD_STATUSES = frozenset({200, 201, 204, 400, 404, 405, 408, 409, 413, 422, 429, 503, 504})
"""Statuses that a request of the load may get: no fault of the app is among them."""
LIBRARY_BYTES = 1_900
"""Bytes of each request that stay in the Functions worker library: see docs/performance.md, Memory."""
_MEMORY_LEEWAY = 48 * 1024 * 1024
"""Bytes that the memory of a process may grow beyond that once it is warm: about twice what the allocator has kept, by
then, for the largest requests of a soak. See docs/performance.md, Memory."""
_DESCRIPTOR_LEEWAY = 6
"""Descriptors that may be open more: a pooled connection or a file of the database."""


@dataclass
class Ledger:
    """What the app has acknowledged to have stored: message ids with their texts, by chat."""

    chats: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """The chats that exist."""
    questions: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Questions of turns that were answered and recorded, by chat."""
    deleted: set[str] = field(default_factory=set[str])
    """The chats of which a deletion was acknowledged."""
    writes: int = 0

    def created(self, chat: str) -> None:
        """Note an acknowledged chat."""
        self.chats[chat] = {}
        self.questions[chat] = set()
        self.writes += 1

    def stored(self, chat: str, messages: Mapping[str, str]) -> None:
        """Note acknowledged messages."""
        self.chats[chat] |= messages
        self.writes += 1

    def recorded(self, chat: str, question: str) -> None:
        """Note an answered turn of a chat."""
        self.questions[chat].add(question)
        self.writes += 1

    def removed(self, chat: str) -> None:
        """Note an acknowledged deletion."""
        self.forget(chat)
        self.deleted.add(chat)
        self.writes += 1

    def forget(self, chat: str) -> None:
        """Expect nothing of a chat any more: its deletion was asked for."""
        self.chats.pop(chat, None)
        self.questions.pop(chat, None)

    def lost(self, chat: str, found: Sequence[Mapping[str, object]] | None) -> list[str]:
        """What is missing of a chat, in words.

        Args:
            chat: Its id.
            found: Its messages as the app returns them; None: the app knows no such chat.
        """
        if chat in self.deleted:
            return [] if found is None else [f"chat {chat} is back after its deletion"]
        if found is None:
            return [f"chat {chat} is lost"]
        texts = {message.get("id"): message.get("content") for message in found}
        wanted = self.chats.get(chat, {})
        lost = [f"message {name} of chat {chat} is lost" for name, text in wanted.items() if texts.get(name) != text]
        said = set(texts.values())
        return lost + [f"a turn of chat {chat} is lost" for text in self.questions.get(chat, set()) if text not in said]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process holds while it has nothing to do."""

    requests: int
    """Requests that it has answered."""
    descriptors: int
    memory: int
    """Bytes of resident memory."""


def usage_of(pid: int, requests: int) -> Usage | None:
    """Measure a process; None where the system has no `/proc`."""
    process = Path(f"/proc/{pid}")
    if not process.exists():
        return None
    pages = int((process / "statm").read_text(encoding="ascii").split()[1])
    return Usage(requests, len(list((process / "fd").iterdir())), pages * 4096)


def growth(before: Usage, after: Usage) -> list[str]:
    """What has grown more than it may, in words."""
    requests = after.requests - before.requests
    wrong: list[str] = []
    if after.descriptors > before.descriptors + _DESCRIPTOR_LEEWAY:
        wrong.append(f"descriptors grew from {before.descriptors} to {after.descriptors} in {requests} requests")
    ours = after.memory - before.memory - requests * LIBRARY_BYTES
    if ours > _MEMORY_LEEWAY:
        wrong.append(f"memory grew by {ours // 1_000_000} MB beyond the worker library's in {requests} requests")
    return wrong


@dataclass
class Record:
    """All that a soak has seen."""

    random: random.Random
    secrets: Sequence[str] = ()
    """Words that nothing which comes from the app may have."""
    ledger: Ledger = field(default_factory=Ledger)
    requests: Counter[str] = field(default_factory=Counter[str])
    """By kind."""
    statuses: Counter[int] = field(default_factory=Counter[int])
    violations: list[str] = field(default_factory=list[str])
    aborts: int = 0
    cut_by_kills: int = 0
    """Requests whose connection broke because the app was killed."""
    kills: int = 0
    checked: int = 0
    """Bytes that were searched for what must not be there."""

    def answer(self, kind: str, status: int, text: str) -> None:
        """Note an answer, and check it."""
        self.statuses[status] += 1
        if status not in TOLD_STATUSES:
            self.wrong(f"{kind}: status {status}: {text[:200]}")
        self.search(kind, text)

    def search(self, where: str, text: str) -> None:
        """Look for what must not be there."""
        self.checked += len(text)
        lower = text.lower()
        for word in (UNSAFE, *self.secrets):
            if word.lower() in lower:
                self.wrong(f"{where}: has '{word}'")

    def wrong(self, words: str) -> None:
        """Note that something is wrong."""
        self.violations.append(words)
