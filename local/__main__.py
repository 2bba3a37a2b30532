"""`python -m local`: hosts the Function App of a directory until Ctrl-C or SIGTERM."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

from local import HostError

EXIT_SECONDS = 2.0


class StopSignals:
    """The first SIGINT or SIGTERM asks for an orderly end, a second one ends at once; the exit code is 0 either way."""

    def __init__(self) -> None:
        self._ask: Callable[[signal.Signals], object] | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._received)

    def when_asked(self, ask: Callable[[signal.Signals], object] | None) -> None:
        """Say what the next signal calls, with that signal; None lets it end the process."""
        self._ask = ask

    def _received(self, number: int, _frame: FrameType | None) -> None:
        if self._ask is None:
            end_process(0)
        ask, self._ask = self._ask, None
        ask(signal.Signals(number))


def end_process(code: int) -> NoReturn:
    """End now, whatever threads of the app still do."""
    try:
        sys.stdout.flush()
    finally:  # also where nobody reads it any more
        os._exit(code)


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m local", description="Hosts a Function App on this machine.")
    parser.add_argument("--app", type=Path, default=Path(), help="the directory of function_app.py, by default this")
    parser.add_argument(
        "--port", type=int, help="where to listen, 0 for any free port; over PORT and Host.LocalHttpPort"
    )
    parser.add_argument("--try", dest="question", default="", help="a question for the curl line that is shown")
    parser.add_argument("--open", action="store_true", dest="opens", help="open the app's page in a browser")
    return parser.parse_args()


def main() -> None:
    """Host the app."""
    signals = StopSignals()
    arguments = read_arguments()
    # Only now: the imports take long enough for a Ctrl-C.
    from local.host import Options, run

    options = Options(arguments.app.resolve(), arguments.port, arguments.question, arguments.opens)
    try:
        all_ended = run(options, signals.when_asked)
    except HostError as exc:
        print(exc, file=sys.stderr, flush=True)
        end_process(1)
    if not all_ended:
        end_process(0)
    # The interpreter waits for every thread of the app; we do not.
    last_resort = threading.Timer(EXIT_SECONDS, end_process, (0,))
    last_resort.daemon = True
    last_resort.start()


if __name__ == "__main__":
    main()
