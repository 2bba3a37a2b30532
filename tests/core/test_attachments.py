"""Files of a request: images for the model to see, the text of others, each with the message that it names."""

import io
import sys
import zipfile
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shared.chat_types import ChatRequest, FileText, ImagePart, Message, Role
from shared.core.attachments import LONGEST_TEXT, Attachment, attach, attached_thoughts
from shared.core.context_window import ATTACHED_TOKENS, estimate_attached_tokens, fit_history
from shared.core.prompts import PROMPTS, answer_prompt, rewrite_prompt
from shared.errors import BadRequest, TooLarge
from shared.reading.limits import UPLOAD_LIMITS
from shared.reading.sandbox import sandbox_for_uploads
from tests.hostile.office_files import cells, epub, pptx, text_box, xlsx

FILES = Path(__file__).parents[1] / "reading" / "files"
OFFICE = "application/vnd.openxmlformats-officedocument"
SANDBOX = sandbox_for_uploads()
REQUEST = ChatRequest(
    (
        Message(Role.USER, "First question"),
        Message(Role.ASSISTANT, "First answer"),
        Message(Role.USER, "What is in it?"),
    )
)
PNG, JPEG = b"\x89PNG\r\n\x1a\n...", b"\xff\xd8\xff\xe0..."
GIF, WEBP = b"GIF89a...", b"RIFF\x10\0\0\0WEBPVP8 "


def sent(data: bytes, media_type: str = "", filename: str = "", message: int = 2, index: int = 0) -> Attachment:
    media_type, _, charset = media_type.partition(";charset=")
    part = f"messages[{message}].files[{index}]"
    return Attachment(part, message, index, filename, media_type, charset or None, data)


async def attached(*files: Attachment, request: ChatRequest = REQUEST) -> ChatRequest:
    return await attach(request, files, SANDBOX, no_images=None)


async def refusal(file: Attachment, no_images: str | None = None) -> str:
    with pytest.raises(BadRequest) as refused:
        await attach(REQUEST, [file], SANDBOX, no_images=no_images)
    assert file.part in refused.value.message
    return refused.value.message


_recorded: list[str] | None = None


def _record(event: str, arguments: tuple[object, ...]) -> None:
    if _recorded is not None and event in ("open", "os.mkdir", "tempfile.mkdtemp", "tempfile.mkstemp"):
        _recorded.append(f"{event} {arguments[0]}")


@pytest.fixture(scope="module")
def audit_hook() -> None:
    sys.addaudithook(_record)  # stays until the process ends, and does nothing between the tests that use it


@pytest.fixture
def record_files(audit_hook: None) -> Generator[list[str]]:  # noqa: ARG001 (it has to be there)
    """The files and folders that this process opens or makes during a test."""
    global _recorded  # noqa: PLW0603 (a hook belongs to the process)
    _recorded = []
    yield _recorded
    _recorded = None


async def test_each_file_goes_to_the_message_that_it_names_in_its_order() -> None:
    request = await attached(
        sent(b"later", "text/plain", "b.txt", index=1),
        sent(b"earlier", "text/plain", "a.txt", index=0),
        sent(b"before", "text/plain", message=0),
        sent(PNG, "image/png", index=2),
    )
    assert request.messages[0].files == (FileText("file 1", "before"),)
    assert request.messages[1] == REQUEST.messages[1]
    assert request.messages[2].files == (FileText("a.txt", "earlier"), FileText("b.txt", "later"))
    assert request.messages[2].images == (ImagePart("image/png", PNG),)
    assert request.question == "What is in it?"


@pytest.mark.parametrize(
    ("data", "declared", "found"),
    [
        (PNG, "image/png", "image/png"),
        (JPEG, "image/jpeg", "image/jpeg"),
        (JPEG, "image/jpg", "image/jpeg"),
        (GIF, "image/gif", "image/gif"),
        (WEBP, "image/webp", "image/webp"),
        (PNG, "", "image/png"),
        (WEBP, "application/octet-stream", "image/webp"),
    ],
)
async def test_an_image_is_known_by_its_bytes(data: bytes, declared: str, found: str) -> None:
    request = await attached(sent(data, declared, "picture"))
    assert request.messages[2].images == (ImagePart(found, data),)


@pytest.mark.parametrize(
    ("data", "declared", "says"),
    [
        (JPEG, "image/png", "declared as 'image/png', but its bytes are image/jpeg"),
        (b"<svg>", "image/png", "declared as 'image/png', but its bytes are no such image"),
        (PNG, "text/plain", "declared as 'text/plain', but its bytes are image/png"),
        (b"<svg/>", "image/svg+xml", "'image/svg+xml', which cannot be read"),
        (b"", "image/png", "is empty"),
        (b"", "text/plain", "is empty"),
    ],
)
async def test_a_file_that_is_not_what_it_says_is_refused(data: bytes, declared: str, says: str) -> None:
    assert says in await refusal(sent(data, declared))


