"""More answers at once than a connection to the safety service takes streams: ASP.NET Core's default is 100."""

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from tests.app.guarded import Guarded, guarded
from tests.app.test_answers import QUESTION
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import RaiStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANSWERS = 120


@pytest.mark.parametrize("streams", [10, 100])
async def test_answers_that_are_open_at_once_are_all_given_with_their_sources(data_dir: Path, streams: int) -> None:
    async with (
        OpenAIStandIn() as model,
        RaiStandIn(streams=streams) as rai,
        guarded(data_dir, model, RAI_ENDPOINT=rai.endpoint, RAI_TIMEOUT_SECONDS="60") as app,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
    ):
        rai.released = asyncio.Event()
        crowd = Guarded(app.host, rai, model, http)
        before = len(rai.sessions)
        asked = [asyncio.create_task(crowd.post("/chat", QUESTION)) for _ in range(ANSWERS)]
        try:
            # One session for each question and its answer, and one for its sources.
            await rai.session_number(before + 2 * ANSWERS)
        finally:
            rai.released.set()
            answers = await asyncio.gather(*asked, return_exceptions=True)
    texts = [answer[1] for answer in answers if not isinstance(answer, BaseException) and answer[0] == 200]
    assert len(texts) == ANSWERS
    assert not [text for text in texts if "withheld" in text]
    assert all(json.loads(text)["context"]["data_points"]["text"] for text in texts)
