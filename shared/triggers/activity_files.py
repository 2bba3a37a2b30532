"""Files that a user sends to the bot: fetched from where Teams keeps them, before the response."""

import asyncio
from urllib.parse import urlsplit

from shared.core.attachments import Attachment
from shared.errors import BadRequest, TooLarge
from shared.outbound.bot_connector import Connector
from shared.outbound.faults import ServiceFault
from shared.wire.activity import Activity, File
from shared.wire.message_parts import MOST_FILES, shown_filename, shown_name

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
    left, service = _LARGEST, activity.service_url
    try:
        async with asyncio.timeout(_SECONDS):
            for file in activity.attachments:
                url, kind = _address(file)
                if not url:
                    continue
                if len(files) == MOST_FILES:
                    raise TooLarge(f"The message has more than {MOST_FILES} images and files. Send fewer.")
                is_ours, host = urlsplit(url)[:2] == urlsplit(service)[:2], urlsplit(url).hostname or ""
                is_share = activity.is_of_teams and url.startswith("https:") and host.endswith(_SHARES)
                name = shown_filename(file.name)
                if not (is_ours or is_share):
                    raise BadRequest(f"The file '{name}' is where nothing is fetched from. Attach it.")
                if connector is None:
                    raise BadRequest("Files can be sent in Teams only. Paste what the question is about.")
                data = await connector.download(url, left, signed=is_ours)  # the service's own wants the bot's token
                left -= len(data)
                files.append(
                    Attachment(f"attachments[{len(files)}]", 0, len(files), name, shown_name(kind), None, data)
                )
    except (ServiceFault, TimeoutError, ValueError):
        raise BadRequest(
            f"The files could not be fetched in time, or have more than {_LARGEST:,} bytes. Send them again, or less."
        ) from None
    return tuple(files)


def _address(file: File) -> tuple[str, str]:
    """Return URL and media type of an attachment; empty: it is no file, such as the text again as HTML."""
    match file.content:
        case {"downloadUrl": str(url)} if file.content_type == _DOWNLOAD:
            return url, ""
        case _:
            is_image = file.content_type.startswith("image/")
            kind = "" if file.content_type == "image/*" else file.content_type
            return (file.content_url, kind) if is_image else ("", "")
