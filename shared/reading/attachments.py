"""Files within other files: what is attached to an e-mail or a PDF, or embedded in a document of Office."""

import zipfile
from collections.abc import Iterable
from copy import replace
from pathlib import PurePath

from shared.reading import UnreadableError
from shared.reading.limits import ReadLimitError, ReadLimits
from shared.reading.office_parts import Related, read_part
from shared.reading.readers import READERS, read_all_pages

EMBEDDED = ("package", "oleObject")
"""The kinds of the parts of an Office document that are whole files."""


def read_attached(name: str, data: bytes, limits: ReadLimits) -> tuple[str, tuple[str, ...]]:
    """Read a file within another one.

    Returns:
        Its text below its name, or that it is not read; and what of it is left out.

    Raises:
        ReadLimitError: it holds more than a file may hold.
    """
    suffix, why = PurePath(name).suffix.lower(), ""
    if suffix in READERS and not limits.depth:
        why = " (it is in too many others)"
    elif suffix in READERS:
        try:
            pages = read_all_pages(data, suffix, limits=replace(limits, depth=limits.depth - 1))
        except ReadLimitError:
            raise
        except UnreadableError as unreadable:
            why = f" ({unreadable})"
        except OSError:  # the reader of PDF files cannot load another parser
            pass
        else:
            texts = [page.text for page in pages if page.text]
            left_out = dict.fromkeys(f"{what} of {name}" for page in pages for what in page.left_out)
            if texts:
                return "\n\n".join((f"## Attachment: {name}", *texts)), (*left_out,)
            why = " (holds no text)"
    return f"Attachment, not read: {name}{why}", (f"attachment {name}",)


def read_related(parts: zipfile.ZipFile, found: Iterable[Related], limits: ReadLimits) -> tuple[str, tuple[str, ...]]:
    """Read the files that a part of an Office document names: as `read_embedded`."""
    names = dict.fromkeys(one.name for one in found if one.kind in EMBEDDED)
    return read_embedded(((name, read_part(parts, name, limits)) for name in names), limits)


def read_embedded(files: Iterable[tuple[str, bytes]], limits: ReadLimits) -> tuple[str, tuple[str, ...]]:
    """Read embedded files, given by the names and bytes of their parts: their texts, and what of them is left out."""
    read = [read_attached(PurePath(name).name, data, limits) for name, data in files]
    return "\n\n".join(text for text, _ in read), tuple(what for _, left_out in read for what in left_out)
