"""Scans are read by Azure AI Document Intelligence, which a local server that follows its reference stands in for."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from PIL import Image
from pypdfium2 import PdfDocument

from shared.chat_types import Json
from shared.errors import RateLimited, SwitchboardError, Unavailable
from shared.outbound.azure_service.transport import LARGEST_RESULT
from shared.reading import Page, ReadDocument, UnreadableError
from shared.reading.document_intelligence import DocumentIntelligence
from shared.reading.readers import TextRecognition, read_document
from shared.reading.sandbox import sandbox_for_documents
from shared.settings import Settings
from tests.ingestion.memory_index import Workplace, outcomes, reason
from tests.stand_ins.document_intelligence import BROKEN, DocumentIntelligenceStandIn

FILES = Path(__file__).parent / "files"
SCANNED = FILES / "scanned.pdf"


@pytest.fixture
async def service() -> AsyncGenerator[DocumentIntelligenceStandIn]:
    async with DocumentIntelligenceStandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def recognition(service: DocumentIntelligenceStandIn) -> AsyncGenerator[DocumentIntelligence]:
    settings = await asyncio.to_thread(Settings.read, service.settings)
    assert settings.document_intelligence_endpoint
    made = DocumentIntelligence(
        settings.document_intelligence_endpoint, settings.document_intelligence_api_key, poll_seconds=0.01
    )
    yield made
    await made.aclose()


async def read(path: Path, recognition: TextRecognition | None) -> list[Page]:
    return (await read_with_note(path, recognition)).pages


async def read_with_note(path: Path, recognition: TextRecognition | None) -> ReadDocument:
    data = await asyncio.to_thread(path.read_bytes)
    return await read_document(data, path.suffix.lower(), recognition, sandbox_for_documents())


def image(path: Path, color: str = "white") -> Path:
    Image.new("RGB", (60, 40), color).save(path)
    return path


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Three pages of text, a scan, an empty page and another two scans."""
    path = tmp_path / "mixed.pdf"
    whole, text, scan = PdfDocument.new(), PdfDocument(FILES / "three-pages.pdf"), PdfDocument(SCANNED)
    whole.import_pages(text)
    whole.import_pages(scan)
    whole.new_page(400, 600).close()
    whole.import_pages(scan)
    whole.import_pages(scan)
    whole.save(path)
    for document in (whole, text, scan):
        document.close()
    return path


async def test_a_scanned_pdf_is_read_page_by_page_as_markdown(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence
) -> None:
    service.reads(
        {
            1: '<!-- PageHeader="Contoso" -->\n\n# Rules\n\nGrün 🦷 ist\nfrei.\n\n<!-- PageNumber="1" -->\n\n'
            "<figure>\n<figcaption>Costs</figcaption>\n\n100\n\n</figure>\n\n"
            "<table>\n<tr><th>Plan</th><th>Pays</th></tr>\n<tr><td>Basic</td><td>50 %</td></tr>\n</table>",
        }
    )
    (page,) = await read(SCANNED, recognition)
    assert page.number == 1
    assert page.text.startswith("# Rules\n\nGrün 🦷 ist\nfrei.")
    assert "Costs\n\n100" in page.text
    assert "| Plan | Pays |\n| --- | --- |\n| Basic | 50 % |" in page.text
    assert "<" not in page.text
    assert service.analysed[0].data == SCANNED.read_bytes()


async def test_of_a_pdf_only_the_pages_without_text_are_sent(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence, mixed: Path
) -> None:
    service.reads({number: f"Scan {number} 🦷." for number in range(1, 8)})
    pages = await read(mixed, recognition)
    assert service.analysed[0].pages == "4,6-7"
    assert [page.number for page in pages] == [1, 2, 3, 4, 6, 7]
    assert [page.text for page in pages[3:]] == ["Scan 4 🦷.", "Scan 6 🦷.", "Scan 7 🦷."]


