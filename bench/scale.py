"""Calculate what one instance holds, what many users need, and what answers cost, from figures that were measured.

`make docs` writes the tables into docs/scale.md, and `make check` compares them.

The figures are in `bench/measured.json`, each with what made it; prices are in `infra/prices.json`. A
calculation, and no test under load.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- Made of bench/measured.json by `make docs`. -->\n", "<!-- End of what it makes. -->\n"

USERS = (1_000, 10_000, 100_000, 1_000_000)
STREAMS = (1, 10, 30, 100, 200)
PEOPLE: dict[str, Any] = json.loads((ROOT / "infra" / "people.json").read_text())
"""How people use the app; the template reads it too."""
SECONDS, TOKENS = float(PEOPLE["seconds of an answer"]), int(PEOPLE["tokens of an answer"])
"""Of an answer."""
BUSY = 0.7
"""How much of a core may be in use."""
AT_ONCE: dict[str, int] = json.loads((ROOT / "infra" / "requests-at-once.json").read_text())
"""Streams of an instance, by its megabytes, where `DEPLOY_HTTP_CONCURRENCY` says nothing else."""
INSTANCES = 1_000
"""Source: Azure Functions, 'Flex Consumption plan', the most instances of an app."""
OPERATIONS = 20_000
"""Source: Azure Storage, 'Scalability and performance targets', requests a second of one account."""
MODEL = 1_000_000
"""Tokens a minute of one deployment of a small model, as subscriptions commonly have them; ask for more."""
EXCHANGE = 15
"""Seconds between two exchanges of what one caller has used (`shared/budgets/shared_counts.py`)."""
CORES = {512: 0.25, 2048: 1.0, 4096: 1.0}
"""Of an instance, by its megabytes. At 4096 there are two, and Python uses one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, for one stream and one question."""

    cpu_of_stream: float
    """Share of a core that an open stream takes."""
    first: float
    """Megabytes of an instance that has answered once."""
    each: float
    """Megabytes of each stream."""
    table_requests: float
    """For a turn."""
    model_tokens: float
    """Tokens that the model's service counts for a question, over all its calls: read, and what they may write."""
    writes_of_run: float
    """Writes of blobs for an answer whose run is kept."""

    @classmethod
    def read(cls) -> "Measured":
        """Read `measured.json`."""
        kept: dict[str, Any] = json.loads((ROOT / "bench" / "measured.json").read_text())
        value = {name: float(entry[0]) for name, entry in kept.items()}
        cpu = value["microseconds of CPU a token"] / 1e6 * TOKENS + value["milliseconds of CPU a question"] / 1e3
        first = value["megabytes with a first answer"]
        return cls(
            cpu_of_stream=cpu / SECONDS,
            first=first,
            each=(value["megabytes with 200 streams"] - first) / 200,
            table_requests=value["requests to a table a turn"],
            model_tokens=value["tokens that a question reads"] + value["tokens that a question may write"],
            writes_of_run=value["writes of a kept run"],
        )


def tables() -> str:
    """Return the tables, in Markdown."""
    measured = Measured.read()
    parts = (
        (
            "One instance",
            [
                "memory of an instance",
                "cores",
                "streams that fill 70 % of them",
                "MB with these",
                "streams it is given",
            ],
            _one(measured),
        ),
        ("Many users", ["users", *(f"{users:,}" for users in USERS)], _many(measured)),
        (
            "What 1,000 answers cost",
            ["streams that share an instance", *map(str, STREAMS)],
            _costs(json.loads((ROOT / "infra" / "prices.json").read_text()), measured),
        ),
    )
    return "\n".join(f"## {title}\n\n{_table(head, rows)}" for title, head, rows in parts)


def streams_of(megabytes: int, measured: Measured) -> int:
    """Streams that fill what an instance may use of its core."""
    return math.floor(CORES[megabytes] * BUSY / measured.cpu_of_stream)


def _one(measured: Measured) -> Iterator[list[str]]:
    for megabytes, cores in CORES.items():
        streams = streams_of(megabytes, measured)
        held = measured.first + streams * measured.each
        yield [f"{megabytes:,} MB", f"{cores:g}", f"{streams:,}", f"{held:,.0f}", f"{AT_ONCE[str(megabytes)]}"]


def _many(measured: Measured) -> Iterator[list[str]]:
    asked = [users / 60 for users in USERS]  # a question a minute of each

    def row(name: str, values: Iterable[float], limit: float = math.inf) -> list[str]:
        return [name, *(f"{f'**{value:,.0f}**' if value > limit else f'{value:,.0f}'}" for value in values)]

    streams = [questions * SECONDS for questions in asked]
    yield row("questions a second", asked)
    yield row("streams open", streams)
    for megabytes, most in AT_ONCE.items():
        needed = [math.ceil(one / most) for one in streams]
        yield row(f"instances of {int(megabytes):,} MB, at {most} streams", needed, INSTANCES)
    tokens = [questions * 60 * measured.model_tokens for questions in asked]
    yield row("model: thousands of tokens a minute", [one / 1_000 for one in tokens], MODEL / 1_000)
    yield row("model: deployments of a million tokens a minute", [math.ceil(one / MODEL) for one in tokens], 1)
    requests = [questions * measured.table_requests for questions in asked]
    yield row("chats: requests to tables a second", requests, OPERATIONS)
    writes = [questions * measured.writes_of_run for questions in asked]
    yield row("kept runs: blobs written a second, if all are kept", writes, OPERATIONS)
    yield row("budgets: requests to tables a second, up to", [users / EXCHANGE for users in USERS], OPERATIONS)
    yield row("AI Search: queries a second", asked)


def _costs(all_prices: dict[str, Any], measured: Measured) -> Iterator[list[str]]:
    prices: dict[str, str] = all_prices["functions"]
    for megabytes in (4096, 2048, 512):
        held = [SECONDS * megabytes / 1024 * float(prices["gigabyte second"]) * 1_000 / streams for streams in STREAMS]
        executions = float(prices["million executions"]) / 1_000
        most = AT_ONCE[str(megabytes)]
        costs = [f"${cost + executions:.4f}" for cost in held]
        yield [f"Flex, {megabytes:,} MB", *(c if n <= most else "–" for c, n in zip(costs, STREAMS, strict=True))]
    written = measured.writes_of_run / 10 * float(all_prices["storage"]["ten thousand operations"])
    yield ["if their runs are kept: writes of blobs", *(f"${written:.4f}" for _ in STREAMS)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
