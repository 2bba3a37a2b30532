"""What every `DocumentStore` does."""

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable

import pytest

from shared.documents import DocumentStore, Rights, StoredDocument
from shared.errors import AlreadyThere, Unavailable

type Uploading = Callable[[str, bytes], Awaitable[None]]
"""Puts a document in place as somebody else would, by its name."""

FIRST = b"First."
LARGE = bytes(range(256)) * 4 * 1024 * 10
"""10 MiB: read in several pieces and written in several blocks."""
NAMES = (
    *("plan.pdf", "leave/deep/Über uns (neu) & mehr.md", "50% [old] c#?.md", "a+b=c;d.md", "c#/x y.txt"),
    *("日本語/資料.txt", ".hidden", "x..y", "..."),
)
NO_NAMES = (
    *("", ".", "..", "/", "/etc/passwd", "a//b", "a/", "./plan.pdf", "leave/../plan.pdf", "../secret.txt"),
    *("..\\secret.txt", "leave\\plan.pdf", "plan.pdf\0", "\0", "a" * 1025, "a/" * 600, "\ud800.md"),
    *("two\nlines.md", "a\r.md", "a\t.md", "\x1b[2J.md", "a\x7f.md", "a\x85.md", "a\u2028.md"),
)


async def content(store: DocumentStore, name: str, start: int = 0, length: int | None = None) -> bytes:
    document = await store.find(name)
    assert document
    return b"".join([piece async for piece in store.read(document, start, length)])


async def replace(store: DocumentStore, name: str, data: bytes, rights: Rights | None = None) -> StoredDocument:
    """Write a document in the place of what is there."""
    return await store.keep(name, data, await store.find(name), rights)