async def test_a_layout_may_be_longer_than_other_answers(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence
) -> None:
    text = "word " * (LARGEST_RESULT // 5 + 1)
    service.reads({1: text})
    (page,) = await recognition.read(b"%PDF-")
    assert page.text == text


async def test_a_pdf_of_text_is_not_sent(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence
) -> None:
    assert len(await read(FILES / "three-pages.pdf", recognition)) == 3
    assert service.analysed == []


@pytest.mark.parametrize("name", ["scan.png", "scan.JPG", "scan.tiff"])
async def test_an_image_is_read_and_only_a_tiff_has_pages(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence, tmp_path: Path, name: str
) -> None:
    service.reads({1: "Pay by card."})
    number = 1 if name.endswith(".tiff") else None
    assert await read(image(tmp_path / name), recognition) == [Page("Pay by card.", number)]


@pytest.mark.parametrize(
    ("path", "says"),
    [(SCANNED, "holds no text; a scan needs"), (Path("scan.png"), "is an image")],
)
async def test_without_the_service_the_setting_is_named(tmp_path: Path, path: Path, says: str) -> None:
    image(tmp_path / "scan.png")
    with pytest.raises(UnreadableError, match=f"{says}.*DOCUMENT_INTELLIGENCE_ENDPOINT"):
        await read(tmp_path / path, None)


async def test_an_image_that_is_empty_or_too_large_is_not_sent(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence, tmp_path: Path
) -> None:
    for size, says in ((0, "is empty"), (100 * 1024 * 1024 + 1, "is larger than 100 MiB")):
        with (tmp_path / "scan.png").open("wb") as file:
            file.truncate(size)
        with pytest.raises(UnreadableError, match=says):
            await read(tmp_path / "scan.png", recognition)
    assert service.analysed == []


async def test_text_files_are_read_as_ever(recognition: DocumentIntelligence, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Text.")
    assert await read(tmp_path / "a.md", recognition) == [Page("Text.")]
    (tmp_path / "b.md").write_text("...")
    with pytest.raises(UnreadableError, match="holds no text"):
        await read(tmp_path / "b.md", recognition)


async def test_a_scan_without_any_text_is_unreadable(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence
) -> None:
    service.reads({1: '<!-- PageNumber="1" -->'})
    with pytest.raises(UnreadableError, match="holds no text"):
        await read(SCANNED, recognition)


async def test_the_result_is_waited_for(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence
) -> None:
    service.looks_needed = 3
    await read(SCANNED, recognition)
    assert service.analysed[0].looks == 3


async def test_a_service_that_is_busy_for_a_moment_is_asked_again(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence
) -> None:
    service.fail(429, {"Retry-After": "0"})
    service.fail(503, {"Retry-After": "0"})
    service.fail_look(503, {"Retry-After": "0"})
    await read(SCANNED, recognition)
    assert len(service.analysed) == 1


@pytest.mark.parametrize(
    ("status", "headers", "kind", "names"),
    [
        (401, {}, Unavailable, "DOCUMENT_INTELLIGENCE_API_KEY"),
        (403, {}, Unavailable, "'Cognitive Services User'"),
        (404, {}, Unavailable, "DOCUMENT_INTELLIGENCE_ENDPOINT"),
        (429, {"Retry-After": "3600"}, RateLimited, "busy"),
        (503, {"Retry-After": "3600"}, Unavailable, "too much to do"),
    ],
)
async def test_each_fault_of_the_moment_has_its_sentence(
    service: DocumentIntelligenceStandIn,
    recognition: DocumentIntelligence,
    status: int,
    headers: dict[str, str],
    kind: type[SwitchboardError],
    names: str,
) -> None:
    service.fail(status, headers)
    with pytest.raises(kind) as caught:
        await read(SCANNED, recognition)
    assert names in caught.value.message


@pytest.mark.parametrize("error", [BROKEN, {"code": "InvalidContentLength", "message": "Too large."}])
async def test_a_document_that_the_service_refuses_is_unreadable_at_once_or_later(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence, error: Json
) -> None:
    service.fail(400, body={"error": error})
    service.fail_look(200, body={"status": "failed", "error": error})
    for _ in range(2):
        with pytest.raises(UnreadableError, match="refused by Azure AI Document Intelligence"):
            await read(SCANNED, recognition)


async def test_an_analysis_that_fails_for_no_reason_of_the_document_is_a_fault_of_the_moment(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence
) -> None:
    for _ in range(9):
        service.fail_look(200, body={"status": "failed", "error": {"code": "InternalServerError", "message": "x"}})
    with pytest.raises(Unavailable):
        await read(SCANNED, recognition)


async def test_what_has_text_is_kept_when_its_scans_are_refused(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence, mixed: Path
) -> None:
    service.fail(400, body={"error": BROKEN})
    pages, left_out, _ = await read_with_note(mixed, recognition)
    assert [page.number for page in pages] == [1, 2, 3]
    assert left_out == "pages without text (4, 6-7)"
    assert (await read_with_note(mixed, None)).left_out == left_out


async def test_a_folder_of_scans_is_indexed_and_a_fault_of_the_moment_leaves_what_was_there(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence, tmp_path: Path
) -> None:
    place = Workplace(tmp_path)
    place.recognition = recognition
    place.write("a.pdf", SCANNED.read_bytes())
    image(place.docs / "b.png")
    service.reads({1: "Pay by card."})
    assert outcomes(await place.ingest()) == {"a.pdf": "indexed", "b.png": "indexed"}
    assert [passage.sourcepage for passage in place.index.passages("a.pdf")] == ["a.pdf#page=1"]
    assert [passage.sourcepage for passage in place.index.passages("b.png")] == ["b.png"]
    assert outcomes(await place.ingest()) == {"a.pdf": "unchanged", "b.png": "unchanged"}
    image(place.docs / "b.png", "black")
    service.fail(401)
    report = await place.ingest()
    assert outcomes(report) == {"a.pdf": "unchanged", "b.png": "failed"}
    assert reason(report, "b.png").startswith("cannot be indexed now: Azure AI Document Intelligence refused this app")
    assert place.index.passages("b.png")


async def test_a_service_that_comes_later_reads_the_pages_that_had_no_text(
    service: DocumentIntelligenceStandIn, recognition: DocumentIntelligence, tmp_path: Path, mixed: Path
) -> None:
    place = Workplace(tmp_path)
    shutil.move(mixed, place.docs / "a.pdf")
    place.write("b.md", "Text.")
    image(place.docs / "c.png")
    assert outcomes(await place.ingest()) == {"a.pdf": "indexed", "b.md": "indexed", "c.png": "skipped"}
    service.reads(dict.fromkeys(range(1, 8), "Pay by card."))
    place.recognition = recognition
    assert outcomes(await place.ingest()) == {"a.pdf": "indexed", "b.md": "unchanged", "c.png": "indexed"}
    assert {passage.sourcepage for passage in place.index.passages("a.pdf")} >= {"a.pdf#page=4", "a.pdf#page=7"}
