"""What is deployed has no keys, no secrets leave it, and roles are what they are called."""

import re
from pathlib import Path

import pytest

from tools.bicep import INFRA, BicepFile, Declaration, properties, text, walk

FILES = [BicepFile(path) for path in sorted(INFRA.rglob("*.bicep"))]

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
NEVER_RELEASED = "Microsoft.Insights/diagnosticSettings@"
"""The type of which all versions in use are previews."""
SECRET = re.compile(r"key|secret|password|connectionstring|credential|sas\b", re.IGNORECASE)
WITHOUT_KEYS = {
    "Microsoft.Storage/storageAccounts": {"allowSharedKeyAccess": "false", "allowBlobPublicAccess": "false"},
    "Microsoft.CognitiveServices/accounts": {"disableLocalAuth": "true"},
    "Microsoft.Search/searchServices": {"disableLocalAuth": "true"},
    "Microsoft.Insights/components": {"DisableLocalAuth": "true"},
    "Microsoft.OperationalInsights/workspaces": {"disableLocalAuth": "true"},
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": {"allow": "false"},
}
"""By type of resource, what turns its keys off."""


def resources() -> list[tuple[str, Declaration]]:
    return [(file.path.name, one) for file in FILES for one in file.of("resource").values()]


@pytest.mark.parametrize("kind", WITHOUT_KEYS)
def test_keys_are_turned_off(kind: str) -> None:
    made = [one for _, one in resources() if one.head.partition("@")[0] == kind and not one.is_existing]
    assert made
    for one in made:
        written = {line.strip() for line in text(one.node).replace("{ ", "{\n").replace(" }", "\n}").splitlines()}
        assert {f"{name}: {value}" for name, value in WITHOUT_KEYS[kind].items()} <= written


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path.name)
def test_nothing_asks_for_a_key(file: BicepFile) -> None:
    called = [text(node) for node in walk(file.root) if node.type == "call_expression"]
    assert not [call for call in called if re.search(r"\blist\w*\(", call)]
    assert "@secure" not in text(file.root)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path.name)
def test_no_output_is_a_secret(file: BicepFile) -> None:
    for name, output in file.of("output").items():
        assert not SECRET.search(name)
        assert output.value is not None
        assert not SECRET.search(text(output.value))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path.name)
def test_resources_are_plain_ones_of_pinned_released_versions(file: BicepFile) -> None:
    for one in file.of("resource").values():
        version = one.head.removesuffix("-preview") if one.head.startswith(NEVER_RELEASED) else one.head
        assert re.fullmatch(r"Microsoft\.[\w./]+@20\d\d-\d\d-\d\d", version), one.head
    for one in file.of("module").values():
        assert re.fullmatch(r"[\w./-]+\.bicep", one.head), one.head


def test_one_version_of_each_type() -> None:
    versions: dict[str, set[str]] = {}
    for _, one in resources():
        kind, _, version = one.head.partition("@")
        versions.setdefault(kind.partition("/")[0], set()).add(f"{kind.split('/')[1]}@{version}")
    for provider, found in versions.items():
        kinds = {one.partition("@")[0] for one in found}
        assert len(found) == len(kinds), (provider, found)


def test_roles_are_called_what_they_are() -> None:
    roles = BicepFile(INFRA / "modules" / "roles.bicep").of("var")["roleIds"].value
    assert roles is not None
    named = {text(role).strip("'"): name for name, role in properties(roles).items()}
    assert named.items() <= ROLES.items()
    written = {
        found for file in FILES for found in re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text(file.root))
    }
    assert written == ROLES.keys()
    events = text(BicepFile(INFRA / "modules" / "event-grid.bicep").root)
    assert re.search(r"// Storage Queue Data Message Sender\nvar \w+ = 'c6a89b2d-", events)


def test_every_role_says_why() -> None:
    for file in FILES:
        for node in walk(file.root):
            if node.type == "object" and {"role", "principalId"} <= properties(node).keys():
                assert text(properties(node)["why"]).endswith(".'")
        for one in file.of("resource").values():
            if one.head.startswith("Microsoft.Authorization/roleAssignments@"):
                assert "description" in properties(one.body["properties"])


def test_nobody_is_given_a_role_twice() -> None:
    """Azure Resource Manager refuses two assignments of one name."""
    for name, module in BicepFile(INFRA / "modules" / "roles.bicep").of("module").items():
        given = [properties(node) for node in walk(module.node) if node.type == "object"]
        pairs = [(text(one["principalId"]), text(one["role"])) for one in given if "role" in one]
        assert len(set(pairs)) == len(pairs), name


def test_roles_are_for_one_resource_each() -> None:
    for name, one in resources():
        if one.head.startswith("Microsoft.Authorization/roleAssignments@"):
            assert text(one.body["scope"]) in {"account", "service", "insights", "queue"}, Path(name)
