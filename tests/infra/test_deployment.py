"""The parts of a deployment fit each other, and the app that they are for."""

import json
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import yaml

from shared.history.azure_table import TABLE
from shared.runs.records import RETENTION_SECONDS
from shared.settings import Settings
from tests.infra.deployed import APP, MAIN, Value, value_of
from tools.bicep import INFRA, BicepFile, Declaration, Node, properties, text, walk

ROOT = INFRA.parent
STORAGE = BicepFile(INFRA / "modules" / "storage.bicep")
PARAMETERS = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]


def test_azd_can_give_every_parameter_and_no_other() -> None:
    assert list(PARAMETERS) == list(MAIN.of("param"))
    assert all(re.fullmatch(r"\$\{[A-Z_]+\}", one["value"]) for one in PARAMETERS.values())
    values = [one["value"] for one in PARAMETERS.values()]
    assert len(set(values)) == len(values)


def test_who_may_call_is_asked_for() -> None:
    assert {name for name, one in MAIN.of("param").items() if one.value is None} == {
        "environmentName",
        "location",
        "authMode",
    }


def test_every_parameter_is_described() -> None:
    for path in INFRA.rglob("*.bicep"):
        for one in BicepFile(path).of("param").values():
            assert any(decorator.startswith("description(") for decorator in one.decorators), (path.name, one.name)


def test_one_instance_takes_many_requests_but_no_more_than_the_host_lets_in() -> None:
    triggers = re.search(r"perInstanceConcurrency: (\w+)", text(APP.root))
    assert triggers
    assert triggers[1] == "httpConcurrency"
    parameter = MAIN.of("param")["httpConcurrency"]
    assert parameter.value is not None
    limits = json.loads((ROOT / "host.json").read_text())["extensions"]["http"]
    assert 1 < int(text(parameter.value)) <= limits["maxConcurrentRequests"]
    assert f"maxValue({limits['maxConcurrentRequests']})" in parameter.decorators


def test_the_app_runs_on_the_python_that_it_was_tested_with() -> None:
    version = re.search(r"runtime: \{ name: 'python', version: '([\d.]+)' \}", text(APP.root))
    assert version
    assert f'requires-python = ">={version[1]},<' in (ROOT / "pyproject.toml").read_text()


def test_flex_consumption_is_not_given_what_it_refuses() -> None:
    written = "".join(path.read_text() for path in INFRA.rglob("*.bicep"))
    for name in ("FUNCTIONS_WORKER_RUNTIME", "FUNCTIONS_EXTENSION_VERSION", "WEBSITE_"):
        assert name not in written
    site = properties(APP.of("resource")["app"].body["properties"])
    assert properties(site["siteConfig"]).keys() <= {"minTlsVersion", "cors"}


def test_each_private_endpoint_is_in_the_zone_of_its_service() -> None:
    """Source: Azure Private Link, 'Azure services DNS zone values'."""
    services = properties(MAIN.of("module")["network"].body["params"])["services"]
    listed = [properties(node) for node in walk(services) if node.type == "object"]
    of_azure_ai = "privatelink.cognitiveservices.azure.com"
    assert {value_of(one["name"], {}): zone_of(one["zone"]) for one in listed} == {
        "blob": "privatelink.blob.core.windows.net",
        "queue": "privatelink.queue.core.windows.net",
        "table": "privatelink.table.core.windows.net",
        "openai": "privatelink.openai.azure.com",
        "search": "privatelink.search.windows.net",
        "document-intelligence": of_azure_ai,
        "vision": of_azure_ai,
        "content-safety": of_azure_ai,
    }


def zone_of(node: Node) -> Value:
    """A zone that a service names: itself, or as one of `map(parts, part => zone)`."""
    if node.type != "subscript_expression":
        return value_of(node, {})
    name, place = node.named_children
    mapped = MAIN.of("var")[text(name)].value
    assert mapped is not None
    parts, function = mapped.named_children[1].named_children
    part, zone = function.named_children
    return value_of(zone, {text(part): value_of(parts.named_children[int(text(place))], {})})


def test_there_is_one_zone_for_each_that_private_endpoints_are_in_and_no_other() -> None:
    network = BicepFile(INFRA / "modules" / "network.bicep")
    zones = network.of("var")["zoneNames"].value
    assert zones is not None
    assert text(zones) == "union(map(services, service => service.zone), [])"  # each once
    assert each(network.of("module")["endpoints"], "zoneName") == ("service", "services", "service.zone")
    assert each(network.of("module")["zones"], "name") == ("zone", "zoneNames", "zone")


