"""`python -m tests.conformance BASE_URL`: let every client read a backend's answers, and print what failed."""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence

import aiohttp

from tests.conformance.backend import CONNECT_SECONDS, SECONDS, Backend, Unreachable
from tests.conformance.clients import CLIENTS
from tests.conformance.report import failures, table
from tests.conformance.rules import Cell, run_client

ALL_HOLD, SOME_FAIL, UNREACHABLE = 0, 1, 2
"""Exit codes."""
QUESTION = "What is included in my health plan?"


def main() -> int:
    """Run as the command line says; return the exit code."""
    arguments = _read_arguments()
    bases: dict[str, str] = {client.name: "" for client in CLIENTS} if arguments.bare else {}
    bases |= dict(arguments.base)
    try:
        cells = asyncio.run(run(arguments.url, arguments.question, bases, arguments.refused))
    except Unreachable as error:
        sys.stderr.write(f"{error}\n")
        return UNREACHABLE
    sys.stdout.write(f"{table(cells, markdown=arguments.markdown)}\n")
    if failed := failures(cells):
        sys.stdout.write(f"\n{failed}\n")
    return SOME_FAIL if failed else ALL_HOLD


async def run(url: str, question: str, bases: Mapping[str, str], refused: str = "") -> Sequence[Cell]:
    """Let every client ask the backend, one after the other.

    Args:
        url: The backend's base URL.
        question: Something that it can answer.
        bases: Where a client's routes are below that URL, by the client's name; else where our app has them.
        refused: Something that it refuses; empty leaves out what clients show of a refusal.

    Raises:
        Unreachable: nobody answers.
    """
    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=SECONDS, sock_connect=CONNECT_SECONDS)
    ) as http:
        backend = Backend(http, url.rstrip("/"), question, refused)
        results = [await run_client(client, backend, bases.get(client.name)) for client in CLIENTS]
    return [cell for cells in results for cell in cells]


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m tests.conformance",
        description="Lets the chat clients that people use read a backend's answers. Exit code: 0 if all can, 1 if"
        " something failed, 2 if nobody answers.",
        epilog=f"Clients: {', '.join(client.name for client in CLIENTS)}.",
    )
    parser.add_argument("url", metavar="BASE_URL", help="for example http://127.0.0.1:7071/api")
    parser.add_argument("--question", default=QUESTION, help="something that the backend can answer (%(default)s)")
    parser.add_argument(
        "--refused", default="", metavar="QUESTION", help="something that the backend refuses: asks what is shown of it"
    )
    parser.add_argument("--bare", action="store_true", help="every client's routes are directly below BASE_URL")
    parser.add_argument(
        "--base",
        action="append",
        default=[],
        type=_read_base,
        metavar="CLIENT=PATH",
        help="where a client's routes are below BASE_URL; may be repeated, and wins over --bare",
    )
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    return parser.parse_args()


def _read_base(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    if name not in {client.name for client in CLIENTS}:
        raise argparse.ArgumentTypeError(f"there is no client {name!r}")
    return name, path


if __name__ == "__main__":
    sys.exit(main())
