"""What every index keeps, whatever is behind it. A subclass gives `index`, and `held`: what is found in it now."""

import asyncio
from collections.abc import Awaitable, Callable
from copy import replace

import pytest

from shared.chat_types import Passage
from shared.ingestion.passages import passage_id
from shared.retrieval import FileEntry, PassageIndex
from tests.stand_ins.hashed_embedder import hashed_vector

WORD = "glasses"
"""In every passage of this suite, so that one search finds them all."""

type Held = Callable[[], Awaitable[dict[str, Passage]]]
"""Gives the passages by id, as a search finds them."""

ODD_NAMES = ("it's, here.md", "Übung/Größe 2.md", "a 'b' or 'c' eq 'c'.md", "[1]#?%.md", "日本語.md", "a" * 300 + ".md")


def passages_of(sourcefile: str, count: int, text: str = "") -> list[Passage]:
    return [
        Passage(passage_id(sourcefile, number), f"{WORD} {text} {number}", f"{sourcefile}#page={number}", sourcefile)
        for number in range(count)
    ]


def vectors_of(passages: list[Passage]) -> list[list[float]]:
    return [hashed_vector(passage.content) for passage in passages]


async def marks_of(index: PassageIndex, sourcefile: str | None = None) -> dict[str, str]:
    """The fingerprints by file."""
    return dict([one async for one in index.fingerprints(sourcefile)])


class PassageIndexContract:
    async def write(self, index: PassageIndex, sourcefile: str, mark: str, passages: list[Passage]) -> None:
        await index.replace(FileEntry(sourcefile, mark, passages, vectors_of(passages)))

    async def test_a_new_index_knows_no_file(self, index: PassageIndex) -> None:
        assert await marks_of(index) == {}
        assert await marks_of(index, "a.md") == {}

    async def test_each_file_keeps_its_last_fingerprint(self, index: PassageIndex) -> None:
        await self.write(index, "a.md", "one", passages_of("a.md", 1))
        await self.write(index, "b.md", "two", passages_of("b.md", 3))
        await self.write(index, "a.md", "three", passages_of("a.md", 1))
        assert await marks_of(index) == {"a.md": "three", "b.md": "two"}
        assert await marks_of(index, "b.md") == {"b.md": "two"}
        assert await marks_of(index, "never.md") == {}

    async def test_a_passage_is_found_with_all_that_it_was_written_with(self, index: PassageIndex, held: Held) -> None:
        plain = passages_of("deep/a.md", 1)[0]
        full = replace(
            plain,
            category="benefits",
            oids=("o'1", "o,2"),
            groups=("g 1",),
            title="Benefits",
            headings=("Benefits", "Glasses"),
            table_head="| a |\n| --- |\n",
            date="2025-03-01",
            sensitivity="Confidential",
        )
        await self.write(index, "deep/a.md", "1", [full])
        assert await held() == {full.id: full}

    async def test_of_what_a_file_was_before_nothing_is_left(self, index: PassageIndex, held: Held) -> None:
        before, after = passages_of("a.md", 5, "before"), passages_of("a.md", 2, "after")
        first = replace(before[0], category="old", oids=("anna",), groups=("staff",))
        other = passages_of("b.md", 2)
        await self.write(index, "b.md", "1", other)
        await self.write(index, "a.md", "1", [first, *before[1:]])
        await self.write(index, "a.md", "2", after)
        assert await held() == {one.id: one for one in [*after, *other]}
        assert await marks_of(index) == {"a.md": "2", "b.md": "1"}

    async def test_a_removed_file_is_found_no_more_and_the_others_are(self, index: PassageIndex, held: Held) -> None:
        other = passages_of("ab.md", 2)
        await self.write(index, "a.md", "1", passages_of("a.md", 3))
        await self.write(index, "ab.md", "1", other)
        await index.remove("a.md")
        assert await held() == {one.id: one for one in other}
        assert await marks_of(index) == {"ab.md": "1"}

    async def test_removing_an_unknown_file_is_no_error(self, index: PassageIndex) -> None:
        await index.remove("never.md")
        await self.write(index, "a.md", "1", passages_of("a.md", 1))
        await index.remove("never.md")
        assert await marks_of(index) == {"a.md": "1"}

    async def test_a_file_may_have_any_name(self, index: PassageIndex, held: Held) -> None:
        for name in ODD_NAMES:
            await self.write(index, name, f"mark of {name}", passages_of(name, 2))
        assert await marks_of(index) == {name: f"mark of {name}" for name in ODD_NAMES}
        for name in ODD_NAMES[1:]:
            assert await marks_of(index, name) == {name: f"mark of {name}"}
            await index.remove(name)
        assert set(await held()) == {one.id for one in passages_of(ODD_NAMES[0], 2)}

    async def test_a_passage_without_its_vector_is_refused(self, index: PassageIndex) -> None:
        passages = passages_of("a.md", 2)
        with pytest.raises(ValueError, match="a passage"):
            await index.replace(FileEntry("a.md", "1", passages, vectors_of(passages[:1])))
        assert await marks_of(index) == {}

    async def test_files_may_be_written_at_the_same_time(self, index: PassageIndex, held: Held) -> None:
        names = [f"{number}.md" for number in range(5)]
        await asyncio.gather(*(self.write(index, name, "1", passages_of(name, 2)) for name in names))
        assert await marks_of(index) == dict.fromkeys(names, "1")
        assert len(await held()) == 10
