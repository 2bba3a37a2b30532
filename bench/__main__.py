"""`python -m bench [NAME …]`: run the benchmarks, all or by name."""

import argparse
import asyncio

from bench import first_import, guard, team

BENCHES = {
    "team": team,
    "first-import": first_import,
    "guard": guard,
}


def main() -> None:
    """Run what is asked for, and print each line as it comes."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; without: all")
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in BENCHES]:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(BENCHES)}")
    for name in names or BENCHES:
        for line in asyncio.run(BENCHES[name].report()):
            print(f"{name}: {line}", flush=True)


if __name__ == "__main__":
    main()
