"""E-mails that Outlook has saved: what they say, in each form and encoding that they have it, and what ends them.

Two files of other projects' tests are in `files`: `attachments.msg` of docling (MIT), and `code-page.msg` of Apache POI
(Apache License 2.0).
"""

import datetime as dt
import struct
from pathlib import Path

import pytest

from shared.reading import UnreadableError
from shared.reading.readers import left_out_of, read_all_pages
from tests.hostile.outlook_files import INNER, Folder, attached, data, mail, nested_msg, outlook_file, text
from tests.reading.sources import read_pages

FILES = Path(__file__).parent / "files"
SENT = {
    0x0039: int(
        (dt.datetime(2026, 3, 5, 9, tzinfo=dt.UTC) - dt.datetime(1601, 1, 1, tzinfo=dt.UTC))
        / dt.timedelta(microseconds=1)
    )
    * 10
}
HEADERS = "# Fees\n\nFrom: Kim <kim@example.com>"


def read(folder: Folder) -> str:
    (page,) = read_pages(outlook_file(folder), ".msg")
    return page.text


def rich(content: bytes) -> Folder:
    """A body in RTF, which is not compressed."""
    return data("1009", struct.pack("<II4sI", len(content) + 12, len(content), b"MELA", 0) + content)


def test_a_real_file_has_its_headers_its_text_and_its_attachments() -> None:
    pages = read_all_pages((FILES / "attachments.msg").read_bytes(), ".msg")
    assert pages[0].text == (
        "# Email with Attachment\n\nFrom: Alice Example <alice@example.com>\nTo: Bob Example <bob@example.com>\n"
        "Date: Wed, 20 May 2026 10:30:00 +0000\n\nThis email contains an attachment.\n\n"
        "## Attachment: test.txt\n\nThis is a test attachment file.\nIt contains some dummy content.\n\n"
        "Attachment, not read: report.pdf (is damaged, or no PDF.)"
    )
    assert pages[0].stated.date == "2026-05-20"
    assert left_out_of(pages) == "attachment report.pdf"


def test_a_real_file_in_a_code_page_is_decoded_by_what_it_says_of_itself() -> None:
    (page,) = read_pages((FILES / "code-page.msg").read_bytes(), ".msg")
    assert page.text == "# Subject цдь Subject\n\nHTML автоматически"


def test_a_text_in_a_code_page_is_too_short_to_be_known_by_its_letters() -> None:
    body = {"__substg1.0_1000001E": "Süß".encode("cp1252")}
    assert read(mail("Tea", body, times={0x3FDE: 1252})).endswith("\n\nSüß")


HTML = "<html><table><tr><td>Boat</td><td>417</td></tr></table></html>"
WRAPPED = (
    rb"{\rtf1\ansi\ansicpg1252\fromhtml1 {\*\htmltag64 <p>}The fee is 417 euros f\'fcr "
    rb"{\*\htmltag148 <b>}\htmlrtf {\b \htmlrtf0 all{\*\htmltag156 </b>}\htmlrtf }\htmlrtf0 :"
    rb"{\*\htmltag0 <ul>}{\*\htmltag64 <li>}boats{\*\htmltag72 </li>}{\*\htmltag64 <li>}sails}"
)
BODIES: dict[str, tuple[tuple[Folder, ...], str]] = {
    "plain text": ((text("1000", "The fee is 417 euros."),), "The fee is 417 euros."),
    "HTML as bytes": ((data("1013", HTML.encode()),), "| Boat | 417 |\n| --- | --- |"),
    "HTML as text": ((text("1013", HTML),), "| Boat | 417 |\n| --- | --- |"),
    "plain text that says nothing": (
        (text("1000", "See the HTML."), text("1013", HTML)),
        "| Boat | 417 |\n| --- | --- |",
    ),
    "HTML in RTF": ((rich(WRAPPED),), "The fee is 417 euros für all:\nboats\nsails"),
    "plain text and RTF": ((text("1000", "The fee is 417 euros."), rich(WRAPPED)), "The fee is 417 euros."),
    "none": ((), ""),
}


@pytest.mark.parametrize("case", BODIES)
def test_the_body_is_read_in_each_of_its_forms(case: str) -> None:
    bodies, shown = BODIES[case]
    assert read(mail("Fees", *bodies)) == f"{HEADERS}\n\n{shown}".rstrip()


