"""E-mails that Outlook has saved (`.msg`): made into e-mails as they are sent, which `mail` reads.

Source: [MS-OXMSG], 2.2 'Storages' and 2.4 'Property Stream'; [MS-OXPROPS] for the numbers of properties.
"""

import datetime as dt
import struct
from contextlib import suppress
from email.mime.application import MIMEApplication
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.parser import HeaderParser
from email.policy import compat32
from email.utils import format_datetime
from io import BytesIO

from compressed_rtf import decompress
from olefile import OleFileIO

from shared.reading import Page, UnreadableError, markup, plain_text
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits
from shared.reading.mail import read_message

_PROPERTIES, _ATTACHED, _INNER = "__properties_version1.0", "__attach_version1.0_", "__substg1.0_3701000D"
_UNICODE, _IN_CODE_PAGE, _BINARY = "001F", "001E", "0102"
"""Types of properties: text in UTF-16, text in the Windows code page of the e-mail, and bytes."""
_SENT, _CODE_PAGES = (0x0039, 0x0E06), (0x3FDE, 0x3FFD)
"""Properties of when it was sent and delivered, and of the code page, the best first."""
_FIRST_TIME = dt.datetime(1601, 1, 1, tzinfo=dt.UTC)
_HEADER, _INNER_HEADER, _ENTRY = 32, 24, 16
"""Bytes before the list of properties, of the file's e-mail and of one in it, and of a property in the list."""
_ONLY_TEXTS = ("ipm.note", "ipm.post", "ipm.stickynote")
"""Classes of items without fields of their own, such as the place of an appointment."""


def read_outlook(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read an e-mail that Outlook has saved, with its attachments, and e-mails that are attached with theirs."""
    with OleFileIO(BytesIO(data)) as file:
        outlook = _Outlook(file, len(data))
        return read_message(outlook.mail(()), limits, outlook.left_out)


class _Outlook:
    """A file: a folder with the properties of the e-mail, and in it a folder for each attachment."""

    def __init__(self, file: OleFileIO, size: int) -> None:
        self.left_out: list[str] = []
        """What of its e-mails is not read."""
        self._file, self._unread = file, size
        self._entries = {tuple(entry) for entry in file.listdir()}
        self._code_pages: dict[tuple[str, ...], str] = {}
        """By the folder of an e-mail."""
        if (_PROPERTIES,) not in self._entries:
            raise UnreadableError("is no e-mail.")

    def mail(self, folder: tuple[str, ...]) -> MIMEMultipart:
        """The e-mail in a folder, with those in it."""
        mail = self.headers(folder)
        if (bodies := self._bodies(folder)).get_payload():
            mail.attach(bodies)
        kind = self._text(folder, "001A") or "IPM.Note"
        if not kind.lower().startswith(_ONLY_TEXTS):
            self.left_out.append(f"fields of {kind.strip()}")
        inside = {entry[len(folder)] for entry in self._entries if entry[: len(folder)] == folder}
        for name in sorted(one for one in inside if one.startswith(_ATTACHED)):
            mail.attach(self._attachment((*folder, name)))
        return mail

    def headers(self, folder: tuple[str, ...]) -> MIMEMultipart:
        """The headers of the e-mail in a folder: those that were sent, else what its properties say."""
        values = self._values(folder)
        self._code_pages[folder] = next((f"cp{values[number]}" for number in _CODE_PAGES if number in values), "")
        sent = HeaderParser(policy=compat32).parsestr(self._text(folder, "007D"))
        address = self._text(folder, "5D01") or self._text(folder, "0C1F")
        shown = f" <{address}>" if "@" in address and not address.startswith("/") else ""  # else within the company
        mail = MIMEMultipart()
        mail["Subject"] = self._text(folder, "0037") or sent["Subject"] or ""
        mail["From"] = sent["From"] or self._text(folder, "0C1A") + shown
        mail["To"] = sent["To"] or self._text(folder, "0E04")
        mail["Cc"] = sent["Cc"] or self._text(folder, "0E03")
        mail["msip_labels"] = sent["msip_labels"] or ""
        mail["Date"] = sent["Date"] or next((_time(values[one]) for one in _SENT if values.get(one)), "")
        return mail

    def _bodies(self, folder: tuple[str, ...]) -> MIMEMultipart:
        bodies = MIMEMultipart("alternative")
        if text := self._text(folder, "1000"):
            bodies.attach(MIMEText(text, "plain", "utf-8"))
        html = self._bytes(folder, "1013", _BINARY)
        if html or (text := self._text(folder, "1013")):
            bodies.attach(MIMEText(markup.decoded_html(html) if html else text, "html", "utf-8"))
        if not bodies.get_payload() and (rtf := self._bytes(folder, "1009", _BINARY)):
            bodies.attach(MIMEApplication(decompress(rtf), "rtf"))
        return bodies

    def _attachment(self, folder: tuple[str, ...]) -> MIMEMessage | MIMEApplication:
        inner = (*folder, _INNER)
        if (*inner, _PROPERTIES) in self._entries:
            return MIMEMessage(self.mail(inner))
        part = MIMEApplication(self._bytes(folder, "3701", _BINARY), _encoder=lambda _: None)
        names = (self._text(folder, number) for number in ("3707", "3704", "3001"))
        part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", next(filter(None, names), "")))
        return part

    def _text(self, folder: tuple[str, ...], number: str) -> str:
        if found := self._bytes(folder, number, _UNICODE):
            return found.decode("utf-16-le", "replace").rstrip("\0")
        found = self._bytes(folder, number, _IN_CODE_PAGE).rstrip(b"\0")
        try:
            return plain_text.decode(found, self._code_pages.get(folder) or self._code_pages.get(folder[:-1]))
        except UnreadableError:  # too short to find its encoding
            return found.decode("cp1252", "replace")

    def _bytes(self, folder: tuple[str, ...], number: str, kind: str) -> bytes:
        return self._read((*folder, f"__substg1.0_{number}{kind}"))

    def _values(self, folder: tuple[str, ...]) -> dict[int, int]:
        """The numbers and times among the properties, by the number of the property."""
        data = self._read((*folder, _PROPERTIES))[_INNER_HEADER if folder else _HEADER :]
        return dict(struct.iter_unpack("<2xH4xQ", data[: len(data) - len(data) % _ENTRY]))

    def _read(self, path: tuple[str, ...]) -> bytes:
        """Read a stream, which may be absent. All of them are not longer than the file, or they share bytes."""
        found = self._file.openstream([*path]).read() if path in self._entries else b""
        self._unread -= len(found)
        if self._unread < 0:
            raise UnreadableError("is damaged, or not of the format that its name says.")
        return found


def _time(value: int) -> str:
    """A time that is given in tenths of microseconds."""
    with suppress(OverflowError):
        return format_datetime(_FIRST_TIME + dt.timedelta(microseconds=value // 10))
    return ""
