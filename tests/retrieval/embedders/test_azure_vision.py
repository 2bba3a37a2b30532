"""Vectors of texts and images, against a local server that follows the reference of Azure AI Vision."""

import logging
from collections.abc import AsyncGenerator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from pydantic import SecretStr

from shared.errors import RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.retrieval.embedders.azure_vision import VisionEmbedder
from tests.stand_ins.certificates import server_side
from tests.stand_ins.hashed_embedder import hashed_vector
from tests.stand_ins.identity_endpoint import identity_endpoint
from tests.stand_ins.vision import VisionStandIn


def jpeg(width: int = 40, height: int = 30) -> bytes:
    file = BytesIO()
    Image.new("RGB", (width, height), "white").save(file, "JPEG")
    return file.getvalue()


@pytest.fixture
async def service() -> AsyncGenerator[VisionStandIn]:
    async with VisionStandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def embedder(service: VisionStandIn) -> AsyncGenerator[VisionEmbedder]:
    made = VisionEmbedder(service.endpoint, SecretStr(service.key))
    yield made
    await made.aclose()


async def test_texts_and_images_have_vectors_in_one_space(service: VisionStandIn, embedder: VisionEmbedder) -> None:
    service.shows[jpeg()] = "a bar chart"
    first, second = await embedder.embed(["a bar chart", "a dentist"])
    assert first == pytest.approx(hashed_vector("a bar chart", 1024))
    assert second != first
    assert await embedder.embed_image(jpeg()) == first
    assert embedder.model == "azure-ai-vision-2023-04-15"


async def test_of_a_long_text_the_first_words_count(service: VisionStandIn, embedder: VisionEmbedder) -> None:
    await embedder.embed([" ".join(map(str, range(100)))])
    assert service.texts == [" ".join(map(str, range(70)))]


async def test_no_texts_need_no_request(service: VisionStandIn, embedder: VisionEmbedder) -> None:
    assert await embedder.embed([]) == []
    assert service.texts == []


@pytest.mark.parametrize("image", [b"", b"no image", jpeg(10, 10)])
async def test_an_image_that_the_service_does_not_take_has_no_vector(embedder: VisionEmbedder, image: bytes) -> None:
    assert await embedder.embed_image(image) is None


async def test_a_service_that_is_busy_for_a_moment_is_asked_again(
    service: VisionStandIn, embedder: VisionEmbedder
) -> None:
    service.fail(429, {"Retry-After": "0"})
    service.fail(503, {"Retry-After": "0"})
    assert len(await embedder.embed(["dental"])) == 1


async def test_a_service_that_stays_busy_is_told_with_its_time(
    service: VisionStandIn, embedder: VisionEmbedder
) -> None:
    service.fail(429, {"Retry-After": "3600"})
    with pytest.raises(RateLimited) as busy:
        await embedder.embed(["dental"])
    assert busy.value.retry_after == 3600


@pytest.mark.parametrize(
    ("status", "body", "kind", "names"),
    [
        (401, None, Unavailable, "AZURE_VISION_API_KEY"),
        (403, None, Unavailable, "'Cognitive Services User'"),
        (404, None, Unavailable, "AZURE_VISION_ENDPOINT"),
        (302, None, Unavailable, "AZURE_VISION_ENDPOINT"),
        (408, None, TooSlow, "took too long"),
        (200, "<html>", Unavailable, "no result"),
        (200, '{"vector": [1.0]}', Unavailable, "no result"),
        (200, '{"vector": "1"}', Unavailable, "no result"),
    ],
)
async def test_each_fault_has_its_sentence(
    service: VisionStandIn,
    embedder: VisionEmbedder,
    caplog: pytest.LogCaptureFixture,
    status: int,
    body: str | None,
    kind: type[SwitchboardError],
    names: str,
) -> None:
    service.fail(status, {"Location": "http://127.0.0.1:1/"} if status == 302 else None, body)
    with caplog.at_level(logging.DEBUG), pytest.raises(kind) as caught:
        await embedder.embed(["my own words"])
    assert names in caught.value.message
    assert "a message" not in str(caught.value)
    assert "my own words" not in caplog.text
    assert service.key not in caplog.text


async def test_without_a_key_the_apps_identity_signs_in_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls, trusted = server_side(tmp_path)
    async with VisionStandIn(tls) as service, identity_endpoint(service.token) as (environment, asked):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        embedder = VisionEmbedder(service.endpoint, None, connection_verify=str(trusted))
        await embedder.embed(["dental"])
        await embedder.embed(["glasses"])
        await embedder.aclose()
    assert service.texts == ["dental", "glasses"]
    assert asked == ["https://cognitiveservices.azure.com"]


async def test_a_token_goes_nowhere_in_the_clear(service: VisionStandIn) -> None:
    embedder = VisionEmbedder(service.endpoint, None)
    with pytest.raises(Unavailable):
        await embedder.embed(["dental"])
    await embedder.aclose()
    assert service.texts == []
