"""What the audit record has, and what is left of it in memory while its store is away."""

import asyncio
import json

import pytest

import shared.audit
from shared.audit import Audit, without_texts
from shared.errors import Unavailable


class Store:
    """Keeps lines, as long as it is not away."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.works = asyncio.Event()

    async def append(self, lines: bytes) -> None:
        await self.works.wait()
        self.lines += lines.splitlines()


async def test_of_lines_that_could_not_be_written_in_time_none_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    audit = Audit(store, texts=False, required=True)
    with monkeypatch.context() as shorter:
        shorter.setattr(shared.audit, "_SECONDS", 0.05)
        refused = await asyncio.gather(*(audit.write("asked", "ada") for _ in range(9)), return_exceptions=True)
    assert {type(one) for one in refused} == {Unavailable}
    store.works.set()
    await audit.write("answered", "ada")
    assert [json.loads(line)["audit"] for line in store.lines] == ["answered"]


@pytest.mark.parametrize("path", ["/api/documents/mine/a raise.md", "/API/Documents/Mine/a raise.md"])
def test_the_name_of_a_document_of_ones_own_is_left_out_however_its_path_is_written(path: str) -> None:
    kept = without_texts({"audit": "act", "path": path})["path"]
    assert (str(kept).lower(), "raise" in str(kept)) == ("/api/documents/mine/", False)
