"""What is deployed has no keys, no secrets leave it, and roles are what they are called."""

import re
from pathlib import Path

import pytest

from tests.infra.compiler import INFRA
from tests.infra.deployed import of_type, outputs, roles
from tests.infra.ways import WAYS

FILES = sorted(INFRA.rglob("*.bicep"))

ROLES = {
    "5e0bd9bd-7b93-4f28-af87-19fc36ad61bd": "Cognitive Services OpenAI User",
    "a97b65f3-24c7-4388-baec-2e87135dc908": "Cognitive Services User",
    "3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
    "acdd72a7-3385-48ef-bd42-f606fba81ae7": "Reader",
    "8ebe5a00-799e-43f5-93ac-243d3dce84a7": "Search Index Data Contributor",
    "1407120a-92aa-4202-b7e9-c0e197c71c8f": "Search Index Data Reader",
    "7ca78c08-252a-4471-8644-bb5ff32d4ba0": "Search Service Contributor",
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": "Storage Blob Data Reader",
    "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a": "Storage Queue Data Message Sender",
    "8a0f0c08-91a1-4084-bc3d-233d67233fed": "Storage Queue Data Message Processor",
    "974c5e8b-45b9-4653-ba55-5f855dd0fb88": "Storage Queue Data Contributor",
    "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": "Storage Table Data Contributor",
}
"""Built-in roles by their ids, which are the same everywhere. Source: Azure built-in roles."""

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
EXAMPLES = {"11111111-2222-3333-4444-555555555555"}
"""IDs in sentences."""
SECRET = re.compile(r"key|secret|password|connectionstring|credential|sas\b", re.IGNORECASE)
WITHOUT_KEYS = {
    "Microsoft.Storage/storageAccounts": {"allowSharedKeyAccess": False, "allowBlobPublicAccess": False},
    "Microsoft.CognitiveServices/accounts": {"disableLocalAuth": True},
    "Microsoft.Search/searchServices": {"disableLocalAuth": True},
    "Microsoft.Insights/components": {"DisableLocalAuth": True},
    "Microsoft.OperationalInsights/workspaces": {"features": {"disableLocalAuth": True}},
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": {"allow": False},
}
"""By type of resource, what turns its keys off."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", WITHOUT_KEYS)
def test_keys_are_turned_off(way: str, kind: str) -> None:
    for one in of_type(way, kind).values():
        assert WITHOUT_KEYS[kind].items() <= one["properties"].items()
    assert of_type("bearer", kind)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_asks_for_a_key(file: Path) -> None:
    """Those functions are all called `list…`, such as `listKeys`."""
    called = re.findall(r"\blist\w*(?=\()", file.read_text())
    assert set(called) <= {"listOf"}


@pytest.mark.parametrize("way", WAYS)
def test_no_output_is_a_secret(way: str) -> None:
    assert not [name for name, value in outputs(way).items() if SECRET.search(name) or SECRET.search(value)]


def test_roles_are_called_what_they_are() -> None:
    text = (INFRA / "modules" / "roles.bicep").read_text()
    named = {role: name.strip("'") for name, role in re.findall(rf"^  ('[^']+'|\w+): '({UUID})'$", text, re.MULTILINE)}
    assert named
    assert named.items() <= ROLES.items()
    written = {found for file in FILES for found in re.findall(UUID, file.read_text())} - EXAMPLES
    assert written == ROLES.keys()


def test_each_role_of_the_table_is_given_in_some_way() -> None:
    given = {role for way in WAYS for _, role, _, _ in roles(way)}
    assert ROLES.keys() - given == {"8a0f0c08-91a1-4084-bc3d-233d67233fed"}  # workflows.bicep has it