class StoreContract:
    """Tests that take the fixtures `store`, empty, and `upload`, which writes into it from outside."""

    async def test_an_empty_store_has_nothing(self, store: DocumentStore) -> None:
        assert await store.find("plan.pdf") is None
        assert [name async for name in store.names()] == []
        await store.remove("plan.pdf")

    @pytest.mark.parametrize("name", NAMES)
    async def test_what_is_kept_is_there_under_its_name_and_goes_when_removed(
        self, store: DocumentStore, name: str
    ) -> None:
        await store.keep(name, FIRST)
        document = await store.find(name)
        assert document
        assert (document.name, document.size) == (name, 6)
        assert document.etag.startswith('"')
        assert document.last_modified.tzinfo
        assert await content(store, name) == b"First."
        assert [each async for each in store.names()] == [name]
        await store.remove(name)
        assert await store.find(name) is None
        assert [each async for each in store.names()] == []

    async def test_another_version_than_the_one_to_remove_stays(self, store: DocumentStore) -> None:
        await store.keep("plan.pdf", FIRST)
        older = await store.find("plan.pdf")
        assert older
        await replace(store, "plan.pdf", b"Second.")
        assert not await store.remove("plan.pdf", older.etag)
        assert await content(store, "plan.pdf") == b"Second."
        newer = await store.find("plan.pdf")
        assert newer
        assert await store.remove("plan.pdf", newer.etag)
        assert await store.find("plan.pdf") is None
        assert await store.remove("plan.pdf", newer.etag)  # it is not there, as it should be

    @pytest.mark.parametrize("name", NO_NAMES)
    async def test_what_is_no_name_is_no_document(self, store: DocumentStore, name: str) -> None:
        await store.keep("plan.pdf", FIRST)
        assert await store.find(name) is None
        await store.remove(name)
        with pytest.raises(ValueError, match="name"):
            await store.keep(name, FIRST)
        assert [each async for each in store.names()] == ["plan.pdf"]

    async def test_names_of_other_unicode_form_case_or_length_are_other_names(self, store: DocumentStore) -> None:
        await store.keep("Über.md", FIRST)
        for name in (unicodedata.normalize("NFD", "Über.md"), "über.md", "Über.m", "Über.md ", "Über.md/x", "a" * 300):
            assert await store.find(name) is None

    async def test_a_folder_is_no_document(self, store: DocumentStore) -> None:
        await store.keep("leave/plan.pdf", FIRST)
        assert await store.find("leave") is None

    async def test_a_part_is_read(self, store: DocumentStore) -> None:
        await store.keep("large.pdf", LARGE)
        size = len(LARGE)
        assert await content(store, "large.pdf") == LARGE
        for start, length in ((0, 1), (size - 1, 1), (3_000_001, 5_000_003), (7, 0), (size, 0), (0, size)):
            assert await content(store, "large.pdf", start, length) == LARGE[start : start + length]
        assert await content(store, "large.pdf", size - 9) == LARGE[-9:]

    async def test_a_large_document_is_read_in_small_pieces(self, store: DocumentStore) -> None:
        await store.keep("large.pdf", LARGE)
        document = await store.find("large.pdf")
        assert document
        assert max([len(piece) async for piece in store.read(document)]) <= 512 * 1024

    async def test_an_empty_document_has_no_bytes(self, store: DocumentStore) -> None:
        await store.keep("empty.txt", b"")
        assert await content(store, "empty.txt") == b""

    async def test_a_change_has_another_etag(self, store: DocumentStore) -> None:
        await store.keep("plan.pdf", FIRST)
        first, again = await store.find("plan.pdf"), await store.find("plan.pdf")
        await replace(store, "plan.pdf", FIRST)
        changed = await store.find("plan.pdf")
        assert first == again
        assert first
        assert changed
        assert first.etag != changed.etag

    @pytest.mark.parametrize("size", [6, 6 * 1024 * 1024])
    async def test_two_versions_are_never_mixed(self, store: DocumentStore, upload: Uploading, size: int) -> None:
        await store.keep("plan.pdf", b"1" * size)
        document = await store.find("plan.pdf")
        assert document
        reading = store.read(document)
        read = [await anext(reading)] if size > 6 else []
        await upload("plan.pdf", b"2" * size)
        with pytest.raises(Unavailable, match="changed"):
            read.extend([piece async for piece in reading])
        assert set(b"".join(read)) <= {ord("1")}

    async def test_a_document_that_goes_while_it_is_read_ends_the_reading(self, store: DocumentStore) -> None:
        await store.keep("plan.pdf", FIRST)
        document = await store.find("plan.pdf")
        assert document
        await store.remove("plan.pdf")
        with pytest.raises(Unavailable, match="changed"):
            [piece async for piece in store.read(document)]

    async def test_names_are_listed_by_their_beginning(self, store: DocumentStore) -> None:
        for name in ("a.pdf", "a.pdf/1.jpg", "leave/a.md", "leave/b/c.md", "leaves.md"):
            if name != "a.pdf" or store.is_shared:  # a folder has room for one of the two
                await store.keep(name, FIRST)
        listed = {
            prefix: sorted([name async for name in store.names(prefix)])
            for prefix in ("leave", "leave/", "leave/b", "a.pdf/", "none/", "../", "/")
        }
        assert listed == {
            "leave": ["leave/a.md", "leave/b/c.md", "leaves.md"],
            "leave/": ["leave/a.md", "leave/b/c.md"],
            "leave/b": ["leave/b/c.md"],
            "a.pdf/": ["a.pdf/1.jpg"],
            "none/": [],
            "../": [],
            "/": [],
        }

    async def test_all_documents_are_found_as_each_is(self, store: DocumentStore) -> None:
        names = {"leave/Über & <b>.md", "50%25.md", "plan.pdf"}
        for name in names:
            await store.keep(name, FIRST)
        found = [document async for document in store.find_all()]
        assert {document.name for document in found} == names
        assert found == [await store.find(document.name) for document in found]

    async def test_what_was_written_is_what_is_found(self, store: DocumentStore) -> None:
        first = await store.keep("plan.pdf", FIRST, own=False)
        assert first == await store.find("plan.pdf")
        second = await store.keep("plan.pdf", LARGE, first)
        assert second == await store.find("plan.pdf")
        assert (first.kept, second.kept) == (False, True)

    async def test_of_many_who_found_nothing_one_writes(self, store: DocumentStore) -> None:
        texts = [str(number).encode() * 100_000 for number in range(8)]
        done = await asyncio.gather(*(store.keep("plan.pdf", text) for text in texts), return_exceptions=True)
        [(text, written)] = [
            (text, one) for text, one in zip(texts, done, strict=True) if isinstance(one, StoredDocument)
        ]
        assert sum(isinstance(one, AlreadyThere) for one in done) == 7
        assert await content(store, "plan.pdf") == text
        assert await store.find("plan.pdf") == written
        assert [name async for name in store.names()] == ["plan.pdf"]

    async def test_of_many_who_found_a_version_one_replaces_it(self, store: DocumentStore) -> None:
        first = await store.keep("plan.pdf", FIRST)
        texts = [str(number).encode() * 3 * 1024 * 1024 for number in range(8)]
        done = await asyncio.gather(*(store.keep("plan.pdf", text, first) for text in texts), return_exceptions=True)
        [text] = [text for text, one in zip(texts, done, strict=True) if isinstance(one, StoredDocument)]
        assert sum(isinstance(one, AlreadyThere) for one in done) == 7
        assert await content(store, "plan.pdf") == text

    async def test_what_is_there_no_longer_is_not_replaced(self, store: DocumentStore) -> None:
        first = await store.keep("plan.pdf", FIRST)
        await store.remove("plan.pdf")
        with pytest.raises(AlreadyThere, match="Somebody else has changed"):
            await store.keep("plan.pdf", b"Second.", first)
        assert await store.find("plan.pdf") is None

    async def test_rights_stay_with_a_version_until_others_are_given(self, store: DocumentStore) -> None:
        ada, staff = Rights(("ada",)), Rights((), ("staff", "board"))
        assert (await store.keep("plan.pdf", FIRST, rights=ada)).rights == ada
        assert (await replace(store, "plan.pdf", b"Second.")).rights == ada
        assert (await replace(store, "plan.pdf", b"Third.", staff)).rights == staff
        assert (await replace(store, "plan.pdf", b"Fourth.", Rights())).rights == Rights()
        await replace(store, "plan.pdf", b"Fifth.", ada)
        await store.remove("plan.pdf")
        assert (await store.keep("plan.pdf", FIRST)).rights == Rights()

    async def test_it_can_be_read_now(self, store: DocumentStore) -> None:
        await store.keep("plan.pdf", FIRST)
        health = await store.check()
        assert health.ok
        assert not health.needed
