"""The parts of a deployment fit each other, and the app that they are for."""

import json
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.history.azure_table import TABLE
from shared.runs.records import RETENTION_SECONDS
from shared.settings import Settings
from tests.infra.compiler import INFRA
from tests.infra.deployed import app, main_parameters, of_type, outputs
from tests.infra.snapshots import deployed
from tests.infra.ways import CLIENT, GROUP, WAYS

ROOT = INFRA.parent
PARAMETERS = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]
ENDPOINTS = "Microsoft.Network/privateEndpoints"
ZONES = "Microsoft.Network/privateDnsZones"
STORAGE = "Microsoft.Storage/storageAccounts"


def test_azd_can_give_every_parameter_and_no_other() -> None:
    assert list(PARAMETERS) == [name for name in main_parameters() if name != "thisMonth"]
    assert all(re.fullmatch(r"\$\{[A-Z_]+\}", one["value"]) for one in PARAMETERS.values())
    values = [one["value"] for one in PARAMETERS.values()]
    assert len(set(values)) == len(values)


def test_who_may_call_is_asked_for() -> None:
    required = {name for name, one in main_parameters().items() if one.default is None}
    assert required == {"environmentName", "location", "authMode"}


def test_every_parameter_is_described() -> None:
    assert all(one.description for one in main_parameters().values())
    for path in INFRA.rglob("*.bicep"):
        text = path.read_text()
        assert len(re.findall(r"^@description\(.*\)\n(?:@.*\n)*param ", text, re.MULTILINE)) == text.count(
            "\nparam "
        ), path


def test_one_instance_takes_many_requests_but_no_more_than_the_host_lets_in() -> None:
    """As many as its share of a core carries: a quarter does not carry what a whole one does."""
    parameter = main_parameters()["httpConcurrency"]
    limits = json.loads((ROOT / "host.json").read_text())["extensions"]["http"]
    scaling = [app(way)["functionAppConfig"]["scaleAndConcurrency"] for way in ("front-door", "bearer", "large")]
    given = [(one["instanceMemoryMB"], one["triggers"]["http"]["perInstanceConcurrency"]) for one in scaling]
    assert given == [(512, 30), (2048, 100), (4096, 200)]
    assert f"maxValue({limits['maxConcurrentRequests']})" in parameter.decorators


def test_the_app_runs_on_the_python_that_it_was_tested_with() -> None:
    runtime = app("bearer")["functionAppConfig"]["runtime"]
    assert runtime["name"] == "python"
    assert f'requires-python = ">={runtime["version"]},<' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("way", WAYS)
def test_flex_consumption_is_not_given_what_it_refuses(way: str) -> None:
    written = json.dumps(deployed(way)["resources"])
    for name in ("FUNCTIONS_WORKER_RUNTIME", "FUNCTIONS_EXTENSION_VERSION", '"WEBSITE_', "linuxFxVersion"):
        assert name not in written
    is_restricted = "allowedAddresses" in WAYS[way]
    restrictions = {"ipSecurityRestrictions", "ipSecurityRestrictionsDefaultAction"} if is_restricted else set[str]()
    assert app(way)["siteConfig"].keys() == {"minTlsVersion", "cors"} | restrictions


def test_references_to_a_key_vault_ask_as_the_identity_that_the_app_has() -> None:
    site = app("bearer")
    (identity,) = of_type("bearer", "Microsoft.ManagedIdentity/userAssignedIdentities")
    assert site["keyVaultReferenceIdentity"].endswith(f"/userAssignedIdentities/{identity}")


def zones_of(way: str) -> dict[str, list[str]]:
    """Return the DNS zones in which each private endpoint is, by the parts that it is of."""
    found: dict[str, list[str]] = {}
    for name, one in of_type(way, f"{ENDPOINTS}/privateDnsZoneGroups").items():
        configs = one["properties"]["privateDnsZoneConfigs"]
        endpoint = name.removeprefix("pep-").removesuffix("/default")
        found[endpoint] = [zone(config["properties"]["privateDnsZoneId"]) for config in configs]
    return found


def zone(text: str) -> str:
    """Return the name of a zone, which ends with what only Azure knows where it is of a storage account."""
    part = re.search(r"format\('privatelink\.\{0\}\.\{1\}', '(\w+)'|'(privatelink\.(\w+)\.)\{0\}'", text)
    plain = re.findall(r"privatelink\.[\w.]*\w", text)
    return f"privatelink.{part[1] or part[3]}" if part else plain[-1]


def test_each_private_endpoint_is_in_the_zone_of_its_service() -> None:
    """Source: Azure Private Link, 'Azure services DNS zone values'."""
    ai = "privatelink.cognitiveservices.azure.com"
    models = ["privatelink.openai.azure.com", "privatelink.services.ai.azure.com", ai]
    storage = {part: [f"privatelink.{part}"] for part in ("blob", "queue", "table")}
    search = {"search": ["privatelink.search.windows.net"]}
    app_zone = {"app": ["privatelink.azurewebsites.net"]}
    assert zones_of("private") == {**storage, **search, "openai": models}
    services = {"document-intelligence": [ai], "vision": [ai], "content-safety": [ai]}
    assert zones_of("private-all-services") == {**storage, **search, "openai": models[:1], **services}
    assert zones_of("existing-private") == {**storage, **search, "openai": models, "documents": ["privatelink.blob"]}
    assert zones_of("own-network") == {**storage, **search, "openai": models, **app_zone}


