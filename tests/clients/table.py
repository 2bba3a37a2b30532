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
    shown = [row.expected for row in ROWS + PAGES]
    same = {situation: shown[0][situation] for situation in SITUATIONS if len({one[situation] for one in shown}) == 1}
    columns = [situation for situation in SITUATIONS if situation not in same]
    rows = [
        [row.title, f"`{row.wire}`", row.version, *(row.expected[name] for name in columns)] for row in ROWS + PAGES
    ]
    head = ["client", "protocol", "version", *columns]
    lines = [head, ["---"] * len(head), *rows]
    day = date.fromisoformat(DAY_FILE.read_text(encoding="utf-8").strip())
    for_all = ", ".join(f"{situation}: {what}" for situation, what in same.items())
    above = f"All of them were tried on {day:%-d %B %Y}. The same in each: {for_all}.\n\n"
    return above + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    main()