def each(module: Declaration, parameter: str) -> tuple[str, ...]:
    """Of a module in a loop: what an item is called, of what it is one, and what a parameter is given."""
    loop = module.value
    assert loop is not None
    assert loop.type == "for_statement"
    item, items, _ = loop.named_children
    return text(item), text(items), text(properties(module.body["params"])[parameter])


def test_azd_finds_its_group_and_its_service() -> None:
    services = yaml.safe_load((ROOT / "azure.yaml").read_text())["services"]
    assert {name: one["host"] for name, one in services.items()} == {"api": "function"}
    assert "union(tags, { 'azd-service-name': 'api' })" in text(APP.of("resource")["app"].node)
    assert text(MAIN.of("resource")["group"].body["tags"]) == "tags"
    tags = MAIN.of("var")["tags"].value
    assert tags is not None
    assert properties(tags).keys() == {"azd-env-name"}


def test_azd_is_one_that_reads_what_is_written_for_it() -> None:
    """Source: azd's changelog.

    1.23.4: objects from variables; 1.23.5: `remoteBuild`; 1.23.13: `!` in .funcignore; 1.24.1: `azd down` deletes the
    groups that were made, and not those of existing resources.
    """
    needed = yaml.safe_load((ROOT / "azure.yaml").read_text())["requiredVersions"]["azd"]
    version = tuple(int(part) for part in needed.removeprefix(">= ").split("."))
    assert version >= (1, 24, 1)
    assert ".".join(map(str, version)) in (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")


def test_another_way_to_sign_in_takes_easy_auth_away() -> None:
    """A deployment leaves alone what it does not name."""
    module = MAIN.of("module")["easyAuth"]
    assert text(module.node).startswith("module easyAuth 'modules/easy-auth.bicep' = {")
    assert text(properties(module.body["params"])["enabled"]) == "authMode == 'easy-auth'"
    settings = BicepFile(INFRA / "modules" / "easy-auth.bicep").of("resource")["authentication"].body["properties"]
    assert text(settings).startswith("!enabled\n    ? { platform: { enabled: false } }")


def test_the_queue_and_the_table_are_those_that_the_app_uses() -> None:
    queue = STORAGE.of("var")["queueOfEvents"].value
    assert queue is not None
    assert (
        text(queue).strip("'").replace("${contentContainer}", Settings().content_container) == Settings().events_queue
    )
    assert text(STORAGE.of("resource")["history"].body["name"]).strip("'") == TABLE


def test_the_queue_of_batches_and_its_retention_are_those_that_the_app_uses() -> None:
    batches = STORAGE.of("var")["batches"].value
    assert batches is not None
    assert text(batches).strip("'") == Settings().batch_queue
    rules = text(STORAGE.of("resource")["retention"].node)
    assert RETENTION_SECONDS == 24 * 60 * 60
    assert re.findall(r"prefixMatch: \['(\S+)'\] \}\s+actions: \{ baseBlob: \{ delete: \{ (\w+: \d+)", rules) == [
        ("${batches}/", "daysAfterCreationGreaterThan: 1"),
        ("${queueOfAnswers}/", "daysAfterCreationGreaterThan: 7"),
    ]


def test_containers_are_named_as_the_app_names_them() -> None:
    container = MAIN.of("param")["contentContainer"].value
    assert container is not None
    assert text(container).strip("'") == Settings().content_container
    assert "'${contentContainer}-pages'" in text(STORAGE.of("resource")["containers"].node)


def test_only_documents_are_told_of() -> None:
    """Not page images, which ingestion itself writes: it would never end."""
    events = text(BicepFile(INFRA / "modules" / "event-grid.bicep").of("resource")["documentEvents"].node)
    assert "subjectBeginsWith: '/blobServices/default/containers/${contentContainer}/blobs/'" in events
    assert "['Microsoft.Storage.BlobCreated', 'Microsoft.Storage.BlobDeleted']" in events


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
    validation = text(BicepFile(INFRA / "modules" / "easy-auth.bicep").of("resource")["authentication"].node)
    assert "defaultAuthorizationPolicy: { allowedApplications: allowedApplications }" in validation
    allowed = MAIN.of("var")["allowedApplications"].value
    assert allowed is not None
    assert text(allowed).startswith("empty(authAllowedApplications) ? [authClientId]")


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
