"""Files that a user sends to the bot: fetched from where Teams keeps them, before the response."""

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

from shared.core.attachments import Attachment
from shared.errors import BadRequest, TooLarge
from shared.outbound.bot_connector import Connector
from shared.outbound.faults import ServiceFault
from shared.wire.activity import Activity, File
from shared.wire.multipart import MOST_FILES, shown_filename, shown_name

_LARGEST = 10 * 1024 * 1024
"""Bytes of all files of a message."""
_SECONDS = 8.0
"""Time limit for all of them: the service waits 15 seconds for the response."""
_SHARES = (".sharepoint.com", ".sharepoint.us", ".sharepoint-mil.us", ".sharepoint.cn")
"""How the hosts end on which the users of Teams keep files: nothing is fetched from elsewhere."""
_DOWNLOAD = "application/vnd.microsoft.teams.file.download.info"


async def files_of(activity: Activity, connector: Connector | None) -> tuple[Attachment, ...]:
    """Fetch the files and images of a message.

    Raises:
        BadRequest, TooLarge: one cannot be had, or they are too many.
    """
    files = list[Attachment]()
    left = _LARGEST
    try:
        async with asyncio.timeout(_SECONDS):
            for name, kind, url, is_ours in _sent(activity):
                if len(files) == MOST_FILES:
                    raise TooLarge(f"The message has more than {MOST_FILES} images and files. Send fewer.")
                if connector is None:
                    raise BadRequest("Files can be sent in Teams only. Paste what the question is about.")
                data = await connector.download(url, left, signed=is_ours)
                left -= len(data)
                part = f"attachments[{len(files)}]"
                files.append(Attachment(part, 0, len(files), shown_filename(name), shown_name(kind), None, data))
    except (ServiceFault, TimeoutError, ValueError):
        raise BadRequest(
            f"The files could not be fetched in time, or have more than {_LARGEST:,} bytes. Send them again, or less."
        ) from None
    return tuple(files)


def _sent(activity: Activity) -> Iterator[tuple[str, str, str, bool]]:
    """Yield name, media type and URL of each file, and whether it is the service's own, which wants the bot's token."""
    for file in activity.attachments:
        url, kind = _address(file)
        if not url:
            continue
        parts, service = urlsplit(url), urlsplit(activity.service_url)
        is_ours = (parts.scheme, parts.netloc) == (service.scheme, service.netloc)
        is_share = parts.scheme == "https" and (parts.hostname or "").endswith(_SHARES)
        if not (is_ours or (is_share and activity.is_of_teams)):
            raise BadRequest(f"The file '{shown_filename(file.name)}' is where nothing is fetched from. Attach it.")
        yield file.name, kind, url, is_ours


def _address(file: File) -> tuple[str, str]:
    """Return URL and media type of an attachment; empty: it is no file, such as the text again as HTML."""
    match file.content:
        case {"downloadUrl": str(url)} if file.content_type == _DOWNLOAD:
            return url, ""
        case _:
            is_image = file.content_type.startswith("image/")
            kind = "" if file.content_type == "image/*" else file.content_type
            return (file.content_url, kind) if is_image else ("", "")
