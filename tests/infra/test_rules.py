"""Rules that hold for every way to deploy, over the snapshots."""

import json
import re
from collections.abc import Iterator

import pytest

from shared.chat_types import Json
from tests.infra.compiler import INFRA
from tests.infra.deployed import of_type
from tests.infra.snapshots import FOLDER, deployed, parameters
from tests.infra.ways import WAYS

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
NEVER_RELEASED = "Microsoft.Insights/diagnosticSettings"
"""The type of which all versions in use are previews."""

pytestmark = pytest.mark.parametrize("way", WAYS)


def texts(value: Json) -> Iterator[str]:
    """Yield all texts in a value."""
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from texts(one)
        case list():
            for one in value:
                yield from texts(one)
        case _:
            pass


def test_there_is_a_snapshot_of_its_parameters(way: str) -> None:
    kept = json.loads((FOLDER / f"{way}.json").read_text())
    assert kept.get("parameters", WAYS["bearer"]) == WAYS[way]


def test_there_is_no_other_snapshot(way: str) -> None:
    assert (FOLDER / f"{way}.json") in set(FOLDER.iterdir())
    assert {file.stem for file in FOLDER.iterdir()} == set(WAYS)


def test_types_are_released_ones_in_one_version(way: str) -> None:
    versions: dict[str, str] = {}
    for key in deployed(way)["resources"]:
        kind, _, rest = key.partition("@")
        version = rest.partition(" ")[0]
        assert re.fullmatch(r"20\d\d-\d\d-\d\d" + ("-preview" if kind == NEVER_RELEASED else ""), version)
        assert versions.setdefault(kind, version) == version


def test_each_setting_is_a_text_and_none_differs_from_another_in_its_case_only(way: str) -> None:
    for name, config in of_type(way, "Microsoft.Web/sites/config").items():
        if name.endswith("/appsettings"):
            assert all(isinstance(value, str) for value in config["properties"].values())
            assert len({key.lower() for key in config["properties"]}) == len(config["properties"])


def test_lists_have_no_empty_parts_and_no_blanks(way: str) -> None:
    for key, one in deployed(way)["resources"].items():
        for name, listed in lists(one):
            if name in {"allowedOrigins", "emailReceivers", "contactEmails", "allowedApplications", "allowedAudiences"}:
                for value in texts(listed):
                    assert value, (key, name)
                    assert value == value.strip(), (key, name)


def lists(value: Json) -> Iterator[tuple[str, list[Json]]]:
    """Yield all lists in a value with their names."""
    for name, one in value.items() if isinstance(value, dict) else ():
        if isinstance(one, list):
            yield name, one
        yield from lists(one)


def test_each_role_has_somebody_who_gets_it_one_resource_and_a_reason(way: str) -> None:
    for one in of_type(way, "Microsoft.Authorization/roleAssignments").values():
        given = one["properties"]
        assert re.fullmatch(rf"{UUID}|\[[\w-]+\.(identity\.)?principalId\]", given["principalId"])
        assert re.search(rf"/roleDefinitions/{UUID}$", given["roleDefinitionId"])
        assert given["description"].endswith(".")
        assert not one["scope"].startswith(("rg-", "resourceGroups"))


def test_no_value_is_the_time_of_the_deployment(way: str) -> None:
    """Azure refuses a change of some, such as the start of a budget."""
    assert not [text for text in texts(deployed(way)["resources"]) if "utcNow" in text]


def test_names_fit_what_azure_takes(way: str) -> None:
    for name in of_type(way, "Microsoft.Storage/storageAccounts"):
        assert re.fullmatch(r"[a-z0-9]{3,24}", name.replace("TOKEN", "5ssx6j7coixfy"))
    for kind in ("Microsoft.Web/sites", "Microsoft.Search/searchServices", "Microsoft.CognitiveServices/accounts"):
        assert all(len(name) <= 60 for name in of_type(way, kind))


def test_what_is_private_is_closed_and_has_an_endpoint(way: str) -> None:
    private = parameters(way).get("privateNetwork", False)
    closed = {
        name
        for kind in ("Microsoft.CognitiveServices/accounts", "Microsoft.Search/searchServices")
        for name, one in of_type(way, kind).items()
        if one["properties"]["publicNetworkAccess"].lower() == "disabled"
    }
    made = of_type(way, "Microsoft.CognitiveServices/accounts") | of_type(way, "Microsoft.Search/searchServices")
    assert closed == (set(made) if private else set())
    reached = {
        text.rpartition("/")[2] for text in texts([*of_type(way, "Microsoft.Network/privateEndpoints").values()])
    }
    assert closed <= reached
    (storage,) = of_type(way, "Microsoft.Storage/storageAccounts").values()
    assert storage["properties"]["networkAcls"]["defaultAction"] == ("Deny" if private else "Allow")


def test_everything_has_the_tag_that_azd_looks_for(way: str) -> None:
    for key, one in deployed(way)["resources"].items():
        if "tags" in one:
            assert one["tags"]["azd-env-name"] == "demo", key


def test_deployments_in_groups_of_others_have_names_of_their_own(way: str) -> None:
    """Two environments may share an OpenAI or search resource, and deploy at the same time."""
    assert way
    text = (INFRA / "modules" / "roles.bicep").read_text()
    elsewhere = re.findall(r"name: '([^']+)'\n  scope: resourceGroup\((?!groupName)", text)
    assert len(elsewhere) == 3
    assert all("${token}" in name for name in elsewhere)
