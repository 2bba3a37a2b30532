"""The names of files, pages and passages, as the index and the citations have them."""

import hashlib
import re
import unicodedata
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from shared.documents.names import is_hidden, is_name
from shared.reading.pages import UnreadableError

_ESCAPED = re.compile(r"[\[\]#%?\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What would end a citation's bracket, its path or its line."""
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME_IN_ID = 80
_HASH_DIGITS = 16


def sourcefile(path: Path, folder: Path) -> str:
    """The path of a file below the indexed folder, with `/`, in NFC whatever the file system makes of an umlaut.

    Raises:
        UnreadableError: the name is not Unicode, or no document can have it.
    """
    name = unicodedata.normalize("NFC", path.relative_to(folder).as_posix())
    try:
        name.encode()
    except UnicodeEncodeError as broken:
        raise UnreadableError("has a name that is not Unicode; rename it.") from broken
    if not is_name(name):
        raise UnreadableError("has a backslash in its name, or a path of more than 1,024 characters; rename it.")
    return name


def why_not(name: str, formats: Collection[str]) -> str | None:
    """Why a document of this name is not to be indexed, or None.

    Args:
        name: Its path.
        formats: The suffixes of what can be read.
    """
    if not is_name(name):
        return "has a name that no link can lead to; rename it."
    if is_hidden(name):
        return "is hidden."
    if PurePosixPath(name).suffix.lower() not in formats:
        return f"has no format that can be read ({', '.join(formats)})."
    return None


def category(sourcefile: str) -> str | None:
    """The first folder below the indexed one; None for a file that lies in that itself."""
    first, *rest = PurePosixPath(sourcefile).parts
    return first if rest else None


def sourcepage(sourcefile: str, page: int | None) -> str:
    """What an answer cites: the path with `#page=N` where there are pages.

    The characters `[ ] # % ?` and control characters of the path are percent-encoded (as UTF-8), nothing else is.
    The inverse is `urllib.parse.unquote(sourcepage.partition("#")[0])`, which is also what a web server does with
    the path of a link to it.
    """
    path = _ESCAPED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), sourcefile)
    return path if page is None else f"{path}#page={page}"


def passage_id(sourcefile: str, number: int) -> str:
    """The id of a file's passage, counted from 0, in the characters that a key in Azure AI Search may have.

    Of the form that azure-search-openai-demo gives (`file-{name}-{hash}-page-{n}`, where `page` is the passage); the
    hash keeps names apart that differ only in what an id cannot hold.
    """
    name = _NOT_IN_ID.sub("_", sourcefile)[-_LONGEST_NAME_IN_ID:]
    digest = hashlib.sha256(sourcefile.encode()).hexdigest()[:_HASH_DIGITS]
    return f"file-{name}-{digest}-page-{number}"
