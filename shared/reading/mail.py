"""E-mails to Markdown: the subject, who wrote to whom and when, the text, and the attachments that can be read.

Source: RFC 5322, and RFC 2046, 5.1.4 for alternatives.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import PurePath
from typing import cast

from shared.reading import Page, Stated, UnreadableError, after_reading, markup, office_parts, packages, plain_text
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.retrieval import day_in

_SHOWN_HEADERS = ("From", "To", "Cc", "Date")
_MAIL_SUFFIX = ".eml"
_RTF = ("application/rtf", "text/rtf")
_DEEPEST_PART = 50
"""Parts within one another. Real e-mails have four."""
_LONGEST_NAME = 200
"""Characters of an attachment's name that are written."""
_LONGEST_HEADER = 10_000
"""Characters of a header that are read."""


def read_mail(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read an e-mail (`.eml`) with its attachments, and e-mails that are attached with theirs, within limits."""
    check_limit(data.count(b"\n--"), 10 * limits.parts, "lines that may begin a part")
    message = message_from_bytes(data, policy=policy.compat32)  # newer policies fail on headers of many real e-mails
    if not (message["From"] or message["Subject"] or message["Date"] or message["Received"]):
        raise UnreadableError("is no e-mail.")
    return read_message(message, limits)


def read_message(message: Message, limits: ReadLimits, left_out: Sequence[str] = ()) -> list[Page]:
    """Read an e-mail that has been parsed, of which some things are left out already."""
    reader = _Mail(limits)
    text = "\n\n".join(reader.mail(message, 0))
    lost = after_reading.lost_words(reader.bodies, text)
    return [Page(text, left_out=(*left_out, *reader.left_out, *lost), stated=_stated(message))]


def _stated(message: Message) -> Stated:
    """The day and the label that the headers state."""
    day, labels = "", (one.partition("=") for one in str(message["msip_labels"]).split(";"))
    with suppress(ValueError, TypeError, OverflowError):  # there is no date, or it is none
        day = day_in(parsedate_to_datetime(str(message["Date"])).isoformat())
    return Stated(day, after_reading.label_in((name.strip(), value) for name, _, value in labels))


class _Mail:
    """Reads one e-mail, and counts what it holds."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._parts = 0
        self._characters = 0
        self.left_out: list[str] = []
        """The parts that are not read."""
        self.bodies: list[tuple[str, str]] = []
        """The texts of its bodies, before alternatives are chosen among."""

    def mail(self, message: Message, mails: int) -> Iterator[str]:
        """The texts of an e-mail that is in so many others."""
        yield f"# {_header(message, 'Subject') or 'E-mail'}"
        shown = ((name, _header(message, name)) for name in _SHOWN_HEADERS)
        yield "\n".join(f"{name}: {text}" for name, text in shown if text)
        bodies, attached = self._content(message, 0)
        ends = {PurePath(_name(part)).suffix.lower() for part in attached}
        if not mails and (".rpmsg" in ends or (".p7m" in ends and not bodies)):
            raise UnreadableError("is encrypted, or protected by rights (S/MIME, IRM); save its text in another file.")
        yield from bodies
        for part in attached:
            name = _name(part)
            yield self._counted("\n\n".join(self._attachment(part, name, mails)))

    def _content(self, part: Message, depth: int) -> tuple[list[str], list[Message]]:
        """The texts in a part, and the attachments in it."""
        self._parts += 1
        check_limit(self._parts, self._limits.parts, "parts")
        check_limit(depth, _DEEPEST_PART, "parts within one another")
        kind = part.get_content_type()
        if kind == "message/rfc822":
            return [], [part]
        inner = _payload(part)
        if inner:
            found = [self._content(piece, depth + 1) for piece in inner]
            attached = [piece for _, pieces in found for piece in pieces]
            if kind == "multipart/alternative":
                return _alternative(inner, [texts for texts, _ in found]), attached
            return [text for texts, _ in found for text in texts], attached
        if part.get_filename() or part.get_content_disposition() == "attachment":
            return [], [part]
        if kind == "text/html":
            text = self._html(part)
        elif kind in _RTF:
            (page,) = plain_text.read_rtf(_bytes(part), self._limits)
            text = page.text
            self.left_out += page.left_out
        elif kind == "text/plain" or not depth:
            text = plain_text.decode(_bytes(part), part.get_content_charset())
            self.bodies.append(("the text", text))
        else:  # an invitation, or a picture in the text
            self.left_out.append(kind)
            return [], []
        return ([self._counted(text)] if text.strip() else []), []

    def _html(self, part: Message) -> str:
        data = _bytes(part)
        check_limit(len(data), self._limits.markup_bytes, packages.MARKUP)
        html = plain_text.decode(data, part.get_content_charset())
        self.bodies.append(("the HTML version", after_reading.markup_text(html)))
        return markup.html_to_markdown(html, self._limits.tags).strip()

    def _attachment(self, part: Message, name: str, mails: int) -> Iterator[str]:
        is_mail = part.get_content_type() == "message/rfc822"
        suffix = _MAIL_SUFFIX if is_mail else PurePath(name).suffix.lower()
        if suffix == _MAIL_SUFFIX and mails == self._limits.depth:
            self.left_out.append(f"attachment {name}")
            yield f"Attachment, not read: {name} (it is in too many others)"
        elif suffix == _MAIL_SUFFIX:
            yield f"## Attachment: {name}"
            inner = next(iter(_payload(part)), None)
            yield from self.mail(inner or message_from_bytes(_bytes(part), policy=policy.compat32), mails + 1)
        else:
            text, left_out = office_parts.read_attached(name, _bytes(part), self._limits)
            self.left_out += left_out
            yield text

    def _counted(self, text: str) -> str:
        """The text, after a check of all text so far: attachments must not fill the memory together."""
        self._characters += len(text)
        check_limit(self._characters, self._limits.characters, "characters")
        return text


def _alternative(parts: list[Message], texts: list[list[str]]) -> list[str]:
    """The plain text among alternatives, unless another one has most of its words alone."""
    found = {part.get_content_type() == "text/plain": text for part, text in zip(parts, texts, strict=True) if text}
    plain, other = found.get(True, []), found.get(False, [])
    words = set(" ".join(other).split())
    return plain if plain and 2 * len(words.intersection(" ".join(plain).split())) >= len(words) else other


def _payload(part: Message) -> list[Message]:
    payload: object = part.get_payload()
    pieces = cast("list[object]", payload) if isinstance(payload, list) else []
    return [piece for piece in pieces if isinstance(piece, Message)]


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _name(part: Message) -> str:
    name = part.get_filename()
    if not name and part.get_content_type() == "message/rfc822":
        return "e-mail"
    return _decoded(name or "without a name")[:_LONGEST_NAME]


def _header(message: Message, name: str) -> str:
    """A header as text on one line; several of the same name one after the other."""
    return ", ".join(_decoded(str(value)) for key, value in message.raw_items() if key.lower() == name.lower())


def _decoded(value: str) -> str:
    """A header without its encodings (RFC 2047); as it is where these are broken, or raw bytes."""
    raw = value[:_LONGEST_HEADER]
    with suppress(ValueError, LookupError):  # a charset that does not exist, or bytes that are not of it
        raw = str(make_header(decode_header(raw)))
    with suppress(UnicodeError, UnreadableError):  # it is text already
        raw = plain_text.decode(raw.encode("ascii", "surrogateescape"))
    return " ".join(plain_text.clean(raw).split())
