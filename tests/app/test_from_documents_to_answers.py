"""The whole way: the sample documents indexed by the command, and asked about over HTTP, with and without vectors."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest

from tests.app.conftest import hosted
from tests.app.test_answers import body
from tests.local.running_host import REPOSITORY
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that makes the vectors."""


async def index(data_dir: Path, settings: Mapping[str, str], folder: str | Path = "samples/documents") -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "local.index_command", str(folder)),
        cwd=REPOSITORY,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir), **settings},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed
    return printed.decode()


async def test_the_samples_answer_in_english_and_german_and_open_where_they_are_cited(
    tmp_path: Path, http: aiohttp.ClientSession
) -> None:
    assert "7 indexed" in await index(tmp_path, {})
    asked = {
        "Does the Standard plan cover eye exams?": ("one eye exam", "health/eye-and-dental-care.md"),
        "How long do I have to appeal a refused claim?": ("180 days", "health/health-plans-handbook.pdf#page=5"),
        "Wie lange bekomme ich bei Krankheit Lohnfortzahlung?": ("sechs Wochen", "leave/Urlaubsregelung.md"),
        "What is the capital of France?": ("The documents do not seem to have this.", ""),
    }
    async with hosted(tmp_path, {}) as host:
        for question, (says, cites) in asked.items():
            async with http.post(host.url + "/chat", json=body(question)) as response:
                text = (await response.json())["message"]["content"]
            assert says in text
            assert (f"[{cites}]" in text) == bool(cites)
            if cites:
                async with http.get(f"{host.url}/content/{cites}") as document:
                    assert document.status == 200


async def test_with_an_embedding_model_the_samples_are_searched_by_meaning_too(
    tmp_path: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    await index(tmp_path, openai.settings)
    async with hosted(tmp_path, openai.settings) as host:
        async with http.get(host.url + "/health") as response:
            assert (await response.json())["parts"]["retrieval"]["vectors"] is True
        for asked_for, searched in ((None, "hybrid"), ("vectors", "vectors"), ("hybrid", "hybrid"), ("text", "text")):
            overrides = {"retrieval_mode": asked_for, "top": 3, "exclude_category": "health"}
            async with http.post(host.url + "/chat", json=body(context={"overrides": overrides})) as response:
                context = (await response.json())["context"]
            assert context["thoughts"][1]["props"]["retrieval_mode"] == searched
            assert context["data_points"]["text"]
            assert not [point for point in context["data_points"]["text"] if point.startswith("health/")]


async def test_an_index_of_another_embedding_model_is_told_and_not_searched(
    tmp_path: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    await index(tmp_path, openai.settings)
    async with hosted(tmp_path, openai.settings | {"OPENAI_EMBEDDING_MODEL": "another"}) as host:
        assert "make index" in host.log()
        async with http.post(host.url + "/chat", json=body()) as response:
            assert response.status == 503
            assert "make index" in (await response.json())["error"]
