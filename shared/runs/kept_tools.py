"""Keeps the calls of tools of a run, and which of them a person is asked for."""

import secrets

import msgspec

from shared.errors import Unavailable
from shared.runs import NEW, New, ObjectStore
from shared.runs.records import CONSENT_SECONDS, State, decode, digest
from shared.tools.calls import KeptCall, Place

_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Of codes, without those that look like another."""
_CODE_LENGTH = 4
_MOST_TRIES = 20


class KeptTools:
    """The `CallBook` of a run.

    Args:
        store: Keeps the calls.
        run_id: The run.
        state: The state of the run, which names its owner.
        asks: Whether a person can be asked for consent.
    """

    def __init__(self, store: ObjectStore, run_id: str, state: State, *, asks: bool = True) -> None:
        self._store = store
        self._run_id = run_id
        self._owner = state.owner
        self._decided = state.decided
        self._etags: dict[Place, str | New] = {}
        self._codes: set[str] = set()
        self.asks = asks
        self.expires = state.created + CONSENT_SECONDS

    async def find(self, place: Place) -> KeptCall | None:
        """Return the call of a place; None: none is kept."""
        found = await self._store.read(self._name(place))
        self._etags[place] = found.etag if found else NEW
        return decode(found.data, KeptCall) if found else None

    async def put(self, place: Place, call: KeptCall) -> None:
        """Keep a call in place of the version that was found.

        Raises:
            Conflict: somebody else has changed it.
        """
        etag = self._etags.get(place, NEW)
        self._etags[place] = await self._store.write(self._name(place), msgspec.json.encode(call), etag)

    async def left(self) -> list[KeptCall]:
        """Return the calls that a person agreed to and that have not run."""
        calls = await calls_of(self._store, self._run_id) if self._decided else {}
        return [call for call in calls.values() if call.approval_id and call.state == "claimed"]

    def call_id(self, place: Place) -> str:
        """Return the id of a call in events."""
        return f"call_{digest(self._run_id, *map(str, place))[:24]}"

    async def new_code(self) -> str:
        """Make a code that no other call of the same owner has had of late.

        Raises:
            Unavailable: almost all are in use.
        """
        prefix = codes_of(self._owner)
        used = self._codes | {name.removeprefix(prefix) async for name in self._store.names(prefix)}
        for _ in range(_MOST_TRIES):
            code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
            if code not in used:
                self._codes.add(code)
                return code
        raise Unavailable("Too many calls wait for consent. Answer some, or try again later.")

    def _name(self, place: Place) -> str:
        return f"{tools_of(self._run_id)}{digest(place.agent)[:16]}-{place.round}-{place.position}"


def tools_of(run_id: str) -> str:
    """Where the calls of a run are kept."""
    return f"{run_id}/tools/"


async def calls_of(store: ObjectStore, run_id: str) -> dict[str, KeptCall]:
    """Return the calls of a run, by the names of their objects."""
    names = [name async for name in store.names(tools_of(run_id))]
    return {name: decode(found.data, KeptCall) for name in names if (found := await store.read(name))}


def codes_of(owner: str) -> str:
    """Where the approvals of an owner, by the hash, are found by code, decided ones too: an answer may come twice."""
    return f"codes/{owner[:32]}/"