@pytest.mark.parametrize("way", ["private", "private-all-services", "existing-private"])
def test_there_is_one_zone_for_each_that_private_endpoints_are_in_and_no_other(way: str) -> None:
    made = [zone(name) for name in of_type(way, ZONES)]
    assert sorted(made) == sorted({one for zones in zones_of(way).values() for one in zones})
    links = of_type(way, f"{ZONES}/virtualNetworkLinks").values()
    assert len(links) == len(made)
    # What has no endpoint here, as an existing account with one elsewhere, is looked up outside.
    assert {link["properties"]["resolutionPolicy"] for link in links} == {"NxDomainRedirect"}


def test_the_network_of_the_company_is_used_as_it_is() -> None:
    subnets = f"SUBSCRIPTION{GROUP.partition('1111111111')[2]}/providers/Microsoft.Network/virtualNetworks/hub/subnets"
    assert app("own-network")["virtualNetworkSubnetId"].endswith("/hub/subnets/switchboard")
    for one in of_type("own-network", ENDPOINTS).values():
        assert one["properties"]["subnet"]["id"].endswith("/hub/subnets/private-endpoints"), subnets
    assert not of_type("own-network", ZONES)
    assert not of_type("own-network", "Microsoft.Network/virtualNetworks")
    groups = of_type("own-network", f"{ENDPOINTS}/privateDnsZoneGroups").values()
    assert all("66666666-6666-6666-6666-666666666666/resourceGroups/rg-dns" in json.dumps(one) for one in groups)
    assert app("own-network")["publicNetworkAccess"] == "Disabled"


def test_a_network_has_the_addresses_that_it_is_given() -> None:
    (network,) = of_type("private", "Microsoft.Network/virtualNetworks").values()
    assert network["properties"]["addressSpace"] == {"addressPrefixes": ["10.20.0.0/24"]}
    prefixes = [one["properties"]["addressPrefix"] for one in network["properties"]["subnets"]]
    assert prefixes == ["10.20.0.0/25", "10.20.0.128/25"]
    (usual,) = of_type("private-all-services", "Microsoft.Network/virtualNetworks").values()
    assert [one["properties"]["addressPrefix"] for one in usual["properties"]["subnets"]] == [
        "10.0.0.0/24",
        "10.0.1.0/24",
    ]


def test_a_group_that_exists_is_left_alone() -> None:
    assert not of_type("large", "Microsoft.Resources/resourceGroups")
    assert outputs("large")["AZURE_RESOURCE_GROUP"] == "rg-of-the-company"


def test_an_account_that_has_a_topic_gets_no_second_one() -> None:
    """Azure takes one for each, and Defender for Storage makes one."""
    assert not of_type("queues", "Microsoft.EventGrid/systemTopics")
    assert list(of_type("queues", "Microsoft.EventGrid/systemTopics/eventSubscriptions")) == [
        "storage-antimalware/documents"
    ]


def test_azd_finds_its_group_and_its_service() -> None:
    services = yaml.safe_load((ROOT / "azure.yaml").read_text())["services"]
    assert {name: one["host"] for name, one in services.items()} == {"api": "function"}
    (site,) = of_type("bearer", "Microsoft.Web/sites").values()
    assert site["tags"] == {"azd-env-name": "demo", "azd-service-name": "api"}
    (group,) = of_type("bearer", "Microsoft.Resources/resourceGroups").values()
    assert group["tags"] == {"azd-env-name": "demo"}


