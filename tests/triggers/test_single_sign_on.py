"""What is kept of a user who has signed in to Teams: the groups, for all processes, until the token expires."""

import time
from pathlib import Path

import msgspec

from shared.chat_types import Caller
from shared.history import owner_of
from shared.runs import NEW
from shared.runs.direct_line import folder_of
from shared.runs.folder_objects import FolderObjects
from shared.triggers.activity_invokes import with_groups
from tests.stand_ins.entra import ADA, STAFF, TENANT

USER = Caller(oid=ADA, tenant=TENANT)
KNOWN = Caller(oid=ADA, tenant=TENANT, groups=(STAFF,))


async def keep(store: FolderObjects, seconds: float) -> None:
    """Keep groups as the app does with a token that expires after so many seconds."""
    name = f"{folder_of(owner_of(USER))}groups"
    found = await store.read(name)
    kept = {"groups": [STAFF], "until": time.time() + seconds}
    await store.write(name, msgspec.json.encode(kept), found.etag if found else NEW)


async def test_a_token_is_asked_for_once_and_never_where_nobody_would_send_one(tmp_path: Path) -> None:
    store = FolderObjects(tmp_path)
    assert await with_groups(store, USER, may_ask=False) == (USER, False)
    asked = [await with_groups(store, USER, may_ask=True) for _ in range(2)]
    assert asked == [(USER, True), (USER, False)]


async def test_groups_outlive_a_process_and_end_with_the_token(tmp_path: Path) -> None:
    store, another = FolderObjects(tmp_path), FolderObjects(tmp_path)
    await keep(store, 3000)
    assert await with_groups(another, USER, may_ask=True) == (KNOWN, False)
    assert await with_groups(another, Caller(oid="another", tenant=TENANT), may_ask=False) != (KNOWN, False)
    await keep(store, 300)  # another token is asked for before that one expires
    assert await with_groups(another, USER, may_ask=True) == (KNOWN, True)
    await keep(store, -1)
    assert await with_groups(another, USER, may_ask=True) == (USER, True)
