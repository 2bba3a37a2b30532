"""Who gets a run whose id the client gives."""

from pathlib import Path

import pytest

from shared.chat_types import Caller
from shared.errors import KeyReused
from shared.parts import build_service
from shared.runs import NEW
from shared.runs.folder_objects import FolderObjects
from shared.runs.in_process import InProcess
from shared.runs.records import RunRequest
from shared.runs.registry import NewRun, Runs
from shared.runs.running import Runner
from shared.settings import Settings
from shared.wire.request_body import Body

RUN = "0" * 32


def new(name: str, text: str = "What is paid?") -> NewRun:
    asked = RunRequest(protocol="openai", caller=Caller(name), budget_key=name, invocation_id="i")
    return NewRun(asked, Body({"messages": [{"role": "user", "content": text}]}), name, named=RUN)


async def nothing(_: str) -> None:
    pass


async def test_a_run_whose_acceptance_was_cut_off_goes_on_for_who_has_asked_and_for_nobody_else(tmp_path: Path) -> None:
    store, service = FolderObjects(tmp_path), build_service(Settings.read({"DATA_DIR": str(tmp_path)}))
    runs, ada = Runs(Runner(store, service, {}), InProcess(nothing)), new("ada")
    await store.write(f"{RUN}/request", ada.request.encode(ada.body), NEW)  # and then its process ends
    for other in (new("ben"), new("ada", "What else?")):
        with pytest.raises(KeyReused):
            await runs.accept(other)
    assert (await runs.accept(ada))[0] == RUN
    assert (await runs.find(RUN, "ada")).run_id == RUN
