"""`python -m tests.live`: run the contract of each service that the environment names, and say what the others lack."""

import os
import sys

import pytest

from tests.live.services import SERVICES

_SECONDS_A_TEST = 300


def main() -> int:
    """Run them; the exit code is pytest's, or 0 where nothing is configured."""
    files: list[str] = []
    for service in SERVICES:
        missing = service.missing(os.environ)
        print(f"{service.name}: {f'not run; set {missing}' if missing else 'runs'}", flush=True)
        files += [] if missing else [service.file]
    if not files:
        print("No real service is configured: nothing was run.")
        return 0
    return pytest.main(["-v", "-m", "live", f"--timeout={_SECONDS_A_TEST}", "--durations=10", *files])


if __name__ == "__main__":
    sys.exit(main())
