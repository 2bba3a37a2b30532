"""A PDF is indexed with images of its pages, a model that sees is shown them, and they come with the answer."""

import asyncio
import json
import os
import re
import shutil
import sys
from base64 import b64decode
from collections.abc import AsyncGenerator, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from PIL import Image

from shared.chat_types import Json
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.guarded import PROTOCOLS, guarded, records
from tests.app.test_answers import body
from tests.local.running_host import REPOSITORY, RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

PDF = REPOSITORY / "tests" / "reading" / "files" / "three-pages.pdf"
QUESTION = "What does a cup of green tea cost, and who cleans the kitchen?"
NEWEST: dict[str, Any] = {
    "use_gpt4v": None,
    "retrieval_mode": "hybrid",
    "semantic_ranker": False,
    "semantic_captions": False,
    "query_rewriting": False,
    "reasoning_effort": "minimal",
    "minimum_search_score": 0,
    "minimum_reranker_score": 0,
    "search_text_embeddings": True,
    "search_image_embeddings": False,
    "use_agentic_knowledgebase": False,
    "use_web_source": False,
    "use_sharepoint_source": False,
    "language": "en",
}
"""What the newest front end of azure-search-openai-demo sends with each question, and not what older ones do."""
SECOND, THIRD = "kitchen/tea.pdf#page=2", "kitchen/tea.pdf#page=3"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command makes of a PDF and a text with `PAGE_IMAGES`."""
    root = tmp_path_factory.mktemp("pictured")
    docs = root / "docs" / "kitchen"
    docs.mkdir(parents=True)
    shutil.copy(PDF, docs / "tea.pdf")
    dated = "---\ndate: 2025-03-01\n---\n\n"
    (docs / "leave.md").write_text(f"{dated}Who has leave does not clean the kitchen.", encoding="utf-8")
    await indexed(root / "docs", {"DATA_DIR": str(root / "data"), "PAGE_IMAGES": "true"})
    return root / "data"


async def indexed(docs: Path, settings: dict[str, str]) -> str:
    """Index a folder by the command; return what it prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "local.index_command", str(docs)),
        cwd=REPOSITORY,
        env={"PATH": os.environ["PATH"], **settings},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(data: Path, openai: OpenAIStandIn) -> AsyncGenerator[RunningHost]:
    async with hosted(data, openai.settings | NO_VECTORS) as host:
        yield host


def overriding(**overrides: Any) -> dict[str, Any]:
    return body(QUESTION, context={"overrides": {"use_gpt4v": True, "top": 5, **overrides}})


async def ask(host: RunningHost, http: aiohttp.ClientSession, path: str = "/chat", **overrides: Any) -> Any:
    async with http.post(host.url + path, json=overriding(**overrides)) as response:
        assert response.status == 200, await response.text()
        return await response.json() if not path.endswith("/stream") else records(await response.text())


def contexts(answer: Json) -> Iterator[Any]:
    """Whatever has data points in an answer, wherever its protocol has them."""
    if isinstance(answer, dict) and "data_points" in answer:
        yield answer
    elif isinstance(answer, dict | list):
        for value in answer.values() if isinstance(answer, dict) else answer:
            yield from contexts(value)


def shown(openai: OpenAIStandIn) -> list[Any]:
    """The parts of the question as the model was sent them."""
    messages = openai.chats[-1].body["messages"]
    assert isinstance(messages, list)
    question = messages[-1]
    assert isinstance(question, dict)
    content = question["content"]
    return content if isinstance(content, list) else [content]


def thought(context: dict[str, Any], title: str) -> dict[str, Any]:
    return next(found for found in context["thoughts"] if found["title"] == title)


