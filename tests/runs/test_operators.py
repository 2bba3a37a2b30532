"""What the list of runs says of one that nobody works on, that cannot be read, or whose answer the caller has got."""

import time
from pathlib import Path

import msgspec

from shared.runs import NEW
from shared.runs.folder_objects import FolderObjects
from shared.runs.operators import list_runs
from shared.runs.records import STALE_SECONDS, Result, State

ALONE, REFUSED = "0" * 44, "1" * 44


async def test_a_run_without_a_sign_of_life_is_stuck_and_a_refused_one_is_none_of_theirs(tmp_path: Path) -> None:
    store, now = FolderObjects(tmp_path / "batches"), time.time()
    state = State("owner", now - 3600, now - 2 * STALE_SECONDS, runner="gone", runs=1)
    refused = msgspec.json.encode(Result(400, msgspec.Raw(b"{}")))
    for run_id in (ALONE, REFUSED):
        await store.write(f"{run_id}/state", msgspec.json.encode(state), NEW)
        await store.write(f"going/{run_id}", b"", NEW)
    await store.write(f"{REFUSED}/result", refused, NEW)
    await store.write(f"{ALONE}/request", b"damaged", NEW)
    (found,), end = await list_runs(store, "", 10, "")
    assert (found["id"], found["state"], found["wire"], found["age"], end) == (ALONE, "stuck", "", 3600, None)
    assert await list_runs(store, "running", 10, "") == ([], None)
    assert await list_runs(store, "stuck", 10, ALONE) == ([], None)
