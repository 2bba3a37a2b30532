"""`docs/deploy.md` tells of every choice and every role, as the Bicep files have them."""

import json
import re

from tests.infra.deployed import MAIN
from tools.bicep import INFRA, BicepFile, properties, text, walk

PAGE = (INFRA.parent / "docs" / "deploy.md").read_text(encoding="utf-8")
PARAMETERS = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]
WHO = {"appPrincipalId": "the app", "deployerPrincipalId": "who deploys", "vectorizerPrincipalId": "the search service"}
ON = {
    "onStorage": "storage",
    "onContentStorage": "an existing storage of documents",
    "onInsights": "Application Insights",
    "onOpenAi": "Azure OpenAI",
    "onSearch": "AI Search",
    "onIngestionServices": "Document Intelligence, AI Vision",
    "onContentSafety": "Content Safety",
}


def rows(columns: int, first: str) -> list[str]:
    """The rows of the page's tables with so many columns whose first cell is like this."""
    return re.findall(rf"^\| {first} \|(?:[^|\n]*\|){{{columns - 1}}}$", PAGE, re.MULTILINE)


def test_every_choice_is_in_the_table_with_its_default() -> None:
    told = {row.split(" | ")[0].strip("| `"): row for row in rows(3, r"`DEPLOY_\w+`")}
    names = {name: one["value"].strip("${}") for name, one in PARAMETERS.items()}
    assert set(told) == {variable for variable in names.values() if variable.startswith("DEPLOY_")}
    for name, one in MAIN.of("param").items():
        if names[name] in told:
            default = text(one.value).strip("'{}") if one.value else ""
            says = next(line for line in one.decorators if line.startswith("description("))[len("description('") : -2]
            cells = [names[name].join("``"), default and default.join("``"), says]
            assert told[names[name]].split() == f"| {' | '.join(cells)} |".split()


def test_every_role_is_in_the_table_with_its_reason() -> None:
    reason = "Event Grid writes what happens in the container into the queue."
    assigned = {f"| Event Grid | Storage Queue Data Message Sender | the queue of events | {reason} |"}
    for name, module in BicepFile(INFRA / "modules" / "roles.bicep").of("module").items():
        for given in (properties(node) for node in walk(module.node) if node.type == "object"):
            if "why" in given:
                role = text(given["role"]).removeprefix("roleIds").strip(".[]'")
                cells = (WHO[text(given["principalId"])], role, ON[name], text(given["why"]).strip("'"))
                assigned.add(f"| {' | '.join(cells)} |")
    assert set(rows(4, f"(?:{'|'.join([*WHO.values(), 'Event Grid'])})")) == assigned


def test_every_variable_that_the_page_names_is_one() -> None:
    known = {one["value"].strip("${}") for one in PARAMETERS.values()}
    assert set(re.findall(r"DEPLOY_[A-Z_]*[A-Z]", PAGE)) <= known


def test_every_output_that_the_page_reads_is_one() -> None:
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", PAGE))
    assert read == {"SWITCHBOARD_URL", "AZURE_RESOURCE_GROUP"}
    assert read <= MAIN.of("output").keys()
