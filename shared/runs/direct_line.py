"""Conversations that a client of Direct Line polls, such as Web Chat: what was said, kept for a day.

`direct/{owner}/{conversation}/{number}` is an activity, from 1 on without a gap: who polls reads the next ones by their
names. A message that changes comes again, with its id, as Web Chat has it.

Source: Microsoft, 'Direct Line API 3.0'; Web Chat 4.18, for what it reads in `channelData`.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from shared.chat_types import Json
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

    async def send(
        self,
        _service: str,
        conversation: str,
        activity: Mapping[str, Json],
        *,
        edits: str = "",
        patient: bool = True,  # noqa: ARG002 (as of a connector)
    ) -> str:
        """Add an activity, as `Connector.send` sends one; return its id."""
        if self._last is None:
            names = [name async for name in self._store.names(self._folder)]
            self._last = int(max(names, default="0").rpartition("/")[2])
        while True:
            self._last += 1
            whole = {**activity, "id": edits or activity.get("id") or f"{conversation}|{self._last:07}"}
            whole["timestamp"] = datetime.now(UTC).isoformat().replace("+00:00", "Z")
            whole["channelData"] = {**_streamed(activity, whole["id"]), **_channel_data(activity)}
            with suppress(Conflict):  # somebody else has said something meanwhile
                await self._store.write(self._name(self._last), msgspec.json.encode(whole), NEW)
                return str(whole["id"])

    async def since(self, number: int) -> tuple[list[Record], int]:
        """Return the activities after a number, and the number of the last one."""
        found = list[Record]()
        while len(found) < _MOST_POLLED and (stored := await self._store.read(self._name(number + 1))):
            found.append(msgspec.json.decode(stored.data))
            number += 1
        return found, number

    def _name(self, number: int) -> str:
        return f"{self._folder}{number:07}"


def _channel_data(activity: Mapping[str, Json]) -> Record:
    data = activity.get("channelData")
    return data if isinstance(data, dict) else {}


def _streamed(activity: Mapping[str, Json], own_id: Json) -> Record:
    """Return what says which message an activity streams: Web Chat reads it in another place than Teams.

    In the first one that is its own id: Web Chat takes those without one for the same message.
    """
    entities = activity.get("entities")
    for entity in entities if isinstance(entities, list) else ():
        match entity:
            case {"type": "streaminfo", **info}:
                return {"streamId": own_id, **info}
            case _:
                pass
    return {}
