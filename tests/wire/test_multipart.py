"""Forms: read piece by piece, wherever the pieces end, and refused with a sentence."""

import gc
import weakref
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import BadRequest, SwitchboardError, TooLarge
from shared.wire.multipart import FILE_LIMIT, FORM_LIMIT, MOST_FILES, FormReader, is_form
from shared.wire.request_body import BODY_LIMIT, Body

BOUNDARY = "---Part-5fc03256-9c87-40fd-b4c5-831fd0ee682c"
CONTENT_TYPE = f"multipart/form-data; boundary={BOUNDARY}"
JSON = b'{"messages":[{"role":"user","content":"What is it?"}],"sessionState":{"a":1}}'
PNG = b"\x89PNG\r\n\x1a\n\r\n--\r\n-----Part-5fc\x00"
"""Bytes that look like a boundary for a while."""

SENT = (
    (
        f"--{BOUNDARY}\r\n"
        "content-type: application/json\r\n"
        "content-disposition: form-data; name=json\r\n\r\n"
        f"{JSON.decode()}\r\n--{BOUNDARY}\r\n"
        "content-type: image/png\r\n"
        'content-disposition: form-data; name="messages[0].files[0]"\r\n\r\n'
        f"\0\r\n--{BOUNDARY}\r\n"
        "content-type: text/plain; charset=UTF-8\r\n"
        'content-disposition: form-data; name="messages[0].files[1]"; filename="n\\"o;té.txt"\r\n\r\n'
        f"two\r\n--{BOUNDARY}--\r\n\r\n"
    )
    .encode()
    .replace(b"\0", PNG)
)
"""What `@microsoft/ai-chat-protocol` 1.0 sends, byte for byte but for the image."""


def read(pieces: Iterable[bytes], content_type: str = CONTENT_TYPE) -> Body:
    reader = FormReader(content_type)
    for piece in pieces:
        reader.feed(piece)
    return reader.finish()


def part(name: str, data: bytes = b"x", *headers: str) -> bytes:
    lines = [f'Content-Disposition: form-data; name="{name}"', *headers]
    return b"".join((f"--{BOUNDARY}\r\n".encode(), "\r\n".join(lines).encode(), b"\r\n\r\n", data, b"\r\n"))


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


BODY_PART = part("json", JSON)


def refusal[Error: SwitchboardError](kind: type[Error], body: bytes, content_type: str = CONTENT_TYPE) -> str:
    with pytest.raises(kind) as refused:
        read([body] if body else [], content_type)
    return refused.value.message


def check_sent(body: Body) -> None:
    assert body.json == {"messages": [{"role": "user", "content": "What is it?"}], "sessionState": {"a": 1}}
    image, text = body.files
    assert (image.message, image.index, image.media_type, image.filename) == (0, 0, "image/png", "")
    assert image.data == PNG
    assert (text.message, text.index, text.media_type, text.charset) == (0, 1, "text/plain", "UTF-8")
    assert (text.filename, text.data) == ('n"o;té.txt', b"two")


def test_what_microsofts_client_sends_is_read_wherever_the_network_cuts_it() -> None:
    for cut in range(len(SENT) + 1):
        check_sent(read([SENT[:cut], SENT[cut:]]))


def test_a_form_is_read_byte_by_byte() -> None:
    check_sent(read(SENT[place : place + 1] for place in range(len(SENT))))


@given(st.lists(st.integers(0, len(SENT)), max_size=8))
def test_a_form_is_read_from_any_pieces(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(SENT)]
    check_sent(read(SENT[start:end] for start, end in pairwise(edges)))


@given(st.binary(max_size=300), st.integers(1, 40))
def test_a_file_comes_through_whatever_its_bytes(data: bytes, size: int) -> None:
    body = form(BODY_PART, part("messages[0].files[0]", data))
    assert read(body[start : start + size] for start in range(0, len(body), size)).files[0].data == data


def test_a_form_that_was_cut_off_is_not_taken_for_whole() -> None:
    assert "no body" in refusal(BadRequest, b"")
    for end in range(1, len(SENT) - len("\r\n\r\n")):
        assert "cut off" in refusal(BadRequest, SENT[:end])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "no body"),
        (JSON, "malformed before its first part"),
        (b"--other\r\n", "malformed before its first part"),
        (b"\r\n\r\n", "cut off"),
        (form(BODY_PART)[:-4], "cut off"),
        (f"--{BOUNDARY}\nContent-Disposition: form-data; name=json\n\n{{}}\n--{BOUNDARY}--".encode(), "malformed"),
        (form(part("json", JSON, "no colon here")), "malformed in part 1"),
        (form(part("json", JSON, *(f"X-{n}: 1" for n in range(9)))), "malformed in part 1"),
        (form(part("json", JSON, f"X: {'x' * 5_000}")), "malformed in part 1"),
        (form(), "no part named 'json'"),
        (form(part("messages[0].files[0]")), "no part named 'json'"),
        (form(BODY_PART, BODY_PART), "two parts named 'json'"),
        (form(BODY_PART, *[part("messages[0].files[0]")] * 2), "two parts named 'messages[0].files[0]'"),
        (form(part("")), "Part 1 has no name"),
        (form(BODY_PART, part("x").replace(b' name="x"', b"")), "Part 2 has no name"),
        (form(BODY_PART, part("x").replace(b"Content-Disposition", b"X")), "Part 2 has no name"),
        (form(part("file")), "no place for a part named 'file'"),
        (form(part("messages[0].files[-1]")), "no place for a part named 'messages[0].files[-1]'"),
        (form(part("messages[00].files[0]")), "no place for"),
        (form(part("messages[0].files[0].data")), "no place for"),
        (form(part("messages[99999].files[0]")), "no place for"),
        (form(part("messages[٣].files[0]")), "no place for"),
        (form(part("a\0b" + "c" * 500)), "a b" + "c" * 47 + "…"),
        (form(part("json", b"e30=", "Content-Transfer-Encoding: base64")), "transfer encoding"),
        (form(part("json", b"[]")), "no object"),
        (form(part("json", b"")), "no body"),
        (form(part("json", b"{")), "not JSON"),
        (form(part("json", b'{"m": "\xff"}')), "not UTF-8"),
    ],
)
def test_a_form_that_cannot_be_read_is_told_why(body: bytes, says: str) -> None:
    assert says in refusal(BadRequest, body)


