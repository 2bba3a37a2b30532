"""Calculate what a month in Azure costs, from the prices in `infra/prices.json`.

    python3 tools/cost.py                                  as docs/deploy.md has it
    python3 tools/cost.py --answers 500 --read 4000        for your own answers

A calculation and no offer: compare it with the bill of the first month. Runs with Python's own library alone.
"""

import argparse
import json
import math
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

INFRA = Path(__file__).resolve().parent.parent / "infra"
PRICES = INFRA / "prices.json"
AT_ONCE = {
    int(memory) / 1024: most for memory, most in json.loads((INFRA / "requests-at-once.json").read_text()).items()
}
"""How many requests an instance takes, by its gigabytes, where nothing else is chosen."""
MEASURED = json.loads((INFRA.parent / "bench" / "measured.json").read_text(encoding="utf-8"))
"""What was measured, each figure with what made it."""
ANSWERS = (1_000, 10_000, 100_000)
DAYS = 30
SWEEPS = 24 * 60
"""How often a day a timer looks for runs without an instance. Azure counts each for a second at least."""
MILLION = 1_000_000


@dataclass(frozen=True)
class Use:
    """How an app is used."""

    answers: int
    """Answers a day."""
    model: str = "gpt-5.6-luna"
    """The model that answers, as `infra/prices.json` names it."""
    read: int = MEASURED["tokens that a question reads"][0]
    """Tokens that the model reads for an answer, measured on the sample documents. Longer documents fill
    `CHAT_SOURCE_TOKENS`: 12,000."""
    written: int = 200
    """Tokens that it writes."""
    seconds: float = 6
    """How long an answer takes: the search, the first token, and 50 tokens a second."""
    hours: float = 8
    """In how many hours of the day the answers come."""
    memory: float = 2
    """Gigabytes of an instance (`DEPLOY_INSTANCE_MEMORY`)."""
    concurrency: int = 0
    """Answers of an instance at once (`DEPLOY_HTTP_CONCURRENCY`); 0: as many as its memory is given."""
    search: str = "basic"
    """Size of AI Search (`DEPLOY_SEARCH_SKU`)."""
    gigabytes: float = 10
    """Documents, chats and packages in the storage account."""
    operations: int = 10
    """Operations on the storage account for an answer: chats, limits, the host's own."""
    telemetry: float = 6.4
    """Kilobytes of telemetry for an answer: 4.4 of spans, measured, and 2 of the Functions host, estimated."""


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description="Calculates what a month in Azure costs.")
    for field in fields(Use)[1:]:
        parser.add_argument(f"--{field.name}", type=field.type, default=field.default)  # pyright: ignore[reportArgumentType]
    parser.add_argument("--answers", type=int, help="a day")
    given = vars(parser.parse_args())
    answers = given.pop("answers")
    print(table([Use(number, **given) for number in ((answers,) if answers else ANSWERS)]))


def table(uses: list[Use]) -> str:
    """Return a table in Markdown with a column for each use."""
    months = [month(use, json.loads(PRICES.read_text())) for use in uses]
    lines = [
        ["US dollars a month", *(f"{use.answers:,} answers a day" for use in uses)],
        ["---", *("---:" for _ in uses)],
        *([part, *(f"{one[part]:,.0f}" for one in months)] for part in months[0]),
        ["together", *(f"{sum(one.values()):,.0f}" for one in months)],
        ["for 1,000 answers", *(f"{_of_a_thousand(*one):,.2f}" for one in zip(months, uses, strict=True))],
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def month(use: Use, prices: dict[str, Any]) -> dict[str, float]:
    """Return the cost of each part in a month."""
    model = next((one for one in prices["models"] if one["model"] == use.model), None)
    if model is None:
        sys.exit(f"infra/prices.json has no price of {use.model}.")
    functions, storage, telemetry = prices["functions"], prices["storage"], prices["telemetry"]
    answers = use.answers * DAYS
    tokens = use.read * float(model["read"]) + use.written * float(model["written"])
    seconds = max(0.0, busy_seconds(use) * DAYS * use.memory - float(functions["free gigabyte seconds"]))
    executions = max(0.0, answers + SWEEPS * DAYS - float(functions["free executions"]))
    gigabytes = max(0.0, answers * use.telemetry / MILLION - float(telemetry["free gigabytes"]))
    return {
        "the model": answers * tokens / MILLION,
        "Functions": seconds * float(functions["gigabyte second"])
        + executions / MILLION * float(functions["million executions"]),
        "AI Search": float(prices["search"][use.search]),
        "Storage": use.gigabytes * float(storage["gigabyte"])
        + answers * use.operations / 10_000 * float(storage["ten thousand operations"]),
        "Application Insights": gigabytes * float(telemetry["gigabyte"]),
    }


def busy_seconds(use: Use) -> float:
    """Return the seconds of a day in which instances have at least one request or sweep, added up over the instances.

    Answers come at random: with so many open on average, one instance has none for a part of the time.
    """
    day = use.hours * 3600
    open_on_average = use.answers * use.seconds / day
    at_once = use.concurrency or AT_ONCE.get(use.memory) or sys.exit(f"Say --concurrency for {use.memory} GB.")
    busy = 1 - math.exp(-open_on_average)
    return day * max(busy, open_on_average / at_once) + SWEEPS * (1 - busy * use.hours / 24)


def _of_a_thousand(costs: dict[str, float], use: Use) -> float:
    return sum(costs.values()) / (use.answers * DAYS) * 1_000


if __name__ == "__main__":
    main()
