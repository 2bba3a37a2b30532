"""Faults on demand, to see how the guard handles them."""

from dataclasses import dataclass, field, fields

import grpc


class MalformedFaults(ValueError):
    """A list of faults that is not valid; the message says what is accepted."""


_STATUSES = {status.name.lower(): status for status in grpc.StatusCode if status is not grpc.StatusCode.OK}


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Faults of every session; by default none."""

    delay: float = field(default=0, metadata={"shown": "SECONDS: each event comes that much later"})
    """Seconds by which each event is late. Delays do not add up: all events are late by the same time."""
    silent_after: int | None = field(default=None, metadata={"shown": "N: nothing comes after N events"})
    """Number of events after which nothing more comes, while the stream stays open."""
    stop_after: int | None = field(default=None, metadata={"shown": "N: the stream ends after N events"})
    """Number of events after which the stream ends with OK but without a completion."""
    garbage_after: int | None = field(
        default=None, metadata={"shown": "N: bytes that are no event come after N events"}
    )
    """Number of events after which come bytes that are no event."""
    status: grpc.StatusCode | None = field(default=None, metadata={"shown": "NAME: every session is refused with it"})
    """Status of gRPC with which every session is refused."""


NONE = Faults()


def read_faults(text: str) -> Faults:
    """Read faults such as `delay=0.2,silent-after=3` or `status=unavailable`.

    Raises:
        MalformedFaults: a fault is unknown, or its value is not valid.
    """
    given: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        given[name.strip().replace("-", "_")] = value.strip()
    unknown = given.keys() - {each.name for each in fields(Faults)}
    if unknown:
        raise MalformedFaults(f"There is no fault {min(unknown).replace('_', '-')!r}; there are:\n{LISTED}")
    return Faults(
        delay=_seconds(given.get("delay", "0")),
        silent_after=_count(given.get("silent_after")),
        stop_after=_count(given.get("stop_after")),
        garbage_after=_count(given.get("garbage_after")),
        status=_status(given.get("status")),
    )


LISTED = "\n".join(f"  {each.name.replace('_', '-')}={each.metadata['shown']}" for each in fields(Faults))
"""All faults with their values, one a line, for help texts."""


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= 3600:
        raise MalformedFaults("The fault delay should be a number of seconds from 0 to 3600, such as delay=0.2.")
    return seconds


def _count(value: str | None) -> int | None:
    if value is None:
        return None
    if not (value.isascii() and value.isdecimal()) or len(value) > 9:
        raise MalformedFaults("A fault that comes after some events should say after how many, such as stop-after=3.")
    return int(value)


def _status(value: str | None) -> grpc.StatusCode | None:
    if value is None:
        return None
    if value.lower() not in _STATUSES:
        raise MalformedFaults(f"The fault status should be one of {', '.join(_STATUSES)}.")
    return _STATUSES[value.lower()]
