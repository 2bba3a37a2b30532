"""`python -m local.rai_service`: runs the reference RAI service until Ctrl-C or SIGTERM."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from local.rai_service.faults import LISTED, Faults, MalformedFaults, read_faults
from local.rai_service.policy import MalformedPolicy, Policy, load_policy
from local.rai_service.server import LOOPBACK, CannotListen, serving

DEFAULT_PORT = 50051
SAMPLE_POLICY = Path(__file__).resolve().parents[2] / "samples" / "rai-policy.yaml"


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m local.rai_service",
        description="Serves a stand-in for the RAI service on loopback. It finds the words of a policy file, and is "
        "not a safety product.",
        epilog=f"faults, separated by commas:\n{LISTED}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 for any that is free; default: %(default)s")
    parser.add_argument(
        "--policy",
        type=Path,
        action="append",
        metavar="FILE",
        help="a policy; more than once for several",
    )
    parser.add_argument("--faults", default="", help="what goes wrong, such as delay=0.2,stop-after=3")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end with the process that started this one")
    arguments = parser.parse_args()
    try:
        faults = read_faults(arguments.faults)
        policies = [load_policy(path) for path in arguments.policy or [SAMPLE_POLICY]]
        asyncio.run(_serve(policies, faults, arguments.port, until_stdin_closes=arguments.until_stdin_closes))
    except (MalformedFaults, MalformedPolicy, CannotListen) as wrong:
        print(wrong, file=sys.stderr, flush=True)
        return 1
    return 0


async def _serve(policies: Sequence[Policy], faults: Faults, port: int, *, until_stdin_closes: bool) -> None:
    asked_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked_to_stop.set)
    if until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), asked_to_stop.set)
    async with serving(policies, faults=faults, port=port) as used:
        print(f"Reference RAI service, a stand-in and no safety product: {LOOPBACK}:{used}", flush=True)
        await asked_to_stop.wait()


if __name__ == "__main__":
    sys.exit(main())
