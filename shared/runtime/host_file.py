"""The values of `host.json` that the app goes by; the platform and the local host read the same file."""

import json
import os
from pathlib import Path
from typing import Any

_FILE: dict[str, Any] = json.loads((Path(__file__).parents[2] / "host.json").read_text(encoding="utf-8"))
_EXTENSIONS: dict[str, dict[str, Any]] = _FILE["extensions"]

ROUTE_PREFIX: str = _EXTENSIONS["http"]["routePrefix"].strip("/")
"""The prefix of all routes; may be empty."""


def function_timeout() -> int:
    """How long a function may run, in seconds. The platform ends the process of one that runs longer."""
    return _seconds(_FILE["functionTimeout"])


def most_tries() -> int:
    """How often a queue message is tried, after which it goes to the poison queue."""
    return int(_of_queues("maxDequeueCount"))


def pause_between_tries() -> int:
    """How long a queue message waits after a try that failed, in seconds."""
    return _seconds(str(_of_queues("visibilityTimeout")))


def _of_queues(name: str) -> str | int:
    return os.environ.get(f"AzureFunctionsJobHost__extensions__queues__{name}") or _EXTENSIONS["queues"][name]


def _seconds(duration: str) -> int:
    hours, minutes, seconds = map(int, duration.split(":"))
    return (hours * 60 + minutes) * 60 + seconds
