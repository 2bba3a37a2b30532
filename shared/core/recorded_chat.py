"""Writes a turn to its conversation: the question at once, what was shown meanwhile, and all of it at the end."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import replace

from shared.chat_types import RequestContext
from shared.errors import NotFound, SwitchboardError, log_fault
from shared.history import Edit, HistoryStore, StoredMessage, owner_of
from shared.runtime.background import in_background

_log = logging.getLogger("switchboard.history")

WRITE_SECONDS = 5.0
"""How long the end of an answer waits for a store."""
QUESTION_SECONDS = 1.0
"""How long a turn waits until its question is written; then it begins, and the store may still be writing."""
SHOWN_SECONDS = 5.0
"""Time between two writes of what has been shown of an answer."""
_FINISH_SECONDS = 0.5
"""Writing stops this long before the turn's deadline, so that the complete answer still goes out in time."""


def time_limit(context: RequestContext) -> float:
    """Return until when the end of an answer waits for a store, on the event loop's clock."""
    return min(asyncio.get_running_loop().time() + WRITE_SECONDS, context.deadline - _FINISH_SECONDS)


class RecordedChat:
    """The conversation that a turn is written to, by one write at a time.

    A write that has begun is never cut off: a store might still do it later, and so undo the next one.

    Args:
        history: The store.
        context: The context of the request.
        conversation_id: The conversation.
        asked: The question, or the newest results of the caller's tools.
        shown: Returns that with what has been shown of the answer.
        replaced: Returns those of the chat's messages that the turn replaces; None: it replaces none.
    """

    def __init__(
        self,
        history: HistoryStore,
        context: RequestContext,
        conversation_id: str,
        asked: Sequence[StoredMessage],
        shown: Callable[[], Iterable[StoredMessage]],
        replaced: Callable[[Sequence[StoredMessage]], Sequence[StoredMessage]] | None = None,
    ) -> None:
        self._history = history
        self._context = context
        self._id = conversation_id
        self._asked = asked
        self._shown = shown
        self._find_replaced = replaced
        self._replaced: Sequence[StoredMessage] = ()
        self._written: dict[str, StoredMessage] = {}
        self._latest: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, *, keeps_up: bool) -> None:
        """Write the question; return when it is written, or the store has failed or takes too long.

        A question that is in the chat already stays there with its answer until there is something of the new one.

        Args:
            keeps_up: Whether what is shown is written from then on, until the turn ends. A run has its journal for it.
        """
        self._latest = in_background(self._write_so_far())
        if keeps_up:
            self._timer = asyncio.get_running_loop().call_later(SHOWN_SECONDS, self._keep_up)
        await asyncio.wait({self._latest}, timeout=QUESTION_SECONDS)

    def keep_up_no_more(self) -> None:
        """Begin no write of what has been shown any more."""
        if self._timer:
            self._timer.cancel()

    async def end(self, messages: Iterable[StoredMessage], *, in_time: bool = True) -> str | None:
        """Write the messages of a turn that has ended; return a sentence for the user if that failed.

        Args:
            messages: The messages. The question is taken back if it is not one of them.
            in_time: Whether the end of the answer waits for it.
        """
        self.keep_up_no_more()
        limit = time_limit(self._context) if in_time else asyncio.get_running_loop().time() + WRITE_SECONDS
        try:
            async with asyncio.timeout_at(limit):
                if self._latest:
                    await asyncio.wait({self._latest})
                await self._write(messages)
        except NotFound:
            return None  # deleted, or another owner's: the caller must not learn which
        except SwitchboardError as error:
            _log.warning("invocation %s: turn not recorded: %s", self._context.invocation_id, error.message)
            return f"This turn was not recorded. {error.message}"
        except TimeoutError:
            _log.warning("invocation %s: turn not recorded: the store took too long", self._context.invocation_id)
            return "This turn may not have been recorded: the chat history took too long."
        except Exception as error:  # noqa: BLE001 (a fault of the store must not stop a complete answer)
            log_fault(error, self._context.invocation_id)
            return "This turn was not recorded: the chat history failed on our side."
        return None

    def _keep_up(self) -> None:
        if self._latest and self._latest.done():
            self._latest = in_background(self._write_so_far())
        self._timer = asyncio.get_running_loop().call_later(SHOWN_SECONDS, self._keep_up)

    async def _write_so_far(self) -> None:
        with suppress(Exception):  # the write at the end is tried in any case, and says what is wrong
            if self._find_replaced:
                kept = await self._history.messages(owner_of(self._context.caller), self._id)
                self._replaced, self._find_replaced = self._find_replaced(kept), None
            shown = [*self._shown()]
            if not self._replaced or len(shown) > len(self._asked):
                await self._write(shown)

    async def _write(self, messages: Iterable[StoredMessage]) -> None:
        """Write those that are not written as they are; take back what they replace, and a question not among them."""
        by_id = {message.id: message for message in messages}
        new = [one for one in by_id.values() if not _is_same(one, self._written.get(one.id))]
        taken_back = [one for one in (*self._replaced, *self._asked) if one.id not in by_id]
        if new or taken_back:
            await self._history.write(owner_of(self._context.caller), self._id, new, Edit(taken_back=taken_back))
            self._written |= {one.id: one for one in new}
            self._replaced = ()


def _is_same(message: StoredMessage, written: StoredMessage | None) -> bool:
    """Whether a message was written as it is, whenever that was."""
    return written is not None and replace(message, timestamp=written.timestamp) == written
