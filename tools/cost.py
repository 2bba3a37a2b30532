"""Calculate what a month in Azure costs, from the prices in `infra/prices.json`, and what so many people need.

    python3 tools/cost.py                                  as docs/deploy.md has it
    python3 tools/cost.py --answers 500 --read 4000        for your own answers
    python3 tools/cost.py --people 2000                    what DEPLOY_PEOPLE=2000 sets, and what that costs

A calculation and no offer: compare it with the bill of the first month. Runs with Python's own library alone.
"""

import argparse
import json
import math
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
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
PEOPLE: dict[str, Any] = json.loads((INFRA / "people.json").read_text(encoding="utf-8"))
"""How people use the app, and what is there for a trial; `infra/main.bicep` reads it too."""
ANSWERS = (1_000, 10_000, 100_000)
CROWDS = (50, 500, 2_000, 10_000, 50_000)
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
    written: int = PEOPLE["tokens of an answer"]
    """Tokens that it writes."""
    seconds: float = PEOPLE["seconds of an answer"]
    """How long an answer takes: the search, the first token, and 50 tokens a second."""
    hours: float = 8
    """In how many hours of the day the answers come."""
    memory: float = 2
    """Gigabytes of an instance (`DEPLOY_INSTANCE_MEMORY`)."""
    concurrency: int = 0
    """Answers of an instance at once (`DEPLOY_HTTP_CONCURRENCY`); 0: as many as its memory is given."""
    search: str = "basic"
    """Size of AI Search (`DEPLOY_SEARCH_SKU`)."""
    replicas: int = 1
    """Its replicas (`DEPLOY_SEARCH_REPLICAS`)."""
    gigabytes: float = 10
    """Documents, chats and packages in the storage account."""
    operations: int = 10
    """Operations on the storage account for an answer: chats, limits, the host's own."""
    kept: float = 1
    """Which part of the answers are kept runs: those of agents with tools of servers, OpenAI Responses that are stored,
    what is resumed or told later; of all with `CHAT_RUNS=always`."""
    telemetry: float = 6.4
    """Kilobytes of telemetry for an answer: 4.4 of spans, measured, and 2 of the Functions host, estimated."""


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description="Calculates what a month in Azure costs.")
    for field in fields(Use)[1:]:
        parser.add_argument(f"--{field.name}", type=field.type, default=field.default)  # pyright: ignore[reportArgumentType]
    parser.add_argument("--answers", type=int, help="a day")
    parser.add_argument("--people", type=int, help="as DEPLOY_PEOPLE")
    given = vars(parser.parse_args())
    answers, people = given.pop("answers"), given.pop("people")
    print(crowds([people]) if people else table([Use(one, **given) for one in ((answers,) if answers else ANSWERS)]))


def counted() -> str:
    """Return the sentences that say what the tables count."""
    use = Use(1)
    in_a_day: int = PEOPLE["for a trial"]["tokensPerDay"]
    said = (
        f"It counts {use.read:,} tokens read, as measured on the sample documents (`bench/measured.json`), "
        f"{use.written} written and {use.seconds:g} seconds for an answer, and answers in {use.hours:g} hours of each "
        f"day. The default limit of all callers together, {in_a_day:,} tokens a day, lets "
        f"{in_a_day // (use.read + use.written):,} such answers through."
    )
    return textwrap.fill(said, 120)


def table(uses: Sequence[Use] = tuple(map(Use, ANSWERS))) -> str:
    """Return a table in Markdown with a column for each use."""
    months = [month(use, json.loads(PRICES.read_text())) for use in uses]
    return _markdown(
        ["US dollars a month", *(f"{use.answers:,} answers a day" for use in uses)],
        *([part, *(f"{one[part]:,.0f}" for one in months)] for part in months[0]),
        ["together", *(f"{sum(one.values()):,.0f}" for one in months)],
        ["for 1,000 answers", *(f"{_of_a_thousand(*one):,.2f}" for one in zip(months, uses, strict=True))],
    )


