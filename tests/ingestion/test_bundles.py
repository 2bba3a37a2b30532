"""Small files of plain text that one reader reads: each has its own text, or its own reason to fail."""

from local.folder.bundles import split_files
from shared.reading import Chunk, UnreadableError
from shared.reading.limits import ReadLimitError
from shared.reading.readers import READERS
from shared.reading.sandbox import PLAIN_TEXT, Sandbox

SANDBOX = Sandbox(readers=1, memory=512 * 1024 * 1024, seconds=60)
TEXT = "# Title\n\n" + "\n\n".join(f"Paragraph {number} of a text about nothing at all." for number in range(400))


async def test_texts_that_share_a_reader_become_what_they_do_alone() -> None:
    files = [
        (f"{number}.md", f"# Notiz {number}\n\nDie Brille wird nicht bezahlt. 4711".encode()) for number in range(3)
    ]
    files += [("a.txt", TEXT.encode()), ("latin.txt", "Die Größe der Brille.".encode("cp1252"))]
    together = await split_files(SANDBOX, files, 100, terms=True)
    for (name, data), found in zip(files, together, strict=True):
        texts = [page.text for page in await SANDBOX.read(data, f".{name.partition('.')[2]}")]
        assert found == await SANDBOX.split(name, texts, 100, terms=True)


async def test_what_was_left_out_of_a_text_is_known_as_of_other_files() -> None:
    (found,) = await split_files(SANDBOX, [("a.md", b'Call {{ site.phone }}.\n\n{% custom "secret" %}')], 100)
    assert not isinstance(found, UnreadableError)
    assert found.left_out == "template tags"


def test_only_formats_that_no_parser_reads_share_a_reader() -> None:
    readers = [READERS[suffix] for suffix in PLAIN_TEXT]
    assert {getattr(one, "func", one) for one in readers} == {READERS[".txt"]}


async def test_a_text_that_takes_too_much_fails_alone() -> None:
    large, *others = await split_files(
        SANDBOX, [(f"{file[:1]}.md", file) for file in (b"word " * 20_000_000, b"text", b" ", TEXT.encode())], 3
    )
    assert isinstance(large, ReadLimitError)
    assert [str(one) if isinstance(one, UnreadableError) else one.chunks for one in others] == [
        [[Chunk("text")]],
        "holds no text; scans and pictures need text recognition (OCR) first.",
        "holds more than 3 passages of text; split it.",
    ]
