"""Recognizes the text of scans by RapidOCR, with the models that are in its package. See `sandbox`.

Source: PaddleOCR, 'PP-OCRv6': one model for texts in Latin and Greek letters, Chinese and Japanese.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import replace
from functools import cache
from io import BytesIO
from statistics import median
from typing import Any

import cv2
import numpy as np
from PIL import Image, ImageOps, ImageSequence
from rapidocr import RapidOCR
from rapidocr.utils.output import RapidOCROutput

from local.models import MAX_SCANNED_PAGES
from shared.reading import Page, UnreadableError
from shared.reading.limits import check_limit
from shared.reading.pdf import render_pages
from shared.reading.pdf_layout import Line, layout, lines_of
from shared.reading.pdf_tables import find_tables
from shared.reading.pdf_words import Word, rows_of

_MAX_SCAN_PIXELS = 60_000_000
"""Pixels of an image to be recognized: an A3 page at 500 dots an inch."""
_FORMATS = ("PNG", "JPEG", "TIFF")
_LONGEST_SIDE = 2000
"""Pixels of the longer side of what is recognized: 170 dots an inch on a page of A4."""
_SHORTEST_SIDE = 8
"""Pixels of the shorter side that a letter needs at least; the models fail on less."""
_UPRIGHT = 1.5
"""A text box that is so many times as high as wide is a line of a turned page."""
_LEVEL = 0.3
"""Degrees that lines may lean."""
_SAME_FONT = 0.25
"""Heights of lines that differ by at most this share of the usual one are the usual one: boxes are not exact."""
_MARGIN = 0.2
"""White at each end of a box, in line heights."""
_TURNED = "180"
"""The answer of the model for single lines if a line is upside down."""
_LINES_ASKED = 9
"""Number of lines that decide whether a page is upside down."""
_CHARACTERS_ASKED = 5
"""Width of the part of each line that is looked at, in line heights."""
_PROSE = 8
"""Width of a line of text in a column, in line heights; cells of tables are shorter."""
type Pixels = np.ndarray[tuple[int, ...], np.dtype[Any]]
_OPTIONS = {
    "Global.log_level": "critical",
    "Global.max_side_len": _LONGEST_SIDE,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,  # a fork has no other threads
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "EngineConfig.onnxruntime.enable_cpu_mem_arena": False,
    "Rec.rec_batch_num": 1,
}


def load() -> None:
    """Load the models and all that is imported late, since a reader cannot open files."""
    cv2.setNumThreads(0)
    Image.init()
    picture = np.full((64, 256, 3), 255, np.uint8)
    cv2.putText(picture, "load", (10, 45), cv2.FONT_HERSHEY_SIMPLEX, 1.5, (0, 0, 0), 3)
    _text(Image.fromarray(picture).rotate(10, fillcolor="white"))  # takes every path, with all that it imports


def recognize(data: bytes, numbers: Sequence[int]) -> list[Page]:
    """Recognize the text of a scan.

    Args:
        data: The bytes of a PDF or an image.
        numbers: Page numbers of the PDF, from 1; empty: the file is an image.

    Returns:
        The pages, those without text too.
    """
    if numbers:
        pages = render_pages(data, numbers)
        return [Page(_text(Image.open(BytesIO(image))), number) for number, image in pages]
    return [Page(_text(picture), number) for number, picture in enumerate(_frames(data), start=1)]


@cache
def _engine() -> RapidOCR:
    return RapidOCR(params=_OPTIONS)


def _frames(data: bytes) -> Iterator[Image.Image]:
    """The pages of an image, as they are shown."""
    try:
        image = Image.open(BytesIO(data), formats=_FORMATS)
        check_limit(getattr(image, "n_frames", 1), MAX_SCANNED_PAGES, "pages")
        for frame in ImageSequence.Iterator(image):
            check_limit(frame.width * frame.height, _MAX_SCAN_PIXELS, "pixels on a page")
            yield ImageOps.exif_transpose(frame)
    except (OSError, SyntaxError, Image.DecompressionBombError):  # damage of each format has its own
        raise UnreadableError("is damaged, or no image.") from None


def _text(picture: Image.Image) -> str:
    """The text of a picture, as Markdown, whichever way up it is."""
    picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    if min(picture.size) < _SHORTEST_SIDE:
        return ""
    pixels = np.ascontiguousarray(np.asarray(_straight(picture.convert("RGB")))[:, :, ::-1])
    boxes = _detected(pixels)
    if sum(box.height > _UPRIGHT * (box.right - box.left) for box in boxes) * 2 > len(boxes):
        pixels = np.ascontiguousarray(np.rot90(pixels))
        boxes = _detected(pixels)
    if _is_upside_down(pixels, boxes):
        pixels = np.ascontiguousarray(np.rot90(pixels, 2))
    found = _engine()(pixels, use_det=True, use_cls=False, use_rec=True)
    height = float(pixels.shape[0])
    words = _words(found, height)
    return layout([_lines(words, height)])[0] if words else ""


def _straight(picture: Image.Image) -> Image.Image:
    """The picture, turned so that its lines are level: lines of a skewed page would be taken for each other's."""
    found = _engine()(np.asarray(picture), use_det=True, use_cls=False, use_rec=False)
    if found.boxes is None:
        return picture
    edges = found.boxes[:, 1] - found.boxes[:, 0]  # of each box, from its upper left corner to the right one
    slopes = np.degrees(np.arctan2(edges[:, 1], edges[:, 0]))
    skew = float(np.median((slopes + 45) % 90 - 45))  # a page may also lie on its side
    if abs(skew) < _LEVEL:
        return picture
    return picture.rotate(skew, Image.Resampling.BICUBIC, expand=True, fillcolor="white")


