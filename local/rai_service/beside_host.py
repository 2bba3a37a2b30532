"""Runs the reference service beside the local host, if safety checks are on and no service is configured.

It is a process of its own, so that the app imports the same as in Azure. It ends with the host, also if that is killed:
its standard input is a pipe that the host holds open.
"""

import os
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from local import HostError

REPOSITORY = Path(__file__).resolve().parents[2]
_END_SECONDS = 3.0
"""Time in which the process should end before it is killed."""
_ADDRESS = re.compile(r"\S+:\d+$")


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether these settings switch safety checks by the RAI service on, and name no endpoint."""
    return (
        environment.get("RAI_MODE", "").strip() in ("annotate", "enforce")
        and environment.get("RAI_BACKEND", "").strip() in ("", "rai")
        and not environment.get("RAI_ENDPOINT", "").strip()
    )


@contextmanager
def reference_service_if_wanted() -> Generator[None]:
    """Run the service and set `RAI_ENDPOINT` to its address, if the environment asks for it; else do nothing.

    It uses the policy file that `RAI_REFERENCE_POLICY` names, and the faults of `RAI_REFERENCE_FAULTS`.

    Raises:
        HostError: it does not start; it has printed why.
    """
    if not is_wanted(os.environ):
        yield
        return
    with subprocess.Popen(  # noqa: S603, the command is ours
        _command(os.environ),
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C must reach only the host, which may still need the service for its answers.
    ) as process:
        try:
            os.environ["RAI_ENDPOINT"] = _address(process)
            yield
        finally:
            _end(process)


def _command(environment: Mapping[str, str]) -> list[str]:
    command = [sys.executable, "-m", "local.rai_service", "--port", "0", "--until-stdin-closes"]
    if policy := environment.get("RAI_REFERENCE_POLICY", "").strip():
        command += ["--policy", str(Path(policy).resolve())]
    if faults := environment.get("RAI_REFERENCE_FAULTS", "").strip():
        command += ["--faults", faults]
    return command


def _address(process: subprocess.Popen[str]) -> str:
    """Wait until the service listens; print its first line, and return the address in it."""
    line = process.stdout.readline().strip() if process.stdout else ""
    address = _ADDRESS.search(line)
    if not address:
        raise HostError("The reference RAI service does not start; the lines above say why.")
    print(line, flush=True)
    return address[0]


def _end(process: subprocess.Popen[str]) -> None:
    if process.stdin:
        process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
