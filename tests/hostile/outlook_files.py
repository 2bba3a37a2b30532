"""Files as Outlook saves them, odd ones too: compound files of folders and streams.

Source: [MS-CFB], [MS-OXMSG]. Streams are filled up to the length of those that have sectors of their own.
"""

import struct
from collections.abc import Mapping
from itertools import batched

type Folder = Mapping[str, bytes | Folder]
"""Streams and folders by their names."""

PROPERTIES = "__properties_version1.0"
INNER = "__substg1.0_3701000D"
"""The folder of an e-mail in that of its attachment."""
_NONE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_SECTOR, _SMALLEST, _ENTRY = 512, 4096, 128


def text(number: str, value: str) -> dict[str, bytes]:
    """A property of text."""
    return {f"__substg1.0_{number}001F": value.encode("utf-16-le")}


def data(number: str, value: bytes) -> dict[str, bytes]:
    """A property of bytes, which ends in empty lines."""
    return {f"__substg1.0_{number}0102": value.ljust(_SMALLEST, b"\n")}


def attached(number: int, *properties: Folder) -> dict[str, Folder]:
    """The folder of an attachment."""
    return {f"__attach_version1.0_#{number:08X}": {key: value for one in properties for key, value in one.items()}}


def mail(subject: str, *more: Folder, times: Mapping[int, int] | None = None, is_inner: bool = False) -> Folder:
    """The folder of an e-mail, with times by the numbers of their properties."""
    entries = (struct.pack("<HHIQ", 0x40, number, 6, value) for number, value in (times or {}).items())
    folder: dict[str, bytes | Folder] = {PROPERTIES: bytes(24 if is_inner else 32) + b"".join(entries)}
    for one in (text("0037", subject), text("0C1A", "Kim"), text("0C1F", "kim@example.com"), *more):
        folder.update(one)
    return folder


def outlook_file(root: Folder, *, shares: bool = False) -> bytes:
    """A file.

    Args:
        root: What is in it.
        shares: Whether all streams are the one that is written first, the last one.
    """
    sectors: list[bytes] = []
    chains: list[int] = []
    entries = [b""]

    def add(held: bytes) -> int:
        start, filled = len(sectors), held.ljust(_SMALLEST, b"\0")
        pieces = [filled[at : at + _SECTOR].ljust(_SECTOR, b"\0") for at in range(0, len(filled), _SECTOR)]
        sectors.extend(pieces)
        chains.extend([*range(start + 1, start + len(pieces)), _END])
        return start

    def write(folder: Folder) -> int:
        """Write the entries of a folder, each beside the next one, and return the place of the first."""
        beside = _NONE
        for name, held in reversed([*folder.items()]):
            if isinstance(held, bytes):
                start = 0 if shares and sectors else add(held)
                size = len(sectors) * _SECTOR if shares else max(len(held), _SMALLEST)
                entry = _entry(name, 2, beside, _NONE, start, size)
            else:
                entry = _entry(name, 1, beside, write(held), 0, 0)
            entries.append(entry)
            beside = len(entries) - 1
        return beside

    first = write(root)
    entries[0] = _entry("Root Entry", 5, _NONE, first, _END, 0)
    directory = add(b"".join(entries))
    count = 1
    while count * _ENTRY < len(sectors) + count:
        count += 1
    place = len(sectors)
    table = [*chains, *[_FAT] * count]
    table += [_NONE] * (-len(table) % _ENTRY)
    fat = [struct.pack(f"<{_ENTRY}I", *part) for part in batched(table, _ENTRY, strict=True)]
    places = [place + number for number in range(count)][:109]
    counts = struct.pack("<6xIIIIIIIII", 0, count, directory, 0, _SMALLEST, _END, 0, _END, 0)
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + counts
    return b"".join((head, struct.pack("<109I", *places, *[_NONE] * (109 - len(places))), *sectors, *fat))


def _entry(name: str, kind: int, beside: int, below: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le")
    links = struct.pack("<HBBIII", len(encoded) + 2, kind, 1, _NONE, beside, below)
    return encoded.ljust(64, b"\0") + links + bytes(36) + struct.pack("<IQ", start, size)


def shared_streams_msg() -> bytes:
    """A file of 9 MB with 2,000 attachments, each of which is the same 8 MB."""
    attachments = (
        attached(number, data("3701", bytes(8_000_000 if number == 1_999 else 0))) for number in range(2_000)
    )
    return outlook_file(mail("Fees", *attachments), shares=True)


def nested_msg(levels: int) -> bytes:
    """E-mails attached to one another."""
    folder = mail("Deep", is_inner=True)
    for level in reversed(range(levels)):
        folder = mail(f"level {level}", attached(0, {INNER: folder}), is_inner=bool(level))
    return outlook_file(folder)
