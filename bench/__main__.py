"""`python -m bench [NAME …]`: run the benchmarks, all or by name; what came out is also in `.data/bench/NAME.json`."""

import argparse
import asyncio
import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import (
    budgets,
    cold_start,
    encoding,
    first_import,
    guard,
    history,
    indexing,
    memory,
    retrieval,
    streaming,
    streaming_first_token,
    streaming_gaps,
    streaming_host,
    streaming_paced,
    streaming_runs,
    team,
    telemetry,
)
from bench.processes import OTHER_CORE, ROOT, pin
from bench.rounds import Comparison

BENCHES = {
    "streaming": streaming,
    "encoding": encoding,
    "first-token": streaming_first_token,
    "paced": streaming_paced,
    "runs": streaming_runs,
    "gaps": streaming_gaps,
    "local-host": streaming_host,
    "cold-start": cold_start,
    "memory": memory,
    "retrieval": retrieval,
    "indexing": indexing,
    "team": team,
    "first-import": first_import,
    "guard": guard,
    "history": history,
    "budgets": budgets,
    "telemetry": telemetry,
}
_RESULTS = ROOT / ".data" / "bench"


def main() -> None:
    """Run what is asked for, and print each as it ends."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; without: all")
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in BENCHES]:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(BENCHES)}")
    pin(0, OTHER_CORE)  # here, so that one benchmark alone runs as it does among all
    for name in names or BENCHES:
        comparisons = asyncio.run(BENCHES[name].report())
        written = write(name, comparisons, _RESULTS)
        for comparison in comparisons:
            print(*comparison.lines(), sep="\n", flush=True)
        print(f"-> {written.relative_to(ROOT)}\n", flush=True)


def write(name: str, comparisons: Sequence[Comparison], folder: Path) -> Path:
    """Write a benchmark's results as JSON; return the file."""
    document = {
        "benchmark": name,
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"system": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()},
        "comparisons": [comparison.document() for comparison in comparisons],
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return file


if __name__ == "__main__":
    main()
