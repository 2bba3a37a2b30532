"""The clients that people use read the running app: none of them finds anything wrong."""

import pytest

from tests.app.test_answers import QUESTION
from tests.conformance.__main__ import run
from tests.conformance.report import failures
from tests.local.running_host import RunningHost

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the app."""

PINNED = {
    "search-demo": "ai-chat",
    "search-demo-older": "ai-chat-2024-01-28",
    "chat-component": "rag-chat",
    "chatui-multi-agent": "semantic-kernel",
}
"""Clients that find their protocol on the bare routes, where their routes are pinned too."""


@pytest.mark.parametrize("bases", [{}, PINNED], ids=["as they come", "pinned"])
async def test_every_client_reads_every_route_that_it_uses(embedded: RunningHost, bases: dict[str, str]) -> None:
    cells = await run(embedded.url, QUESTION, bases)
    assert failures(cells) == ""
    offered = {cell.client.name for cell in cells if cell.checked}
    assert {"ai-chat-protocol", "search-demo", "search-demo-older", "chat-component"} <= offered
    assert {"chatui", "chatui-document", "semantic-kernel-python"} <= offered
