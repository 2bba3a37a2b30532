"""A scan with everything in Azure: Document Intelligence reads it, Blob Storage keeps it and the image of its page, AI
Search holds the image's vector, AI Vision makes it, and a question finds it by what it shows."""

import shutil
from base64 import b64decode
from pathlib import Path

import aiohttp
import pytest
from azure.storage.blob.aio import ContainerClient

from shared.reading.pdf import render_pages
from tests.app.conftest import hosted
from tests.app.test_page_images import indexed, shown
from tests.local.running_host import REPOSITORY
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.document_intelligence import DocumentIntelligenceStandIn
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.vision import VisionStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins."""

SCANNED = REPOSITORY / "tests" / "reading" / "files" / "scanned.pdf"
QUESTION = "Where is the fire extinguisher?"


@pytest.mark.nightly
async def test_a_scan_is_read_found_by_its_image_and_shown_to_the_model(
    tmp_path: Path, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(SCANNED, docs / "plan.pdf")
    ((_, page),) = render_pages(SCANNED.read_bytes(), [1])
    async with (
        Azurite() as azurite,
        AISearchStandIn() as search,
        VisionStandIn() as vision,
        DocumentIntelligenceStandIn() as documents,
    ):
        documents.reads({1: "Second floor, 2 of 3."})
        vision.shows[page] = "fire extinguisher where it hangs"
        settings = openai.settings | search.settings | vision.settings | documents.settings
        settings |= {"CONTENT_STORAGE": azurite.connection_string, "PAGE_IMAGES": "true", "DATA_DIR": str(tmp_path)}
        assert "plan.pdf: indexed 1 passage" in await indexed(docs, settings)
        pages = ContainerClient.from_connection_string(azurite.connection_string, "content-pages")
        kept = await pages.download_blob("plan.pdf/1.jpg")
        assert await kept.readall() == page
        await pages.close()

        overrides = {"use_gpt4v": True, "retrieval_mode": "vectors", "vector_fields": ["imageEmbedding"]}
        async with hosted(tmp_path, settings) as host:
            asked = {"messages": [{"role": "user", "content": QUESTION}], "context": {"overrides": overrides}}
            async with http.post(host.url + "/chat", json=asked) as response:
                answer = await response.json()
        assert response.status == 200, answer
        assert vision.texts == [QUESTION]
        assert answer["context"]["data_points"]["text"] == ["plan.pdf#page=1: Second floor, 2 of 3."]
        assert [part["type"] for part in shown(openai)] == ["text", "image_url", "text"]
        url = shown(openai)[1]["image_url"]["url"]
        assert answer["context"]["data_points"]["images"] == [{"detail": "auto", "url": url}]
        assert b64decode(url.partition(",")[2]) == page

        (docs / "plan.pdf").rename(tmp_path / "plan.pdf")
        (docs / "other.md").write_text("Other.", encoding="utf-8")
        assert "plan.pdf: removed" in await indexed(docs, settings)
        pages = ContainerClient.from_connection_string(azurite.connection_string, "content-pages")
        assert [name async for name in pages.list_blob_names()] == []
        await pages.close()
