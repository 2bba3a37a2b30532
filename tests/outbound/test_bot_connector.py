"""The connector of Azure Bot Service: what it makes of answers."""

import asyncio

import pytest
from aiohttp import web

from shared.outbound.bot_connector import Connector
from shared.outbound.faults import ServiceFault
from shared.settings import Settings
from tests.stand_ins.identity_endpoint import identity_endpoint
from tests.stand_ins.local_server import LocalServer

SETTINGS = Settings.read({})


class BotService(LocalServer):
    """Answers each activity so."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__()
        self._status, self._body = status, body

    async def _serve(self, request: web.Request) -> web.Response:
        del request  # all get the same
        return web.Response(status=self._status, body=self._body, content_type="application/json")


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"id":"\xff"}', b'{"error":{"a":' + b"[" * 50_000 + b"}}"])
async def test_an_answer_that_is_none_of_json_counts_by_its_status(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    activity = {"type": "message", "text": "Hi.", "conversation": {"id": "c"}}
    async with (
        identity_endpoint("token") as (environment, _),
        BotService(201, body) as done,
        BotService(403, body) as no,
    ):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        connector = await asyncio.to_thread(Connector, SETTINGS)
        try:
            assert not await connector.send({**activity, "serviceUrl": done.endpoint})
            with pytest.raises(ServiceFault) as refused:
                await connector.send({**activity, "serviceUrl": no.endpoint})
        finally:
            await connector.aclose()
    assert refused.value.fault.status == 403
