"""Batches that outlive their request: a team's answer that is polled, resumed after a crash, and cancelled.

A batch is a folder of small objects in an `ObjectStore`, named by its id of 32 hexadecimal digits:

    {id}/request         what was asked: one line of JSON (`records.Asked`), then the body as it came
    {id}/state           `records.State`: owner, times, and which runner works on it
    {id}/calls/{hash}-N  a model call that ended, so that a resumed batch does not repeat it; never shown to anyone
    {id}/messages/N      an agent's message that the guard has let out, in the order in which they came
    {id}/result          the status and the body of the answer; a batch is done if and only if it exists
    keys/{hash}          the batch that an Idempotency-Key made

Every object but the state is written once (`NEW`), so that of two runners the first one wins. `desk.Batches` accepts,
shows and deletes batches, `running.run_batch` runs one, and an `Engine` decides where. Two stores: `folder_objects`
in `DATA_DIR`, and `blob_objects`. Two engines: `in_process`, and `queue_engine` by Azure Storage queues.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol


class New(Enum):
    """The type of `NEW`."""

    NEW = "new"


NEW: Final = New.NEW
"""Instead of an ETag: the object must not exist yet."""


class Conflict(Exception):
    """Somebody else has written the object: it exists already, or has another version."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as it was read."""

    data: bytes
    """Its bytes."""
    etag: str
    """Changes with each write."""


class ObjectStore(Protocol):
    """Small objects with versions, by name: parts of letters, digits and hyphens with `/` between.

    Several processes may use it. Every method raises `Unavailable` or `TooSlow` if the store cannot be used.
    """

    async def read(self, name: str) -> Stored | None:
        """Read an object; None if there is none."""
        ...

    async def write(self, name: str, data: bytes, etag: str | New) -> str:
        """Write an object whole; readers see the version before or this one.

        Args:
            name: Its name.
            data: Its bytes.
            etag: The version that it replaces; `NEW`: there must be none.

        Returns:
            Its new ETag.

        Raises:
            Conflict: another version is there, or the object has been deleted.
        """
        ...

    async def delete(self, name: str) -> None:
        """Delete an object if it exists."""
        ...

    def names(self, prefix: str = "", *, before: float | None = None) -> AsyncGenerator[str]:
        """List names, in any order.

        Args:
            prefix: What they begin with.
            before: Only objects that were last written before this Unix time; None: all.
        """
        ...


class Engine(Protocol):
    """Decides where and when batches run. It may run a batch twice: `run_batch` keeps the second one out."""

    async def start(self, batch_id: str) -> None:
        """See to it that a batch runs soon, here or elsewhere.

        Raises:
            Unavailable, TooSlow: this cannot be arranged now.
        """
        ...

    def cancel(self, batch_id: str) -> None:
        """Stop a batch that runs in this process, at once. A runner elsewhere finds out by its next heartbeat."""
        ...

    async def check(self) -> None:
        """Do nothing if batches can be started.

        Raises:
            Unavailable, TooSlow: they cannot; says what to do.
        """
        ...