async def test_images_are_refused_where_nothing_sees_them() -> None:
    assert "is an image. Nobody looks." in await refusal(sent(PNG, "image/png"), "Nobody looks.")
    request = await attach(REQUEST, [sent(b"text", "text/plain")], SANDBOX, no_images="Nobody looks.")
    assert request.messages[2].files


@pytest.mark.parametrize(
    ("message", "says"),
    [(3, "not there: the last one is messages[2]"), (999, "not there"), (1, "the role 'assistant'")],
)
async def test_a_file_of_no_message_of_the_users_is_refused(message: int, says: str) -> None:
    assert says in await refusal(sent(b"text", "text/plain", message=message))


@pytest.mark.parametrize(
    ("data", "declared", "filename", "text"),
    [
        (b"plain", "text/plain", "", "plain"),
        (b"a,b\n1,2", "text/csv", "", "| a | b |"),
        (b"a,b\n1,2", "application/vnd.ms-excel", "from-windows.csv", "| a | b |"),
        (b"a\tb\n1\t2", "text/tab-separated-values", "", "| a | b |"),
        (b"From: a@example.com\n\nHello.", "message/rfc822", "", "Hello."),
        (rb"{\rtf1 Gr\'fc\'dfe}", "application/rtf", "", "Grüße"),
        (rb"{\rtf1 Gr\'fc\'dfe}", "text/rtf", "", "Grüße"),
        (pptx(text_box("Tea")), f"{OFFICE}.presentationml.presentation", "", "(page 1)\nTea"),
        (pptx(text_box("Tea")), "", "slides.PPTX", "Tea"),
        (xlsx(cells(b"<row><c><v>42</v></c></row>")), f"{OFFICE}.spreadsheetml.sheet", "", "42"),
        (xlsx(cells(b"<row><c><v>42</v></c></row>")), "application/vnd.ms-excel.sheet.macroenabled.12", "", "42"),
        (epub({"1.html": b"<p>Tea"}), "application/epub+zip", "", "Tea"),
        (b'{"a": 1}', "application/json", "", '{"a": 1}'),
        (b'{"a": 1}', "application/geo+json", "", '{"a": 1}'),
        (b"# Head", "text/markdown", "", "# Head"),
        (b"<h1>Head</h1><script>x</script>", "text/html", "", "# Head"),
        (b"<h1>Head</h1>", "application/octet-stream", "page.HTML", "# Head"),
        (b"<h1>Head</h1>", "", "page.html", "# Head"),
        (b"# Head", "application/x-unknown", "notes.md", "# Head"),
        ("Grüße".encode("utf-16"), "text/plain", "", "Grüße"),
        ("Gr\u0171\u00dfe".encode("iso-8859-2"), "text/plain;charset=iso-8859-2", "", "Gr\u0171\u00dfe"),
        ((FILES / "rules.docx").read_bytes(), "application/octet-stream", "rules.docx", "#"),
        ((FILES / "three-pages.pdf").read_bytes(), "application/pdf", "", "(page 2)\n"),
    ],
)
async def test_the_text_of_a_file_is_read_by_its_type_or_its_name(
    data: bytes, declared: str, filename: str, text: str
) -> None:
    request = await attached(sent(data, declared, filename))
    assert text in request.messages[2].files[0].text


@pytest.mark.parametrize(
    ("data", "declared", "filename", "says"),
    [
        ((FILES / "protected.pdf").read_bytes(), "application/pdf", "plan.pdf", "('plan.pdf') is protected"),
        ((FILES / "damaged.pdf").read_bytes(), "application/pdf", "", "is damaged"),
        (b"no pdf", "application/pdf", "", "is damaged"),
        ((FILES / "scanned.pdf").read_bytes(), "application/pdf", "", "holds no text"),
        (b"no archive", "", "plan.docx", "is damaged"),
        (
            (FILES / "rules.docx").read_bytes().replace(b"PK\1\2\x14\3\x14", b"PK\1\2\x14\3\xff"),
            "",
            "a.docx",
            "is damaged",
        ),
        ((FILES / "rules.docx").read_bytes().replace(b"PK\1\2", b"PK\1\3"), "", "a.docx", "is damaged"),
        (b"\0\1\2\3" * 50, "text/plain", "", "is not text"),
        (b" \n", "text/plain", "", "holds no text"),
        (b"PK\3\4", "application/zip", "a.zip", "'application/zip', which cannot be read. Send PDF"),
        (b"\0\1", "application/octet-stream", "a.bin", "'application/octet-stream', which cannot be read"),
        (b"\0\1", "", "", "no content-type and no known file name"),
        (
            b"\xd0\xcf\x11\xe0",
            "application/msword",
            "old.doc",
            "is in the format .doc, which cannot be read; save it as",
        ),
    ],
)
async def test_a_file_that_cannot_be_read_is_told_why(data: bytes, declared: str, filename: str, says: str) -> None:
    assert says in await refusal(sent(data, declared, filename))


