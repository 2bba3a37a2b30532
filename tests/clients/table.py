"""Makes the lists of clients in docs/clients.md, by what they show: `python -m tests.clients.table`, or with `--check`.

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
    """Write what all clients show, and the clients in groups of those that show the same besides."""
    rows = ROWS + PAGES
    shown = [row.expected for row in rows]
    differ = [situation for situation in SITUATIONS if len({one[situation] for one in shown}) > 1]
    same = [f"{situation}: {shown[0][situation]}" for situation in SITUATIONS if situation not in differ]
    groups: dict[str, list[str]] = {}
    for row in rows:
        besides = "; ".join(f"{situation}: {row.expected[situation]}" for situation in differ)
        groups.setdefault(besides, []).append(f"{row.title} (`{row.wire}`, {row.version})")
    day = date.fromisoformat(DAY_FILE.read_text(encoding="utf-8").strip())
    lists = [f"*{besides}*:\n\n" + "".join(f"- {client}\n" for client in groups[besides]) for besides in groups]
    return "\n".join([f"All of them were tried on {day:%-d %B %Y}. *{'; '.join(same)}* in each.\n", *lists])


if __name__ == "__main__":
    main()