@pytest.mark.parametrize("path", ["chat", "chat/stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_images_that_the_model_is_shown_come_with_the_answer_in_every_protocol(
    host: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn, protocol: str, path: str
) -> None:
    answer = await ask(host, http, f"/{protocol}/{path}")
    parts = shown(openai)
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert urls
    found = [*contexts(answer)]
    assert found
    for context in found:
        assert context["data_points"]["images"] == [{"detail": "auto", "url": url} for url in urls]
        assert len(context["data_points"]["text"]) > len(urls)


@pytest.mark.parametrize("protocol", ["ai-chat", "ai-chat-2026-04"])
@pytest.mark.parametrize("path", ["chat", "chat/stream"])
async def test_a_page_that_asks_for_images_by_their_newer_name_gets_plain_addresses(
    host: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn, protocol: str, path: str
) -> None:
    sent = {**NEWEST, "send_image_sources": True}
    async with http.post(f"{host.url}/{protocol}/{path}", json=body(QUESTION, context={"overrides": sent})) as response:
        context = json.loads((await response.text()).split("\n")[0])["context"]
    urls = [part["image_url"]["url"] for part in shown(openai) if part["type"] == "image_url"]
    assert urls
    assert context["data_points"]["images"] == urls


async def test_each_image_follows_its_name_and_is_the_page(
    host: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    answer = await ask(host, http)
    *images, last = shown(openai)
    named = {name["text"]: image["image_url"]["url"] for name, image in zip(images[::2], images[1::2], strict=True)}
    assert {f"{SECOND}:", f"{THIRD}:"} <= set(named)
    sources, _, asked = last["text"].partition(QUESTION)
    assert sources.startswith("Sources:\n")
    assert "in square brackets" in asked
    assert f"\nName: {SECOND}\n" in sources
    assert "Green tea" in sources
    media_type, _, encoded = named[f"{SECOND}:"].partition(";base64,")
    assert media_type == "data:image/jpeg"
    assert max(Image.open(BytesIO(b64decode(encoded))).size) > 1000
    messages: Json = openai.chats[-1].body["messages"]
    assert "images of some sources" in json.dumps(messages)
    images_thought = thought(answer["context"], "Images")
    assert {source["source"] for source in images_thought["description"]} == {name.rstrip(":") for name in named}
    assert "ignored_overrides" not in thought(answer["context"], "Generated search query")["props"]
    assert f"[image {SECOND}: image/jpeg" in json.dumps(thought(answer["context"], "Prompt"))
    assert "base64" not in json.dumps(answer["context"]["thoughts"])
    assert "Unverified" not in json.dumps(answer["context"]["thoughts"])


async def test_images_alone_leave_the_text_of_their_pages_out_of_the_prompt(
    host: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    answer = await ask(host, http, gpt4v_input="images")
    text = shown(openai)[-1]["text"]
    assert re.search(rf"Name: {SECOND}\n(Section: .+\n)?\n\(see its image\)", text)
    assert "Green tea" not in text
    assert "Who has leave does not clean the kitchen" in text  # it has no image
    assert "Name: kitchen/leave.md\nDate: 2025-03-01\n\n" in text
    assert "Green tea" in json.dumps(answer["context"]["data_points"]["text"])
    assert answer["context"]["data_points"]["images"]


@pytest.mark.parametrize("overrides", [{"gpt4v_input": "text"}, {"use_gpt4v": False}])
async def test_where_no_images_are_asked_for_there_are_none(
    host: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn, overrides: dict[str, Any]
) -> None:
    answer = await ask(host, http, **overrides)
    assert [type(part) for part in shown(openai)] == [str]
    assert "images" not in answer["context"]["data_points"]
    assert "Images" not in [found["title"] for found in answer["context"]["thoughts"]]
    assert "ignored_overrides" not in thought(answer["context"], "Generated search query")["props"]


async def test_a_model_that_does_not_see_answers_from_the_text_and_says_so(
    data: Path, built_in: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    newer = {"use_gpt4v": None, "send_text_sources": False, "send_image_sources": True}
    async with hosted(data, openai.settings | NO_VECTORS | {"CHAT_VISION": "false"}) as blind:
        for host, says in ((blind, "CHAT_VISION is false"), (built_in, "extractive model")):
            for overrides, name in (({}, "use_gpt4v"), (newer, "send_image_sources")):
                answer = await ask(host, http, "/chat", **overrides)
                assert "images" not in answer["context"]["data_points"]
                search = thought(answer["context"], "Generated search query")
                assert search["props"]["ignored_overrides"] == [name]
                assert says in thought(answer["context"], "Images")["props"]["note"]
        assert "Green tea" in shown(openai)[-1]


@pytest.mark.parametrize(
    ("text", "images", "in_prompt"),
    [
        (True, False, "text"),
        (True, True, "text, images"),
        (False, True, "images"),
        (False, False, ""),
    ],
)
async def test_the_newest_front_end_says_what_the_model_is_given_of_the_sources(
    host: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn, text: bool, images: bool, in_prompt: str
) -> None:
    sent = {**NEWEST, "send_text_sources": text, "send_image_sources": images}
    answer = await ask(host, http, "/chat", **sent)
    prompt = json.dumps(shown(openai))
    given = {"text": "Green tea" in prompt, "images": "data:image/jpeg" in prompt}
    assert ", ".join(name for name, there in given.items() if there) == in_prompt
    assert "Green tea" in json.dumps(answer["context"]["data_points"]["text"])
    assert ("images" in answer["context"]["data_points"]) == images
    props = thought(answer["context"], "Generated search query")["props"]
    assert "ignored_overrides" not in props
    assert (props["retrieval_mode"], "text only" in props["note"]) == ("text", True)


async def test_who_gives_the_model_no_source_gets_none_from_the_extractive_one_either(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    for off in (False, True):
        sent = {"send_text_sources": not off, "send_image_sources": False}
        async with http.post(built_in.url + "/chat", json=body(context={"overrides": sent})) as response:
            answer = await response.json()
        assert answer["context"]["data_points"]["text"]
        assert ("[" in answer["message"]["content"]) != off
        assert ("none of the sources" in json.dumps(answer["context"]["thoughts"])) == off


async def test_the_image_of_a_source_that_must_not_be_shown_is_withheld_with_it(
    data: Path, openai: OpenAIStandIn
) -> None:
    async with guarded(data, openai) as app:
        app.rai.find("Black")
        answer = await ask(app.host, app.http)
    (context,) = contexts(answer)
    sent = {
        name["text"]: image["image_url"]["url"]
        for name, image in zip(shown(openai)[:-1:2], shown(openai)[1:-1:2], strict=True)
    }
    urls = [image["url"] for image in context["data_points"]["images"]]
    assert sent[f"{SECOND}:"] not in urls
    assert sent[f"{THIRD}:"] in urls
    assert "Black" not in json.dumps(context)
    assert "Images" not in [found["title"] for found in context["thoughts"]]
