"""Runs: answers that outlive their request. They are followed, polled, resumed after a crash, and stopped.

A run is a folder of small objects in an `ObjectStore`, named by its id (44 hexadecimal digits, or 32 of its sender):

    {id}/request         what was asked (`records.RunRequest`), the body, and its files, each on a line
    {id}/state           `records.State`: owner, times, and which runner works on it
    {id}/chat            the chat that was begun for it, if one was
    {id}/tools/{place}   a call of a tool, in a turn with tools of servers: see `tools/calls.py`
    {id}/calls/{hash}-N  a model call that ended, so that a resumed run does not repeat it; never shown to anyone
    {id}/journal/J-N     a piece of its journal: events that the guard has let out, in their order
    {id}/result          the status and the body of the answer; a run is done if and only if it exists
    keys/{hash}          the run that an Idempotency-Key made
    chats/{hash}/…       the runs of a chat
    approvals/{id}       the call that an approval is for, and who asked
    open/{hash}/…        the approvals that an owner has open
    closed/{hash}/…      those that are decided, or out of time
    callers/{hash}       what a caller has begun, where that is limited
    going/{id}           an empty object while a run has neither ended nor waits for a person
    failed/{id}          an empty object for a run that ended with a fault of the app or of a service

Every object but the state and the calls of tools is written once (`NEW`), so that of two runners the first one wins.
`registry.Runs` accepts, shows, stops and deletes runs, `following.Followers` reads them, `running.Runner` runs one,
`consents.Consents` lets people decide about the calls that one waits for, and an `Engine` decides where those run that
nobody waits for. `upkeep.sweep` lets every run go on that has lost its runner, whether anybody asks for it or not. Two
stores: `folder_objects` in `DATA_DIR`, and `blob_objects`. Two engines: `in_process`, and `queue_engine` by Azure
Storage queues.

What uses the store raises `Unavailable` or `TooSlow` if it cannot be used: the run can then be run again.
"""

from collections.abc import AsyncGenerator
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

if TYPE_CHECKING:
    from shared.runs.records import State


class New(Enum):
    """The type of `NEW`."""

    NEW = "new"


NEW: Final = New.NEW
"""Instead of an ETag: the object must not exist yet."""


class Conflict(Exception):
    """Somebody else has written the object: it exists already, or has another version."""


class Stored(msgspec.Struct, frozen=True):
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


async def write_once(store: ObjectStore, name: str, data: bytes = b"") -> None:
    """Write an object, unless it exists already."""
    with suppress(Conflict):
        await store.write(name, data, NEW)


class Engine(Protocol):
    """Decides where and when runs run. It may run one twice: `Runner.run` keeps the second one out."""

    async def start(self, run_id: str, state: "State") -> None:
        """See to it that a run runs soon, here or elsewhere.

        Raises:
            Unavailable, TooSlow: this cannot be arranged now.
        """
        ...

    async def take(self, run_id: str, state: "State") -> None:
        """Run a run that a message names to its end, or leave it until its caller has room.

        Raises:
            Unavailable, TooSlow: it can be done neither now.
        """
        ...

    def has(self, run_id: str) -> bool:
        """Whether this process runs a run, or will as soon as there is room."""
        ...

    async def check(self) -> None:
        """Do nothing if runs can be started.

        Raises:
            Unavailable, TooSlow: they cannot; says what to do.
        """
        ...
