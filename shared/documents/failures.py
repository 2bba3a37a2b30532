"""Notes on documents that could not be indexed when they were last read: why, and when.

A note is a hidden document beside those of the same owner. Its bytes are the sentence, its rights those of the document
that it is about, and its time that of the failure. It goes when the document is indexed, replaced or deleted.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from datetime import datetime

import msgspec

from shared.chat_types import Access
from shared.documents import DocumentReader, DocumentStore, Rights, StoredDocument
from shared.documents.own import PEOPLE
from shared.errors import SwitchboardError, Unavailable

FAILED = ".failed/"
"""The folder of notes: in a person's folder for own documents, at the top for all others."""
_MOST_KEPT = 1_000
"""Notes in one folder."""
_MOST_BYTES = 500
"""Bytes of a sentence."""
_MOST_LISTED = 100


class Failure(msgspec.Struct, frozen=True):
    """What is known of a document that could not be indexed."""

    name: str
    """Its name."""
    detail: str
    """Why, as a sentence."""
    when: datetime
    """In UTC."""


def note_of(name: str) -> str:
    """Return the name of the note on a document."""
    folder = name[: name.find("/", len(PEOPLE)) + 1] if name.startswith(PEOPLE) else ""
    return f"{folder}{FAILED}{name[len(folder) :]}"


async def note_failure(name: str, why: str, rights: Rights, store: DocumentStore, *, own: bool = False) -> None:
    """Note why a document could not be indexed: `why` is the end of the sentence 'The document …'.

    What cannot be noted is left out, since the caller is told in any case. `own` says that the document comes from a
    folder on the machine of who indexes it.
    """
    note = note_of(name)
    with suppress(SwitchboardError, ValueError):
        earlier = await store.find(note)
        kept = 0 if earlier else len([one async for one in store.names(note[: note.index(FAILED)] + FAILED)])
        if kept < _MOST_KEPT:
            sentence = f"The document {why}".encode(errors="replace")[:_MOST_BYTES]
            await store.keep(note, sentence, earlier, rights, own=own)


async def notes_in(folder: str, store: DocumentReader) -> AsyncGenerator[StoredDocument]:
    """Yield the notes on documents of a person's folder; empty: on all that are nobody's own."""
    async with aclosing(store.find_all(folder + FAILED)) as found:
        async for note in found:
            if not note.name.startswith(folder + FAILED):
                break
            yield note


def noted_name(note: str) -> str:
    """Return the name of the document that a note is about."""
    return note.replace(FAILED, "", 1)


async def failures_in(folder: str, store: DocumentReader, access: Access | None, search: str = "") -> list[Failure]:
    """List the documents of a folder that could not be indexed, and whose names have a text in any case.

    With no access all are listed. `notes_in` says which folders there are.
    """
    found: list[Failure] = []
    async for note in notes_in(folder, store):
        is_wanted = search.casefold() in noted_name(note.name).casefold()
        if is_wanted and not (access and note.rights.forbid(access)) and len(found) < _MOST_LISTED:
            with suppress(Unavailable):  # it has changed meanwhile
                said = b"".join([piece async for piece in store.read(note)]).decode(errors="ignore")
                found.append(Failure(noted_name(note.name), said, note.last_modified))
    return found