def _detected(pixels: Pixels) -> list[Word]:
    """The boxes of the lines of a picture."""
    found = _engine()(pixels, use_det=True, use_cls=False, use_rec=False)
    return [_box(box, "", pixels.shape[0]) for box in found.boxes] if found.boxes is not None else []


def _is_upside_down(pixels: Pixels, boxes: Sequence[Word]) -> bool:
    """Whether most of the longest lines of a picture are upside down. The model for it reads only some characters."""
    height = pixels.shape[0]
    turned = 0
    asked = sorted(boxes, key=lambda box: box.left - box.right)[:_LINES_ASKED]
    for box in asked:
        left, right = max(0, int(box.left)), int(min(box.right, box.left + _CHARACTERS_ASKED * box.height))
        start = pixels[max(0, int(height - box.top)) : int(height - box.bottom), left:right]
        if start.size:
            found = _engine()(np.ascontiguousarray(start), use_det=False, use_cls=True, use_rec=False)
            turned += bool(found.cls_res) and _TURNED in found.cls_res[0][0]
    return turned * 2 > len(asked)


def _words(found: RapidOCROutput, height: float) -> list[Word]:
    """The lines that were found, each as one word with its box."""
    if found.boxes is None or found.txts is None:
        return []
    return [_box(box, text, height) for box, text in zip(found.boxes, found.txts, strict=True) if text.strip()]


def _box(corners: Pixels, text: str, height: float) -> Word:
    """A box in pixels from the lower left corner."""
    (left, top), (right, bottom) = (list(map(float, edge)) for edge in (corners.min(axis=0), corners.max(axis=0)))
    return Word(text.strip(), left, right, height - bottom, height - top)


def _lines(texts: Sequence[Word], page_height: float) -> list[Line]:
    """The lines of a page in the order of reading, with a line for each row of a table."""
    usual = median(text.height for text in texts)
    even = [_with_usual_height(text, usual) for text in texts]
    rows = (sorted(row, key=lambda text: text.left) for column in _columns(even) for row in rows_of(column))
    lines = [_single_words(text) for row in rows for text in row]
    return lines_of(find_tables(lines, [], []), page_height)


def _with_usual_height(text: Word, usual: float) -> Word:
    if abs(text.height - usual) > _SAME_FONT * usual:
        return text
    center = (text.top + text.bottom) / 2
    return replace(text, bottom=center - usual / 2, top=center + usual / 2)


def _columns(texts: Sequence[Word]) -> list[list[Word]]:
    """The columns of a page, from the left; one where texts are short, as in tables, or reach across the middle."""
    edges = sorted((text.left, text.right) for text in texts)
    reach = edges[0][1]
    cuts: list[float] = []
    for left, right in edges[1:]:
        if left > reach:
            cuts.append(left)
        reach = max(reach, right)
    columns: list[list[Word]] = [[] for _ in range(len(cuts) + 1)]
    for text in texts:
        columns[bisect_right(cuts, text.left)].append(text)
    is_prose = all(
        median(text.right - text.left for text in column) > _PROSE * median(text.height for text in column)
        for column in columns
    )
    return columns if is_prose else [list(texts)]


def _single_words(text: Word) -> list[Word]:
    """The words of a text, each with its share of the box."""
    margin = _MARGIN * text.height
    left = text.left + margin
    width = max(0.0, text.right - margin - left) / len(text.text)
    return [
        replace(text, text=word[0], left=left + width * word.start(), right=left + width * word.end())
        for word in re.finditer(r"\S+", text.text)
    ]
