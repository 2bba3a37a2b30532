"""What this process serves with: its settings and the parts built from them, each made once, when first needed.

They live as long as the process, and nothing closes them: its end closes the connections.
"""

import asyncio
import os
from functools import cache
from typing import TYPE_CHECKING

from shared.errors import NotConfigured
from shared.parts import build_runs, build_service, open_answers, open_target
from shared.runs import begin as runs_begin
from shared.runs.begin import Arrival, Followed
from shared.runtime.late_imports import Late, run_import
from shared.service import Service
from shared.settings import Settings
from shared.turns.accept import AcceptedRequest
from shared.wire.request_body import Body
from shared.wire.table import check_default_protocol

if TYPE_CHECKING:
    from shared.ingestion.document import Target
    from shared.runs.answer_queue import AnswerQueue
    from shared.runs.registry import Runs


@cache
def get_settings() -> Settings:
    """The settings of this process, read once; where they are wrong, the next call reads them again.

    Raises:
        NotConfigured: a setting is missing or wrong.
    """
    settings = Settings.read(os.environ)
    check_default_protocol(settings.chat_default_protocol)
    return settings


def valid_settings() -> Settings | None:
    """The settings of this process; None if they are wrong."""
    try:
        return get_settings()
    except NotConfigured:
        return None


_service = Late(lambda: build_service(get_settings()))
_target = Late(lambda: open_target(get_settings()))
_answers = Late(lambda: open_answers(get_settings()))


async def get_service() -> Service:
    """The service of this process, built at the first request.

    Raises:
        NotConfigured: a setting is missing or wrong.
    """
    return await _service.get()


async def get_target() -> "Target":
    """Where this process puts documents that its triggers are told of, opened for the first one.

    Raises:
        NotConfigured: a setting is missing or wrong.
    """
    return await _target.get()


async def get_answers() -> "AnswerQueue":
    """Where this process sends the answers to requests of a queue, opened for the first one.

    Raises:
        NotConfigured: a setting is missing or wrong.
    """
    return await _answers.get()


async def begin(accepted: AcceptedRequest, arrival: Arrival, body: Body) -> Followed:
    """Begin the run of a request with the parts of this process; see `shared/runs/begin.py`.

    Args:
        accepted: The request, read and checked.
        arrival: How it came in.
        body: Its body. The caller keeps it no longer than this, since its texts hold the files once more.

    Raises:
        SwitchboardError: it cannot begin.
    """
    beginning = runs_begin.begin(await get_service(), get_runs, accepted, arrival, body)
    del body
    return await beginning


_starting = asyncio.Lock()
_runs: "Runs | None" = None
_upkeep: asyncio.Task[None] | None = None


async def get_runs() -> "Runs | None":
    """The runs of this process; None: they are off.

    From the first call on they are looked after: those go on that an earlier process left.

    Raises:
        NotConfigured: a setting is missing or wrong.
    """
    global _runs, _upkeep  # noqa: PLW0603 (a worker process serves one app)
    settings = get_settings()
    if settings.batches == "off":
        return None
    service = await get_service()
    async with _starting:
        if _runs is None:
            _runs, keep_up = await run_import(build_runs, service)
            _upkeep = asyncio.create_task(keep_up()) if keep_up else None
    return _runs
