"""How often and how soon a host tries again what failed: `extensions.queues` and `extensions.blobs` of `host.json`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from local.errors import HostError

_IN_ENVIRONMENT = "AzureFunctionsJobHost__extensions__{section}__{name}"
"""How the Functions host names what goes before `host.json`."""
_TIME_SPAN = re.compile(r"(?:(\d+)\.)?(\d\d):(\d\d):(\d\d)$")


@dataclass(frozen=True, slots=True)
class TriggerOptions:
    """The values that this host goes by, with the defaults of the Functions host."""

    batch_size: int = 16
    """How many messages are worked on at the same time."""
    max_dequeue_count: int = 5
    """After so many tries a message goes to the poison queue."""
    visibility_timeout: int = 0
    """Seconds between a try that failed and the next."""
    base64: bool = True
    """Whether messages are encoded so; what is not goes to the poison queue at once."""
    poison_blob_threshold: int = 5
    """After so many tries a blob is given up."""


def read_trigger_options(
    sections: Mapping[str, Mapping[str, object]], environment: Mapping[str, str]
) -> TriggerOptions:
    """Read the options.

    Args:
        sections: `queues` and `blobs` of `host.json`.
        environment: what may go before it.

    Raises:
        HostError: a value is of the wrong kind.
    """

    def read(section: str, name: str) -> object:
        return environment.get(_IN_ENVIRONMENT.format(section=section, name=name)) or sections[section].get(name)

    def count(section: str, name: str, default: int, most: int = 1000) -> int:
        value = read(section, name)
        return default if value is None else _count(f"{section}.{name}", value, most)

    defaults = TriggerOptions()
    encoding = read("queues", "messageEncoding")
    if encoding not in (None, "base64", "none"):
        raise HostError('host.json, or the environment: extensions.queues.messageEncoding must be "base64" or "none".')
    return TriggerOptions(
        batch_size=count("queues", "batchSize", defaults.batch_size, most=32),
        max_dequeue_count=count("queues", "maxDequeueCount", defaults.max_dequeue_count),
        visibility_timeout=_seconds("queues.visibilityTimeout", read("queues", "visibilityTimeout")),
        base64=encoding != "none",
        poison_blob_threshold=count("blobs", "poisonBlobThreshold", defaults.poison_blob_threshold),
    )


def _count(name: str, value: object, most: int) -> int:
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= most:
        raise HostError(f"host.json, or the environment: extensions.{name} must be a number from 1 to {most}.")
    return int(text)


def _seconds(name: str, value: object) -> int:
    if value is None:
        return 0
    span = _TIME_SPAN.match(value) if isinstance(value, str) else None
    if not span:
        raise HostError(f'host.json, or the environment: extensions.{name} must be a time such as "00:00:30".')
    days, hours, minutes, seconds = (int(part or 0) for part in span.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