@pytest.mark.parametrize(
    ("content_type", "says"),
    [
        ("multipart/form-data", "no boundary"),
        ("multipart/form-data; boundary=", "no boundary"),
        ('multipart/form-data; boundary=""', "no boundary"),
        (f"multipart/form-data; boundary={'b' * 300}", "too long"),
        (f"multipart/mixed; boundary={BOUNDARY}", "multipart/form-data"),
        ("multipart/", "multipart/form-data"),
    ],
)
def test_a_content_type_that_says_too_little_is_told_so(content_type: str, says: str) -> None:
    assert is_form(content_type)
    assert says in refusal(BadRequest, form(BODY_PART), content_type)


@pytest.mark.parametrize("boundary", [f'"{BOUNDARY}"', f"{BOUNDARY}; charset=utf-8"])
def test_a_boundary_is_read_as_clients_write_it(boundary: str) -> None:
    assert read([SENT], f"Multipart/Form-Data; boundary={boundary}").files


def test_json_is_no_form() -> None:
    assert not is_form("application/json")
    assert not is_form("")


def test_a_form_without_files_is_a_body_like_any_other() -> None:
    assert read([form(BODY_PART)]) == Body(
        {"messages": [{"role": "user", "content": "What is it?"}], "sessionState": {"a": 1}}
    )


def test_parts_come_in_any_order() -> None:
    body = read([form(part("messages[0].files[1]", b"1"), BODY_PART, part("messages[0].files[0]", b"0"))])
    assert [(file.index, file.data) for file in body.files] == [(1, b"1"), (0, b"0")]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (r"C:\\Users\\me\\report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("messages[0].files[0]", ""),
        ("x" * 200 + ".pdf", "x" * 50 + "…" + "x" * 46 + ".pdf"),
        ("two\tlines.txt", "two lines.txt"),
    ],
)
def test_a_file_name_is_one_short_line_without_folders(sent: str, kept: str) -> None:
    body = part("messages[0].files[0]").replace(b"\r\n\r\n", f'; filename="{sent}"\r\n\r\n'.encode(), 1)
    assert read([form(BODY_PART, body)]).files[0].filename == kept


def test_limits_are_told_with_their_numbers() -> None:
    assert f"'json' is over {BODY_LIMIT:,} bytes" in refusal(TooLarge, form(part("json", b" " * (BODY_LIMIT + 1))))
    assert f"'messages[0].files[0]' is over {FILE_LIMIT:,} bytes" in refusal(
        TooLarge, form(BODY_PART, part("messages[0].files[0]", b"x" * (FILE_LIMIT + 1)))
    )
    many = [part(f"messages[0].files[{index}]") for index in range(MOST_FILES + 1)]
    assert f"more than {MOST_FILES} files" in refusal(TooLarge, form(BODY_PART, *many))
    assert len(read([form(BODY_PART, *many[1:])]).files) == MOST_FILES


def test_what_is_over_a_limit_is_refused_before_it_is_all_there() -> None:
    reader = FormReader(CONTENT_TYPE)
    reader.feed(part("messages[0].files[0]")[:-2])
    for _ in range(FILE_LIMIT // 65_536 - 1):
        reader.feed(b"x" * 65_536)
    with pytest.raises(TooLarge):
        reader.feed(b"x" * 65_536 * 2)


def test_the_whole_is_limited_though_each_file_is_not_too_large() -> None:
    files = [part(f"messages[0].files[{index}]", b"x" * (FILE_LIMIT - 1)) for index in range(3)]
    assert f"over {FORM_LIMIT:,} bytes" in refusal(TooLarge, form(BODY_PART, *files))


def test_an_endless_epilogue_is_too_large() -> None:
    assert "over" in refusal(TooLarge, form(BODY_PART) + b"\n" * FORM_LIMIT)


def test_a_form_leaves_the_memory_as_soon_as_it_is_dropped() -> None:
    reader: FormReader | None = FormReader(CONTENT_TYPE)
    reader.feed(form(BODY_PART, part("messages[0].files[0]", b"x" * 1000)))
    dropped = weakref.ref(reader)
    gc.disable()  # which finds reference cycles some time later, when the files of many forms are in memory
    try:
        reader = None
        assert dropped() is None
    finally:
        gc.enable()
