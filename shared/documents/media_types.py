"""Media types: of documents, by their names; of images, by their first bytes."""

from pathlib import PurePosixPath

IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Media types of the images that models accept."""

_OPEN = "application/vnd.oasis.opendocument"
_OFFICE = "application/vnd.openxmlformats-officedocument"
_BY_SUFFIX = {
    ".csv": "text/csv",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".eml": "message/rfc822",
    ".epub": "application/epub+zip",
    ".gif": "image/gif",
    ".htm": "text/html",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".odp": f"{_OPEN}.presentation",
    ".ods": f"{_OPEN}.spreadsheet",
    ".odt": f"{_OPEN}.text",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".pptm": "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".rtf": "application/rtf",
    ".svg": "image/svg+xml",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
    ".webp": "image/webp",
    ".xhtml": "application/xhtml+xml",
    ".xls": "application/vnd.ms-excel",
    ".xlsm": "application/vnd.ms-excel.sheet.macroEnabled.12",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".xml": "application/xml",
}
"""Media types of documents. A list of our own: that of the operating system differs, and reads `data:` in names."""
HARMLESS_TYPES = IMAGE_TYPES | {"application/json", "application/pdf", "text/csv", "text/markdown", "text/plain"}
"""Media types that browsers show without running scripts; those in a PDF have no rights of the app's origin."""
SHOWN_TYPES = HARMLESS_TYPES | {"application/xhtml+xml", "application/xml", "image/svg+xml", "text/html"}
"""Media types that browsers show."""
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""First bytes of images."""


def media_type(name: str) -> str:
    """Media type of a document by its suffix; `application/octet-stream` if the suffix is unknown."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")


def image_type(data: bytes) -> str | None:
    """Media type of an image by its first bytes; None if it is not one of `IMAGE_TYPES`."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for signature, media_type in _SIGNATURES if data.startswith(signature)), None)
