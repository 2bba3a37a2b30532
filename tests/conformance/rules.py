"""Rules, what they are applied to, and what came of it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.backend import Backend, NotOffered
from tests.conformance.reading import Breaks

READS = "reads"
"""The rule that comes before all others: the client reads the answer without throwing."""


@dataclass(frozen=True, slots=True)
class Rule[Seen]:
    """One thing that a client relies on."""

    name: str
    """In a word or two, unique within a probe."""
    sentence: str
    """What has to hold."""
    holds: Callable[[Seen], bool]
    """Whether it does, in what the client saw."""


@dataclass(frozen=True, slots=True)
class Probe[Seen]:
    """A request that a client sends, what it reads of the answer, and what it relies on."""

    route: str
    """Which column of the table it is for."""
    title: str
    """What is asked."""
    ask: Callable[[Backend, str], Awaitable[Seen]]
    """Asks a backend below a path, and reads like the client."""
    rules: tuple[Rule[Seen], ...]
    """What has to hold of what was read."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client that people use."""

    name: str
    """For the command line and the table."""
    title: str
    """What it is."""
    base: str
    """The path below the backend's base URL that its own base URL has to name, in our app."""
    probes: tuple[Probe[Any], ...]
    """What it asks."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule that does not hold."""

    title: str
    """Of the probe."""
    rule: str
    """The rule's name."""
    sentence: str
    """What does not hold, or why the client breaks."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What came of a client on a route."""

    client: Client
    """Who reads."""
    route: str
    """What was asked."""
    checked: int
    """How many rules were looked at; 0 if the backend does not offer the route."""
    failures: tuple[Failure, ...]
    """Those that do not hold."""


async def run_client(client: Client, backend: Backend, base: str | None = None) -> list[Cell]:
    """Let a client ask and read all that it does.

    Args:
        client: Who asks.
        backend: Who is asked.
        base: The path below the backend's URL; None: where our app has it.

    Raises:
        Unreachable: nobody answers.
    """
    return [
        await _run_route(client, route, backend, client.base if base is None else base)
        for route in dict.fromkeys(probe.route for probe in client.probes)
    ]


async def _run_route(client: Client, route: str, backend: Backend, base: str) -> Cell:
    checked, failures = 0, list[Failure]()
    for probe in (probe for probe in client.probes if probe.route == route):
        try:
            seen = await probe.ask(backend, f"{base.strip('/')}/".lstrip("/"))
        except NotOffered:
            continue
        except Breaks as error:
            failures.append(Failure(probe.title, READS, f"The client breaks: {error}."))
            checked += 1
        else:
            failures += broken(probe, seen)
            checked += 1 + len(probe.rules)
    return Cell(client, route, checked, tuple(failures))


def broken[Seen](probe: Probe[Seen], seen: Seen) -> Sequence[Failure]:
    """The rules of a probe that do not hold."""
    return [Failure(probe.title, rule.name, rule.sentence) for rule in probe.rules if not rule.holds(seen)]
