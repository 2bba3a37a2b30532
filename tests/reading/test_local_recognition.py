"""Scans are read on this machine: text, tables, columns, whichever way up, within limits, and without a network."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
import reportlab
from PIL import Image
from reportlab.pdfbase.ttfonts import TTFont

from local.models import MAX_SCAN_MEMORY_BYTES, LocalRecognition
from shared.reading import Page, UnreadableError
from shared.reading.limits import ReadLimitError
from shared.reading.readers import read_document
from shared.reading.sandbox import Sandbox, sandbox_for_documents
from tests.kinds import one_in
from tests.reading.pdf_tables import BIRDS, GRID, pdf, table, text
from tests.reading.test_sandbox import wait_for_readers


def picture(turn: int = 0) -> Image.Image:
    """A page with a paragraph and a table, as a scanner sees it."""
    page = pypdfium2.PdfDocument(pdf(text(12), table(BIRDS, [GRID], 12)))[0]
    return page.render(scale=1.5).to_pil().convert("L").rotate(turn, expand=True, fillcolor=255)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "turn"), [("PDF", 0), ("PDF", 90), ("JPEG", 180), ("PNG", 270), ("JPEG", 6)])
@pytest.mark.timeout(300)
async def test_a_scan_is_read_with_its_table_whichever_way_up(kind: str, turn: int) -> None:
    suffix = f".{kind.lower()}"
    read = await read_document(saved(picture(turn), kind), suffix, LocalRecognition(), sandbox_for_documents())
    (page,) = read.pages
    assert page.number == (1 if kind == "PDF" else None)
    assert "Who books early may choose the day, and who comes late has to take what is left." in page.text
    assert "| Kranich | Grus grus | 8.20 EUR | Friday |" in page.text


@pytest.mark.nightly
async def test_a_blank_page_has_no_text_and_the_pages_of_a_tiff_are_numbered() -> None:
    blank = Image.new("L", (600, 800), 255)
    both = saved(blank, "TIFF", save_all=True, append_images=[picture()])
    first, second = await LocalRecognition().read(both)
    assert (first.text, first.number, second.number) == ("", 1, 2)
    assert "children under twelve" in second.text


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: b"\x89PNG\r\n\x1a\n broken", "is damaged, or no image"),
        (lambda: saved(Image.new("1", (9000, 9000)), "PNG"), "60,000,000 pixels on a page"),
        (lambda: saved(Image.new("1", (20_000, 20_000)), "PNG"), "damaged|pixels"),
    ],
    ids=["damaged", "large", "bomb"],
)
async def test_an_image_that_is_damaged_or_unpacks_to_too_much_is_refused(make: Callable[[], bytes], says: str) -> None:
    with pytest.raises(UnreadableError, match=says):
        await LocalRecognition().read(make())


async def test_a_document_of_too_many_scanned_pages_is_refused_before_any_is_read() -> None:
    with pytest.raises(ReadLimitError, match="500 scanned pages"):
        await LocalRecognition().read(b"", range(1, 502))


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
async def test_a_process_killed_in_mid_page_is_that_files_fault_and_the_next_is_read() -> None:
    recognition = LocalRecognition()
    assert (await recognition.read(saved(Image.new("L", (60, 80), 255), "PNG")))[0].text == ""  # the server runs
    await asyncio.to_thread(wait_for_readers, some=False, models="local.recognition")
    one = picture()
    page = Image.new("L", (one.width, one.height * 30), 255)  # so much to read that the kill comes in its midst
    for number in range(30):
        page.paste(one, (0, one.height * number))
    reading = asyncio.create_task(recognition.read(saved(page, "PNG")))
    readers = await asyncio.to_thread(wait_for_readers, some=True, models="local.recognition")
    os.kill(readers[0], signal.SIGKILL)
    with pytest.raises(ReadLimitError, match="takes too much memory to read, or is damaged"):
        await reading
    (read,) = await recognition.read(saved(one, "PNG"))
    assert "Kranich" in read.text


async def test_a_page_that_takes_too_long_is_given_up_and_its_process_ended() -> None:
    sandbox = Sandbox(readers=1, memory=MAX_SCAN_MEMORY_BYTES, seconds=0.001)
    with pytest.raises(ReadLimitError, match="takes too long to read"):
        await sandbox.run(list[Page], "recognize", saved(picture(), "PNG"), ())
    await asyncio.to_thread(wait_for_readers, some=False, models="local.recognition")


@pytest.mark.parametrize(
    "image",
    one_in(
        4,
        [
            Image.new("L", (1, 1)),
            Image.new("L", (7000, 1)),
            Image.new("RGBA", (300, 2), (0, 0, 0, 0)),
            Image.new("P", (40, 40)),
        ],
    ),
    ids=["1x1", "7000x1", "transparent", "palette"],
)
async def test_an_image_of_an_odd_size_or_kind_has_no_text(image: Image.Image) -> None:
    (page,) = await LocalRecognition().read(saved(image, "PNG"))
    assert page.text == ""


async def test_a_scan_that_is_cut_off_is_refused_or_read_as_far_as_it_goes() -> None:
    data = saved(picture(), "JPEG")
    with pytest.raises(UnreadableError, match="is damaged, or no image"):
        await LocalRecognition().read(data[: len(data) // 2])


_WITHOUT_NETWORK = """
import socket, sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"a network is asked for: {arguments}")
sys.addaudithook(refuse)
from local.recognition import load, recognize
load()
print(recognize(sys.stdin.buffer.read(), ())[0].text)
"""


def test_the_models_come_with_the_packages_and_no_network_is_asked() -> None:
    read = subprocess.run(
        [sys.executable, "-c", _WITHOUT_NETWORK], input=saved(picture(), "PNG"), capture_output=True, check=True
    )
    assert b"Eisvogel" in read.stdout


def with_bare_glyphs(*lines: str) -> bytes:
    """A PDF in an embedded font of which nothing says what letters its glyphs are: people read it, programs cannot."""
    program = (Path(reportlab.__file__).parent / "fonts/Vera.ttf").read_bytes()
    font: Any = TTFont("Vera", "Vera.ttf").face
    used = {letter: font.charToGlyph[ord(letter)] for letter in set("".join(lines))}
    widths = " ".join(f"{glyph} [{font.charWidths[ord(letter)]:.0f}]" for letter, glyph in used.items())
    shown = "".join(f"<{''.join(f'{used[letter]:04x}' for letter in line)}> Tj T* " for line in lines)
    content = f"BT /F1 14 Tf 72 700 Td 24 TL {shown} ET"
    kind = f"/Subtype /CIDFontType2 /BaseFont /Vera /CIDToGIDMap /Identity /W [{widths}] /FontDescriptor 7 0 R"
    order = "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
    box = "/FontBBox [-183 -236 1287 928] /ItalicAngle 0 /Ascent 928 /Descent -236 /CapHeight 729 /StemV 80"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 595 842] >>",
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type0 /BaseFont /Vera /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
        f"<< /Type /Font {kind} {order} >>",
        f"<< /Type /FontDescriptor /FontName /Vera /Flags 4 {box} /FontFile2 8 0 R >>",
        f"<< /Length {len(program)} >>\nstream\n{program.decode('latin-1')}\nendstream",
    )
    body = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(objects, 1))
    return f"%PDF-1.7\n{body}trailer\n<< /Size 9 /Root 1 0 R >>\n%%EOF\n".encode("latin-1")


@pytest.mark.nightly
@pytest.mark.timeout(300)
async def test_a_page_whose_font_does_not_say_its_letters_is_recognized() -> None:
    data = with_bare_glyphs("The gate of the harbour opens at nine.", "A boat pays 417 euros a year.")
    with pytest.raises(UnreadableError, match="no letters that can be read"):
        await read_document(data, ".pdf", None, sandbox_for_documents())
    read = await read_document(data, ".pdf", LocalRecognition(), sandbox_for_documents())
    (page,) = read.pages
    assert (page.number, read.left_out) == (1, "")
    assert "The gate of the harbour opens at nine." in page.text
    assert "A boat pays 417 euros a year." in page.text
