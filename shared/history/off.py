"""History that is switched off: there is no conversation, and none can be started."""

from collections.abc import Sequence
from typing import NoReturn

from shared.chat_types import PartHealth
from shared.errors import NotFound
from shared.history import Conversation, Mode, StoredMessage


class NoHistory:
    """A `HistoryStore` that keeps nothing and says so."""

    async def create(self, owner: str, mode: Mode, title: str) -> Conversation:
        """There is nowhere to start one."""
        del owner, mode, title
        _refuse()

    async def conversations(self, owner: str, mode: Mode | None = None) -> Sequence[Conversation]:
        """There is no list."""
        del owner, mode
        _refuse()

    async def messages(self, owner: str, conversation_id: str) -> Sequence[StoredMessage]:
        """There are none."""
        del owner, conversation_id
        _refuse()

    async def write(self, owner: str, conversation_id: str, messages: Sequence[StoredMessage]) -> Conversation:
        """There is nothing to write to."""
        del owner, conversation_id, messages
        _refuse()

    async def delete(self, owner: str, conversation_id: str) -> None:
        """There is nothing to delete."""
        del owner, conversation_id
        _refuse()

    async def check(self) -> PartHealth:
        """Nothing can be wrong with it."""
        return PartHealth("off", ok=True, detail="No chats are kept (HISTORY_BACKEND).", needed=False)


def _refuse() -> NoReturn:
    raise NotFound("This app keeps no chats: HISTORY_BACKEND is 'off'.")
