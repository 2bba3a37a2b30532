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
    hours, minutes, seconds = map(int, _FILE["functionTimeout"].split(":"))
    return (hours * 60 + minutes) * 60 + seconds


def most_tries() -> int:
    """How often a queue message is tried, after which it goes to the poison queue."""
    written: int = _EXTENSIONS["queues"]["maxDequeueCount"]
    changed = os.environ.get("AzureFunctionsJobHost__extensions__queues__maxDequeueCount")  # noqa: SIM112 (the platform's)
    return int(changed or written)