def packed_words() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b"word " * (UPLOAD_LIMITS.markup_bytes // 5 + 1))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("data", "filename"), [(b"<p>" * (UPLOAD_LIMITS.markup_bytes // 3 + 1), "page.html"), (packed_words(), "plan.docx")]
)
async def test_markup_that_would_fill_the_memory_is_too_large(data: bytes, filename: str) -> None:
    with pytest.raises(TooLarge, match=f"{filename}'.*2,097,152 bytes of markup"):
        await attached(sent(data, "", filename))


async def test_long_files_share_the_room_and_the_latest_messages_come_first() -> None:
    request = await attached(
        sent(b"old " * 20_000, "text/plain", "old.txt", message=0),
        sent(b"new " * 20_000, "text/plain", "new.txt"),
    )
    new, old = request.messages[2].files[0], request.messages[0].files[0]
    assert (len(new.text), new.left_out) == (79_999, 0)
    assert (len(old.text), old.left_out) == (LONGEST_TEXT - 79_999, 79_999 * 2 - LONGEST_TEXT)
    assert "more characters of the file are left out]" in request.messages[0].text
    assert "left out" not in request.messages[2].text


async def test_room_is_counted_in_bytes_and_ends_between_characters() -> None:
    request = await attached(sent(("漢字" * 20_000).encode(), "text/plain"))
    (file,) = request.messages[2].files
    assert file.text == "漢字" * (LONGEST_TEXT // 6) + "漢"
    assert file.left_out == 40_000 - len(file.text)
    assert fit_history([*request.messages, Message(Role.ASSISTANT, "Two signs.")])[2].files


async def test_no_file_is_written_or_opened_to_read_an_upload(record_files: list[str]) -> None:
    files = [
        sent("Grüße".encode("cp1252"), "text/plain;charset=cp1252", index=0),
        sent(b"<h1>Head</h1>", "text/html", index=1),
        sent((FILES / "rules.docx").read_bytes(), "", "rules.docx", index=2),
        sent((FILES / "three-pages.pdf").read_bytes(), "application/pdf", index=3),
    ]
    await attached(*files)  # imports the readers, which opens files of theirs
    record_files.clear()
    request = await attached(*files)
    assert len(request.messages[2].files) == 4
    assert record_files == []


async def test_a_file_that_takes_too_long_is_given_up() -> None:
    file = sent((FILES / "three-pages.pdf").read_bytes(), "application/pdf")
    with pytest.raises(TooLarge, match=r"messages\[2\]\.files\[0\] takes too long to read"):
        await attach(REQUEST, [file], SANDBOX, no_images=None, read_timeout_seconds=0)


async def test_the_answer_reads_the_files_and_the_search_does_not() -> None:
    request = await attached(
        sent(b"The code is 4711.", "text/plain", "[draft] notes.txt"), sent(PNG, "image/png", index=1)
    )
    instructions, *_, question = answer_prompt(request, request.messages[:-1], ["plan.pdf: Dental care."])
    assert PROMPTS["files"] in instructions.content
    assert question.text == (
        "<file>\nName: (draft) notes.txt\n\nThe code is 4711.\n</file>\n\nSources:\nplan.pdf: Dental care.\n\n"
        f"Today is {datetime.now(UTC):%A, %Y-%m-%d}.\n\nWhat is in it?"
    )
    assert question.images == request.messages[2].images
    asked = rewrite_prompt(request, request.messages[:-1])
    assert not [message for message in asked if message.images or "4711" in message.text]


def test_without_files_the_prompt_says_nothing_of_them() -> None:
    assert PROMPTS["files"] not in answer_prompt(REQUEST, (), [])[0].content
    assert attached_thoughts(REQUEST) == []


async def test_the_thought_counts_what_was_taken_and_shows_none_of_it() -> None:
    request = await attached(sent(b"Secret", "text/plain", "a.txt"), sent(PNG, "image/png", message=0))
    (thought,) = attached_thoughts(request)
    assert thought.description == [
        {"message": 0, "image": "image/png", "bytes": len(PNG)},
        {"message": 2, "file": "a.txt", "characters": 6, "left_out": 0},
    ]


def test_files_of_earlier_messages_have_a_budget_of_their_own() -> None:
    small = Message(Role.USER, "Hi", files=(FileText("a.txt", "x" * 40_000),))
    large = Message(Role.USER, "Hi", files=(FileText("b.txt", "x" * ATTACHED_TOKENS * 4),))
    seen = Message(Role.USER, "Hi", images=(ImagePart("image/png", PNG),) * 10)
    assert fit_history([small, REQUEST.messages[1]]) == (small, REQUEST.messages[1])
    assert fit_history([large, REQUEST.messages[1]]) == (REQUEST.messages[1],)
    assert fit_history([small, seen]) == (small, seen)
    assert fit_history([small, seen, seen]) == (seen, seen)
    assert estimate_attached_tokens(small) > 10_000
    assert estimate_attached_tokens(seen) > 10 * 1_000


def test_an_image_shows_as_what_it_is() -> None:
    assert str(ImagePart("image/png", b"x" * 12_345)) == "[image: image/png, 12 kB]"
    assert "xxx" not in repr(ImagePart("image/png", b"xxx"))
