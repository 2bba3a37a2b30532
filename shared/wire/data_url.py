"""Files in the JSON of a request: `data:` URLs in base64. Source: RFC 2397."""

from binascii import Error as Base64Error
from binascii import a2b_base64
from dataclasses import dataclass, field

from shared.errors import BadRequest


@dataclass(frozen=True, slots=True)
class DataUrl:
    """The content of a `data:` URL."""

    media_type: str
    """In lower case, without parameters; empty if not given."""
    charset: str | None
    """The character set; None if not given."""
    content: bytes = field(repr=False)
    """Never empty."""

    @classmethod
    def read(cls, url: str, part: str, what: str) -> "DataUrl":
        """Decode a URL.

        Args:
            url: The URL.
            part: Its place in the body, for the error message.
            what: What it has to hold, for the error message.

        Raises:
            BadRequest: it is no `data:` URL in base64, or an empty one.
        """
        if not url.startswith("data:"):
            raise BadRequest(f"{part}: should be a data: URL with {what}; nothing is fetched from elsewhere.")
        head, _, data = url.removeprefix("data:").partition(",")
        media_type, *parameters = head.lower().split(";")
        try:
            content = a2b_base64(data.encode("ascii"), strict_mode=True) if "base64" in parameters else b""
        except (Base64Error, UnicodeEncodeError):
            content = b""
        if not content:
            raise BadRequest(f"{part}: should be a data: URL with {what} in base64.")
        charsets = (one.removeprefix("charset=") for one in parameters if one.startswith("charset="))
        return cls(media_type.strip(), next(charsets, None), content)
