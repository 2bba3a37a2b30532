"""What chats in Azure Table Storage cost: a turn by the length of its chat, a page of the list by the number of chats.

The service is Azurite. Bytes are those of the bodies in both directions, CPU time is that of this process, which is the
app's share and a relay's that counts.
"""

import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

from bench.rounds import Comparison
from shared.chat_types import Role
from shared.history import HistoryStore, Mode, Page, StoredMessage
from shared.history.azure_table import HistoryTable
from shared.history.azure_table_history import AzureTableHistory
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.counted_storage import CountedStorage, counted

_MESSAGES = (2, 100, 400, 1_000)
_CHATS = (50, 500, 5_000)
_ROUNDS = 5
_MESSAGE = "word " * 300
"""1.5 kB."""
_PAGE = 50

type Taken = dict[str, dict[str, list[float]]]
"""By what is measured and by its size: a value a round."""


async def report() -> list[Comparison]:
    """Compare turns and pages."""
    return await compare(_MESSAGES, _CHATS, _ROUNDS)


async def compare(messages: tuple[int, ...], chats: tuple[int, ...], rounds: int) -> list[Comparison]:
    """Measure each size so often."""
    async with Azurite() as service, counted(service) as relay:
        history = AzureTableHistory(HistoryTable.of(relay.connection_string))
        try:
            turns = await _turns(history, relay, messages, rounds)
            pages = await _pages(history, relay, chats, rounds)
        finally:
            await history.aclose()
    return [
        Comparison(f"{what}, by {by}", unit, values, (next(iter(values)),))
        for what, by, taken in (("A turn", "the messages of its chat", turns), ("A page of 50", "the chats", pages))
        for unit, values in taken.items()
    ]


async def _turns(history: HistoryStore, relay: CountedStorage, messages: tuple[int, ...], rounds: int) -> Taken:
    taken: Taken = {}
    for size in messages:
        owner = uuid4().hex
        for _ in range(rounds):
            chat = await history.create(owner, Mode.STANDARD, "Title")
            for number in range(0, size - 2, 2):
                await history.write(owner, chat.id, _turn(number))

            async def write(chat_id: str = chat.id, owner: str = owner, size: int = size) -> object:
                return await history.write(owner, chat_id, _turn(size - 2))

            await _measure(taken, f"{size:,} messages", relay, write)
    return taken


async def _pages(history: HistoryStore, relay: CountedStorage, chats: tuple[int, ...], rounds: int) -> Taken:
    taken: Taken = {}
    for count in chats:
        owner = uuid4().hex
        for _ in range(count):
            chat = await history.create(owner, Mode.STANDARD, "Title")
            await history.write(owner, chat.id, _turn(0))

        async def page(owner: str = owner) -> object:
            return await history.conversations(owner, Page(limit=_PAGE))

        for _ in range(rounds):
            await _measure(taken, f"{count:,} chats", relay, page)
    return taken


async def _measure(taken: Taken, name: str, relay: CountedStorage, work: Callable[[], Awaitable[object]]) -> None:
    relay.traffic.take()
    begun = time.process_time()
    await work()
    spent = time.process_time() - begun
    for unit, value in (
        ("requests", relay.traffic.requests),
        ("kB", relay.traffic.bytes / 1000),
        ("milliseconds of CPU time", spent * 1000),
    ):
        taken.setdefault(unit, {}).setdefault(name, []).append(value)


def _turn(number: int) -> list[StoredMessage]:
    return [
        StoredMessage(f"message {number + place}", role, _MESSAGE, "2026-11-25T01:02:03.000Z")
        for place, role in enumerate((Role.USER, Role.ASSISTANT))
    ]
