"""What every `ObjectStore` does."""

import asyncio
import time

import pytest

from shared.runs import NEW, Conflict, ObjectStore

NAME = "0123456789abcdef/state"


async def names(store: ObjectStore, prefix: str = "") -> set[str]:
    return {name async for name in store.names(prefix)}


class ObjectStoreContract:
    """Tests that take the fixture `store`, empty."""

    async def test_an_empty_store_has_nothing(self, store: ObjectStore) -> None:
        assert await store.read(NAME) is None
        assert await names(store) == set()
        await store.delete(NAME)

    async def test_what_is_written_is_read_with_its_version(self, store: ObjectStore) -> None:
        etag = await store.write(NAME, b"\x00first", NEW)
        found = await store.read(NAME)
        assert found
        assert (found.data, found.etag) == (b"\x00first", etag)

    async def test_an_object_is_made_once(self, store: ObjectStore) -> None:
        await store.write(NAME, b"first", NEW)
        with pytest.raises(Conflict):
            await store.write(NAME, b"second", NEW)
        found = await store.read(NAME)
        assert found
        assert found.data == b"first"

    async def test_only_the_version_that_was_read_is_replaced(self, store: ObjectStore) -> None:
        first = await store.write(NAME, b"first", NEW)
        second = await store.write(NAME, b"second", first)
        with pytest.raises(Conflict):
            await store.write(NAME, b"third", first)
        found = await store.read(NAME)
        assert found
        assert (found.data, found.etag) == (b"second", second)

    async def test_a_deleted_object_cannot_be_replaced(self, store: ObjectStore) -> None:
        etag = await store.write(NAME, b"first", NEW)
        await store.delete(NAME)
        assert await store.read(NAME) is None
        with pytest.raises(Conflict):
            await store.write(NAME, b"second", etag)
        await store.write(NAME, b"again", NEW)

    async def test_of_many_writers_at_once_one_wins(self, store: ObjectStore) -> None:
        async def write(number: int) -> bool:
            try:
                await store.write(NAME, b"%d" % number, NEW)
            except Conflict:
                return False
            return True

        won = await asyncio.gather(*map(write, range(20)))
        assert sum(won) == 1
        found = await store.read(NAME)
        assert found
        assert int(found.data) == won.index(True)

    async def test_names_are_listed_below_a_prefix(self, store: ObjectStore) -> None:
        for name in ("aa/calls/x-0", "aa/calls/y-0", "aa/state", "ab/state", "keys/aa"):
            await store.write(name, b"", NEW)
        assert await names(store, "aa/") == {"aa/calls/x-0", "aa/calls/y-0", "aa/state"}
        assert await names(store, "a") == {"aa/calls/x-0", "aa/calls/y-0", "aa/state", "ab/state"}
        assert len(await names(store)) == 5

    async def test_names_are_listed_by_when_they_were_written(self, store: ObjectStore) -> None:
        await store.write(NAME, b"first", NEW)
        now = time.time()
        assert [name async for name in store.names(before=now + 60)] == [NAME]
        assert [name async for name in store.names(before=now - 60)] == []