def test_azd_is_one_that_reads_what_is_written_for_it() -> None:
    """Source: azd's changelog.

    1.23.4: objects from variables; 1.23.5: `remoteBuild`; 1.23.13: `!` in .funcignore; 1.24.1: `azd down` deletes the
    groups that were made, and not those of existing resources.
    """
    needed = yaml.safe_load((ROOT / "azure.yaml").read_text())["requiredVersions"]["azd"]
    version = tuple(int(part) for part in needed.removeprefix(">= ").split("."))
    assert version >= (1, 24, 1)
    assert ".".join(map(str, version)) in (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")


def sign_in(way: str) -> dict[str, Any]:
    """Return what App Service Authentication is set to."""
    configs = of_type(way, "Microsoft.Web/sites/config").items()
    return next(one["properties"] for name, one in configs if name.endswith("/authsettingsV2"))


def test_another_way_to_sign_in_takes_easy_auth_away() -> None:
    """A deployment leaves alone what it does not name."""
    assert sign_in("bearer") == {"platform": {"enabled": False}}
    assert sign_in("easy-auth")["platform"] == {"enabled": True}


def test_the_queues_the_table_and_the_containers_are_those_that_the_app_uses() -> None:
    settings = Settings()
    queues = {name.rpartition("/")[2] for name in of_type("bearer", f"{STORAGE}/queueServices/queues")}
    assert queues == {settings.events_queue, settings.batch_queue, f"{settings.batch_queue}-poison"}
    assert [name.rpartition("/")[2] for name in of_type("bearer", f"{STORAGE}/tableServices/tables")] == [TABLE]
    containers = {name.rpartition("/")[2] for name in of_type("bearer", f"{STORAGE}/blobServices/containers")}
    assert {settings.content_container, f"{settings.content_container}-pages"} < containers
    assert main_parameters()["contentContainer"].default == settings.content_container


def retention(way: str) -> dict[str, int]:
    """Return after how many days Azure deletes what is in a container."""
    (policy,) = of_type(way, f"{STORAGE}/managementPolicies").values()
    rules = [rule["definition"] for rule in policy["properties"]["policy"]["rules"]]
    return {
        prefix: rule["actions"]["baseBlob"]["delete"]["daysAfterCreationGreaterThan"]
        for rule in rules
        for prefix in rule["filters"]["prefixMatch"]
    }


def test_what_is_kept_for_a_time_is_that_of_the_app_and_no_documents() -> None:
    assert RETENTION_SECONDS == 24 * 60 * 60
    assert retention("bearer") == {f"{Settings().batch_queue}/": 1}
    assert retention("queues") == {f"{Settings().batch_queue}/": 1, "chat-answers/": 7}


def test_a_document_and_a_container_that_were_deleted_can_be_had_back() -> None:
    (blobs,) = of_type("bearer", f"{STORAGE}/blobServices").values()
    week = {"enabled": True, "days": 7}
    assert blobs["properties"] == {"deleteRetentionPolicy": week, "containerDeleteRetentionPolicy": week}


def test_only_documents_are_told_of() -> None:
    """Not page images, which ingestion itself writes: it would never end."""
    (events,) = of_type("bearer", "Microsoft.EventGrid/systemTopics/eventSubscriptions").values()
    assert events["properties"]["filter"] == {
        "subjectBeginsWith": "/blobServices/default/containers/content/blobs/",
        "includedEventTypes": ["Microsoft.Storage.BlobCreated", "Microsoft.Storage.BlobDeleted"],
    }


def test_every_alert_has_an_owner_and_a_page() -> None:
    page = "https://wiki.contoso.com/switchboard"
    for one in of_type("alerts", "Microsoft.Insights/scheduledQueryRules").values():
        assert one["properties"]["actions"]["customProperties"] == {"owner": "Chat team", "whatToDo": page}
        assert one["properties"]["description"].endswith(f"What to do: {page}")
        assert one["properties"]["skipQueryValidation"] is True
    (memory,) = of_type("alerts", "Microsoft.Insights/metricAlerts").values()
    (criterion,) = memory["properties"]["criteria"]["allOf"]
    assert criterion["dimensions"] == [{"name": "Instance", "operator": "Include", "values": ["*"]}]
    assert criterion["threshold"] == 2048 * 1024 * 1024 * 70 // 100


SECRETS = [".env", ".env.local", "key.pem", "tls.key", "certificate.pfx", "id_rsa", "id_ed25519.pub"]


def test_git_ignores_files_that_hold_secrets() -> None:
    command = ["git", "check-ignore", "--no-index", *SECRETS]
    ignored = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ignored.stdout.split() == SECRETS


def test_every_locked_package_is_installed_by_its_hash() -> None:
    """Pip checks hashes as soon as one is there, and then refuses packages that have none."""
    packages = (ROOT / "requirements.txt").read_text().replace("\\\n", " ").splitlines()
    assert packages
    assert not [
        line for line in packages if line.strip() and "--hash=sha256:" not in line and "DEPLOY_FEATURES" not in line
    ]


def test_easy_auth_takes_tokens_of_named_applications_only() -> None:
    """Every application of a tenant can get itself a token for any app registration."""
    provider = sign_in("easy-auth")["identityProviders"]["azureActiveDirectory"]
    named = provider["validation"]["defaultAuthorizationPolicy"]["allowedApplications"]
    assert named == [CLIENT, "55555555-5555-5555-5555-555555555555"]


def test_a_package_has_the_app_and_nothing_of_this_machine() -> None:
    rules = [line for line in (ROOT / ".funcignore").read_text().splitlines() if line and not line.startswith("#")]

    def is_left_out(name: str) -> bool:
        last = [rule for rule in rules if fnmatch(name, rule.removeprefix("!").removeprefix("**/"))]
        return bool(last) and not last[-1].startswith("!")

    taken = ["function_app.py", "host.json", "requirements.txt", "shared", "samples/agents.yaml"]
    left = [
        ".azure",
        ".git",
        ".venv",
        "azure.yaml",
        "infra",
        "local.settings.json",
        "tests",
        "uv.lock",
        "pyproject.toml",
        *SECRETS,
    ]
    assert not [name for name in taken if is_left_out(name)]
    assert [name for name in left if is_left_out(name)] == left
    assert {path.name for path in Path(ROOT / "samples").iterdir()} >= {"agents.yaml"}
