"""What an image is by its first bytes: the types that models see."""

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Media types."""


def image_type(data: bytes) -> str | None:
    """The media type of an image; None of anything else."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for signature, media_type in _SIGNATURES if data.startswith(signature)), None)
