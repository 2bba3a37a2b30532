"""Check that the models of a deployment do not retire soon, by the table in `infra/models.json`.

The models are the defaults of `infra/main.bicep`, or those that the variables `DEPLOY_CHAT_MODEL`,
`DEPLOY_CHAT_MODEL_VERSION` and their siblings for embeddings name. Exits with 1 if one of them retires within half a
year, and reports models that the table does not have. Runs with Python's own library alone.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

INFRA = Path(__file__).resolve().parent.parent / "infra"
AHEAD = timedelta(days=180)
"""How long before a retirement the check fails: time to compare another model, and to index again."""
VARIABLES = {
    "DEPLOY_CHAT_MODEL": "DEPLOY_CHAT_MODEL_VERSION",
    "DEPLOY_EMBEDDING_MODEL": "DEPLOY_EMBEDDING_MODEL_VERSION",
}
"""The variables that name a model and its version."""


class Model(NamedTuple):
    """A version of a model."""

    model: str
    """Its name."""
    version: str
    """Its version, a date for most."""


class Table(NamedTuple):
    """What is known of models."""

    read: date
    """When the page that it comes from was last updated."""
    uses: Mapping[Model, str]
    """What each model is for: `chat`, `cheap chat` or `embedding`."""
    retires: Mapping[Model, date]
    """When each model stops to answer."""


def main() -> None:
    """Check the models, and print what is wrong."""
    if os.environ.get("DEPLOY_EXISTING_OPENAI_NAME"):
        print("The models are those of an existing resource: not checked.")
        return
    found = list(retiring(chosen(os.environ), read_table(), datetime.now(UTC).date()))
    if found:
        sys.exit("\n".join([*found, "Choose another model: docs/deploy.md, 'Models retire'."]))


def read_table() -> Table:
    """Return the table in `infra/models.json`."""
    table = json.loads((INFRA / "models.json").read_text())
    rows = {Model(row["model"], row["version"]): row for row in table["models"]}
    return Table(
        date.fromisoformat(table["read"]),
        {model: row["use"] for model, row in rows.items()},
        {model: date.fromisoformat(row["retires"]) for model, row in rows.items()},
    )


def chosen(environment: Mapping[str, str]) -> list[Model]:
    """Return the chat model and the embedding model that these variables, or else the defaults, deploy."""
    return [
        Model(environment.get(name) or default_of(name), environment.get(version) or default_of(version))
        for name, version in VARIABLES.items()
    ]


def default_of(variable: str) -> str:
    """Return the default of the parameter of `main.bicep` that a variable sets."""
    parameters = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]
    name = next(name for name, one in parameters.items() if one["value"] == f"${{{variable}}}")
    found = re.search(rf"^param {name} string = '([^']+)'", (INFRA / "main.bicep").read_text(), re.MULTILINE)
    return found[1] if found else sys.exit(f"infra/main.bicep has no default for {name}.")


def retiring(models: list[Model], table: Table, today: date) -> Iterator[str]:
    """Yield a sentence for each model that retires soon; print one for each that is not in the table."""
    for one in models:
        if one not in table.retires:
            print(f"infra/models.json does not say when {one.model} {one.version} retires.")
        elif (day := table.retires[one]) - today <= AHEAD:
            yield f"{one.model} {one.version} retires on {day}."


if __name__ == "__main__":
    main()
