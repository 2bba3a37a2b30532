"""Makes the table of clients and situations in docs/clients.md: `python -m tests.clients.table`, `--check` to compare.

It has what the tests assert, so it says what was seen as long as they pass.
"""

import sys
from datetime import date
from pathlib import Path

from tests.clients.rows import DAY_FILE, PAGES, ROWS
from tests.clients.situations import SITUATIONS

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
BEGINS = "<!-- Made of tests/clients/rows.py by `make docs`. -->\n"
ENDS = "<!-- End of the table. -->\n"


def main() -> None:
    """Write the table, or check it."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGINS)
    made = f"{before}{BEGINS}{_table()}{ENDS}{rest.partition(ENDS)[2]}"
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(made, encoding="utf-8")
    elif made != text:
        sys.exit("docs/clients.md is not up to date with tests/clients/rows.py: run 'make docs'.")


def _table() -> str:
    rows = [[row.title, f"`{row.wire}`", row.version, *row.expected.values()] for row in ROWS + PAGES]
    head = ["client", "protocol", "version", *SITUATIONS]
    lines = [head, ["---"] * len(head), *rows]
    day = date.fromisoformat(DAY_FILE.read_text(encoding="utf-8").strip())
    return f"All of them were tried on {day:%-d %B %Y}.\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    main()