def test_attached_files_and_emails_are_read() -> None:
    file = attached(0, text("3707", "Gebühren.csv"), data("3701", b"Boat;Fee\nSail;417"))
    inner = mail("Rules", text("1000", "The gate opens at nine."), attached(0, text("3704", "a.dwg")), is_inner=True)
    other = attached(2, text("3001", "plan.msg"), data("3701", outlook_file(mail("Plan", text("1000", "At ten.")))))
    assert read(mail("Fees", text("1000", "See below."), file, attached(1, {INNER: inner}), other)) == (
        f"{HEADERS}\n\nSee below.\n\n## Attachment: Gebühren.csv\n\n| Boat | Fee |\n| --- | --- |\n| Sail | 417 |\n\n"
        "## Attachment: e-mail\n\n# Rules\n\nFrom: Kim <kim@example.com>\n\nThe gate opens at nine.\n\n"
        "Attachment, not read: a.dwg\n\n"
        "## Attachment: plan.msg\n\n# Plan\n\nFrom: Kim <kim@example.com>\n\nAt ten."
    )


def test_emails_in_one_another_are_read_down_to_a_depth_and_then_named() -> None:
    (page,) = read_pages(nested_msg(20), ".msg")
    assert [f"level {number}" in page.text for number in range(7)] == [True] * 6 + [False]
    assert "Attachment, not read: e-mail (it is in too many others)" in page.text
    assert page.left_out == ("attachment e-mail",)


def test_when_it_was_sent_and_its_label_are_known() -> None:
    header = text("007D", "msip_labels: MSIP_Label_1_Enabled=true; MSIP_Label_1_Name=Internal\r\nTo: a@example.com\r\n")
    (page,) = read_pages(outlook_file(mail("Fees", header, times=SENT)), ".msg")
    assert page.text == f"{HEADERS}\nTo: a@example.com\nDate: Thu, 05 Mar 2026 09:00:00 +0000"
    assert page.stated == ("2026-03-05", "Internal")
    (page,) = read_pages(outlook_file(mail("Fees", times={0x0039: 2**64 - 1})), ".msg")
    assert (page.text, page.stated) == (HEADERS, ("", ""))


def test_fields_that_only_items_of_other_classes_have_are_named_as_left_out() -> None:
    pages = read_all_pages(outlook_file(mail("Fees", text("001A", "IPM.Appointment"))), ".msg")
    assert left_out_of(pages) == "fields of IPM.Appointment"


@pytest.mark.parametrize(("name", "body"), [("message.rpmsg", "This message is protected."), ("smime.p7m", "")])
def test_an_email_that_is_locked_is_refused_with_what_to_do(name: str, body: str) -> None:
    part = attached(0, text("3707", name), data("3701", b"\x00\x01"))
    with pytest.raises(UnreadableError, match=r"^is encrypted, or protected .*; save its text in another file\.$"):
        read(mail("Fees", text("1000", body), part))
    inner = attached(0, {INNER: mail("Locked", part, is_inner=True)})
    assert f"Attachment, not read: {name}" in read(mail("Fees", inner))


DAMAGED = {
    "no Outlook file": b"just text" * 1_000,
    "a name of a file": str(FILES / "attachments.msg").encode(),
    "another compound file": outlook_file({"WordDocument": b"text"}),
    "streams that share their bytes": outlook_file(
        mail("Fees", *(attached(number, data("3701", bytes(20_000))) for number in range(9))), shares=True
    ),
    **{f"cut off at {end}": outlook_file(mail("Fees", text("1000", "x")))[:end] for end in (7, 511, 600, 8_000)},
}


@pytest.mark.parametrize("case", DAMAGED)
def test_what_is_damaged_or_no_email_is_refused(case: str) -> None:
    with pytest.raises(UnreadableError, match=r"^is (damaged, or not of the format that its name says|no e-mail)\.$"):
        read_pages(DAMAGED[case], ".msg")


def test_a_stream_that_goes_round_and_folders_that_are_too_deep_end() -> None:
    made = outlook_file(mail("Fees", text("1000", "x")))
    table = made.rindex(struct.pack("<I", 0xFFFFFFFD))
    start = table - table % 512
    looped = made[:start] + b"".join(struct.pack("<I", number) for number in range(128)) + made[start + 512 :]
    for made in (looped, nested_msg(300)):
        with pytest.raises(UnreadableError):
            read_pages(made, ".msg")
