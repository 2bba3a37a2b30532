"""Names of the documents that people have added for themselves.

Such a document is in a hidden folder of its owner's in the store, and has that name in the index. Nobody is shown it
but its owner, who sees `mine/` in the folder's place: in citations, in lists, and in the routes.
"""

import hashlib
from copy import replace

from shared.chat_types import Access, Caller, Overrides
from shared.identity import access_of
from shared.settings import Settings

PEOPLE = ".people/"
"""The folder of the folders of all owners."""
MINE = "mine/"
"""The owner's folder, as the owner sees it."""


def folder_of(caller: Caller) -> str:
    """Return the folder of a caller's own documents; empty for one without a name."""
    return f"{PEOPLE}{hashlib.sha256(caller.id.encode()).hexdigest()[:32]}/" if caller.id else ""


def access_with_own(caller: Caller, settings: Settings, overrides: Overrides | None = None) -> Access | None:
    """Decide what a caller may see: the shared documents as `access_of` says, and the caller's own, but nobody else's.

    Raises:
        NotSignedIn, NotAllowed: as `access_of` raises them.
    """
    access = access_of(caller, settings, overrides)
    if not settings.takes_uploads:
        return access
    return replace(access or Access(all_shared=True), own=folder_of(caller))


def shown_name(name: str, folder: str) -> str:
    """Return what the owner of a folder is shown as a document's name."""
    return MINE + name[len(folder) :] if folder and name.startswith(folder) else name


def stored_name(name: str, access: Access | None) -> str:
    """Return the name in the store and the index of what a caller is shown."""
    return access.own + name[len(MINE) :] if access and access.own and name.startswith(MINE) else name


def is_of_others(name: str, folder: str) -> bool:
    """Whether a document is somebody's own, and not of the owner of a folder."""
    return name.startswith(PEOPLE) and not (folder and name.startswith(folder))
