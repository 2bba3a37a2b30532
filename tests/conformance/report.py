"""The table of clients and routes, and what failed."""

from collections.abc import Sequence

from tests.conformance.rules import Cell

NOT_OFFERED = "not offered"


def table(cells: Sequence[Cell], *, markdown: bool) -> str:
    """A row a client, a column a route."""
    routes = list(dict.fromkeys(cell.route for cell in cells))
    clients = list(dict.fromkeys(cell.client.title for cell in cells))
    results = {(cell.client.title, cell.route): _result(cell) for cell in cells}
    rows = [["client", *(f"`{route}`" if markdown else route for route in routes)]]
    rows += [[client, *(results.get((client, route), "") for route in routes)] for client in clients]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [" | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "-|-".join("-" * width for width in widths))
    return "\n".join(f"| {line} |" if markdown else line.rstrip() for line in lines)


def failures(cells: Sequence[Cell]) -> str:
    """What failed, a line each."""
    return "\n".join(
        f"{cell.client.title}, {cell.route}, {failure.title}: {failure.sentence} [{failure.rule}]"
        for cell in cells
        for failure in cell.failures
    )


def _result(cell: Cell) -> str:
    if not cell.checked:
        return NOT_OFFERED
    if cell.failures:
        return f"{len(cell.failures)} of {cell.checked} fail"
    return f"ok ({cell.checked})"