def crowds(numbers: Iterable[int] = CROWDS) -> str:
    """Return a table in Markdown of what `DEPLOY_PEOPLE` sets, with a column for each number of people."""
    prices = json.loads(PRICES.read_text())
    sets = {number: needed(number) for number in numbers}
    size = {number: "basic" if of["searchReplicas"] <= 3 else "standard" for number, of in sets.items()}
    asked = {number: number * int(PEOPLE["questions a day"]) for number in sets}
    costs = {
        number: sum(month(Use(asked[number], search=size[number], replicas=of["searchReplicas"]), prices).values())
        for number, of in sets.items()
    }
    return _markdown(
        ["`DEPLOY_PEOPLE`", *(f"{number:,}" for number in sets)],
        ["questions a day", *(f"{one:,}" for one in asked.values())],
        *(
            [f"`DEPLOY_{_variable(name)}`", *(f"{of[name]:,}" for of in sets.values())]
            for name in PEOPLE["for a trial"]
        ),
        ["smallest `DEPLOY_SEARCH_SKU`", *size.values()],
        ["US dollars a month", *(f"{one:,.0f}" for one in costs.values())],
    )


def needed(people: int, at_once: int = AT_ONCE[2]) -> dict[str, int]:
    """Return what `infra/main.bicep` sets for so many people, by the names of its parameters.

    Args:
        people: Their number; 0: a trial.
        at_once: How many streams an instance carries.
    """
    trial: dict[str, int] = PEOPLE["for a trial"]
    if not people:
        return trial
    read, may_write = (int(MEASURED[f"tokens that a question {what}"][0]) for what in ("reads", "may write"))
    spent = read + int(PEOPLE["tokens of an answer"])
    one_asks = int(PEOPLE["questions a day of who asks most"]) * spent
    in_a_minute = math.ceil(people / PEOPLE["people for a question in the busiest minute"])
    streams = math.ceil(in_a_minute * PEOPLE["seconds of an answer"] / 60)
    replicas = 1 if people < PEOPLE["people from whom on search has two replicas"] else 2

    def thousands(tokens: int) -> int:
        return math.ceil(in_a_minute * tokens / 10_000) * 10

    return {
        "chatCapacity": max(trial["chatCapacity"], thousands(read + may_write)),
        "embeddingCapacity": max(trial["embeddingCapacity"], thousands(PEOPLE["tokens of a vector"])),
        "callerRequestsPerMinute": trial["callerRequestsPerMinute"],
        "callerTokensPerDay": one_asks,
        "requestsPerMinute": max(trial["requestsPerMinute"], in_a_minute * PEOPLE["requests with a question"]),
        "tokensPerDay": max(one_asks, 2 * people * PEOPLE["questions a day"] * spent),
        "searchReplicas": max(replicas, math.ceil(in_a_minute / PEOPLE["questions a minute of a replica"])),
        "maximumInstances": max(trial["maximumInstances"], 4 * math.ceil(streams / at_once)),
    }


def month(use: Use, prices: dict[str, Any]) -> dict[str, float]:
    """Return the cost of each part in a month."""
    model = next((one for one in prices["models"] if one["model"] == use.model), None)
    if model is None:
        sys.exit(f"infra/prices.json has no price of {use.model}.")
    if use.search not in prices["search"]:
        sys.exit(f"infra/prices.json has no price of {use.search}: serverless is paid by what it computes and keeps.")
    functions, storage, telemetry = prices["functions"], prices["storage"], prices["telemetry"]
    writes = use.kept * float(MEASURED["writes of a kept run"][0])
    answers = use.answers * DAYS
    tokens = use.read * float(model["read"]) + use.written * float(model["written"])
    seconds = max(0.0, busy_seconds(use) * DAYS * use.memory - float(functions["free gigabyte seconds"]))
    executions = max(0.0, answers + SWEEPS * DAYS - float(functions["free executions"]))
    gigabytes = max(0.0, answers * use.telemetry / MILLION - float(telemetry["free gigabytes"]))
    return {
        "the model": answers * tokens / MILLION,
        "Functions": seconds * float(functions["gigabyte second"])
        + executions / MILLION * float(functions["million executions"]),
        "AI Search": float(prices["search"][use.search]) * use.replicas,
        "Storage": use.gigabytes * float(storage["gigabyte"])
        + answers * use.operations / 10_000 * float(storage["ten thousand operations"]),
        "kept runs": answers * writes / 10_000 * float(storage["ten thousand operations"]),
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


def _variable(name: str) -> str:
    """Return the variable of azd behind `DEPLOY_` for a parameter."""
    return re.sub("([A-Z])", r"_\1", name).upper()


def _markdown(head: Sequence[str], *rows: Sequence[str]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _of_a_thousand(costs: dict[str, float], use: Use) -> float:
    return sum(costs.values()) / (use.answers * DAYS) * 1_000


if __name__ == "__main__":
    main()
