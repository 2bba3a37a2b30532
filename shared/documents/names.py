"""The names that documents can have, the same in every store."""

LONGEST_NAME = 1024
"""Characters, which Azure Blob Storage allows."""


def is_name(name: str) -> bool:
    """Whether a document can have this name: a relative path that leads nowhere else, however it is read.

    A backslash is no part of a name: Azure Storage takes it for a slash.
    """
    if len(name) > LONGEST_NAME or "\0" in name or "\\" in name or not _is_unicode(name):
        return False
    return all(part not in ("", ".", "..") for part in name.split("/"))


def is_hidden(name: str) -> bool:
    """Whether it, or a folder that it is in, has a name that begins with a dot."""
    return any(part.startswith(".") for part in name.split("/"))


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # a lone surrogate, which stands for a byte of another encoding
        return False
    return True
