"""Conversations that a client of Direct Line polls, such as Web Chat: what was said, kept for a day.

`direct/{owner}/{conversation}/{number}` is an activity, from 1 on without a gap: who polls reads the next ones by their
names. A message that changes comes again, with its id, as Web Chat has it.

Source: Microsoft, 'Direct Line API 3.0'; Web Chat 4.18, for what it reads in `channelData`.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from shared.runs import NEW, Conflict, ObjectStore
from shared.runs.records import digest
from shared.wire.protocol import Record

_MOST_POLLED = 100
"""Activities that one poll gets."""


def folder_of(owner: str) -> str:
    """Return where the conversations of an owner are."""
    return f"direct/{digest(owner)[:32]}/"


class DirectLine:
    """A conversation.

    Args:
        store: Keeps it.
        owner: Whose it is.
        conversation: Its id.
    """

    def __init__(self, store: ObjectStore, owner: str, conversation: str) -> None:
        self._store = store
        self._folder = f"{folder_of(owner)}{digest(conversation)[:32]}/"
        self._last: int | None = None
        """The newest number that is known."""

    async def send(self, activity: Mapping[str, Any], *, edits: str = "", patient: bool = True) -> str:  # noqa: ARG002 (as of a connector)
        """Add an activity, as `Connector.send` sends one; return its id."""
        if self._last is None:
            names = [name async for name in self._store.names(self._folder)]
            self._last = int(max(names, default="0").rpartition("/")[2])
        while True:
            self._last += 1
            own_id = edits or activity.get("id") or f"{activity['conversation']['id']}|{self._last:07}"
            # Web Chat reads in `channelData` which message an activity streams. In the first one that is its own id: it
            # takes those without one for the same message.
            streams = (one for one in activity.get("entities") or () if one.get("type") == "streaminfo")
            data: Record = {}
            for info in streams:
                data |= {"streamId": own_id} | {key: info[key] for key in info if key != "type"}
            data |= activity.get("channelData") or {}
            whole: Record = {**activity, "id": own_id, "channelData": data}
            whole["timestamp"] = datetime.now(UTC).isoformat().replace("+00:00", "Z")
            with suppress(Conflict):  # somebody else has said something meanwhile
                await self._store.write(self._name(self._last), msgspec.json.encode(whole), NEW)
                return own_id

    async def since(self, number: int) -> tuple[list[Record], int]:
        """Return the activities after a number, and the number of the last one."""
        found = list[Record]()
        while len(found) < _MOST_POLLED and (stored := await self._store.read(self._name(number + 1))):
            found.append(msgspec.json.decode(stored.data))
            number += 1
        return found, number

    def _name(self, number: int) -> str:
        return f"{self._folder}{number:07}"
