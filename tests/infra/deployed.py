"""What a deployment gives the app, as the snapshots have it, and what `main.bicep` says of its parameters."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.infra.compiler import INFRA
from tests.infra.snapshots import deployed

PROPERTIES = {
    "clientId": "33333333-3333-3333-3333-333333333333",
    "ConnectionString": "InstrumentationKey=00000000-0000-0000-0000-000000000000",
    "blob": "https://st.blob.example.com/",
    "queue": "https://st.queue.example.com/",
    "table": "https://st.table.example.com/",
    "endpoint": "https://service.example.com/",
    "loginEndpoint": "https://login.example.com/",
    "defaultHostName": "func.example.com",
    "principalId": "44444444-4444-4444-4444-444444444444",
}
"""What stands for a property that only Azure knows, by its name."""
THEIR_BLOBS = "https://documents.blob.example.com/"
"""What stands for the blobs of an account that was there before."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of `main.bicep`."""

    name: str
    """Its name in the template."""
    default: str | None
    """Its default as it is written; None if it has to be given."""
    description: str
    """What it says of itself."""
    decorators: str
    """The lines above it."""

    @property
    def allowed(self) -> list[str]:
        """The values that it may have, if they are listed."""
        listed = re.search(r"@allowed\(\[(.*?)\]\)", self.decorators, re.DOTALL)
        return [one.strip("'") for one in re.split(r"[\s,]+", listed[1]) if one] if listed else []


@cache
def main_parameters() -> dict[str, Parameter]:
    """Return the parameters of `main.bicep` by their names."""
    found = re.findall(r"((?:^@.*\n(?:^ .*\n|^\]\)\n)*)+)^param (\w+) \w+(?: = (.+))?$", _main(), re.MULTILINE)
    return {
        name: Parameter(name, default.strip("'") if default else None, _description(lines), lines)
        for lines, name, default in found
    }


def _main() -> str:
    return (INFRA / "main.bicep").read_text(encoding="utf-8")


def _description(decorators: str) -> str:
    found = re.search(r"@description\('(.*)'\)$", decorators, re.MULTILINE)
    return found[1].replace("\\'", "'") if found else ""


def of_type(way: str, kind: str) -> dict[str, dict[str, Any]]:
    """Return the resources of one type that a way deploys, by their names."""
    resources = deployed(way)["resources"]
    return {key.partition(" ")[2]: one for key, one in resources.items() if key.partition("@")[0] == kind}


def app_settings(way: str) -> dict[str, str]:
    """Return the app's settings in Azure, with something in place of what only Azure knows."""
    (settings,) = (
        one["properties"] for name, one in of_type(way, "Microsoft.Web/sites/config").items() if "appsettings" in name
    )
    return {name: known(value) for name, value in settings.items()}


def outputs(way: str) -> dict[str, str]:
    """Return what azd keeps of the deployment, as `azd env get-values` prints it."""
    return {name: known(value) for name, value in deployed(way)["outputs"].items()}


def known(value: str) -> str:
    """Return a value of a snapshot with something in place of each property that only Azure knows."""
    if not value.startswith("["):
        return value
    if "theirdocuments." in value:
        return THEIR_BLOBS
    last = next(name for name in re.findall(r"\.(\w+)", value)[::-1] if name in PROPERTIES)
    texts = re.findall(r"format\('([^']*)'", value)
    found = PROPERTIES[last]
    for text in reversed(texts):
        found = text.replace("{0}", found)
    return found


def app(way: str) -> dict[str, Any]:
    """Return the properties of the Function App."""
    (site,) = of_type(way, "Microsoft.Web/sites").values()
    return site["properties"]


def roles(way: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield who gets which role, by its ID, on what and why."""
    for one in of_type(way, "Microsoft.Authorization/roleAssignments").values():
        given = one["properties"]
        who = re.sub(r"^\[|\.(identity\.)?principalId\]$", "", given["principalId"])
        yield (
            who,
            given["roleDefinitionId"].rpartition("/")[2],
            one["scope"],
            given["description"],
        )
