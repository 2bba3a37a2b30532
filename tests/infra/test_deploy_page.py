"""`docs/deploy.md` lists every choice and every role, as the Bicep files have them."""

import json
import re

from tests.infra.compiler import INFRA
from tests.infra.deployed import main_parameters, outputs, roles
from tests.infra.test_no_keys import ROLES
from tests.infra.ways import WAYS

PAGE = (INFRA.parent / "docs" / "deploy.md").read_text(encoding="utf-8")
PARAMETERS = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]
WHO = {
    "id-TOKEN": "the app",
    "44444444-4444-4444-4444-444444444444": "who deploys",
    "srch-TOKEN": "the search service",
    "their-search": "the search service",
    "evgt-TOKEN": "Event Grid",
    "storage-antimalware": "Event Grid",
}
ON = {
    "stTOKEN": "storage",
    "content": "the container of documents",
    "content-pages": "the container of page images",
    "content-events": "the queue of events",
    "theirdocuments": "an existing storage of documents",
    "appi-TOKEN": "Application Insights",
    "oai-TOKEN": "Azure OpenAI",
    "their-models": "Azure OpenAI",
    "srch-TOKEN": "AI Search",
    "their-search": "AI Search",
    "di-TOKEN": "Document Intelligence, AI Vision",
    "cv-TOKEN": "Document Intelligence, AI Vision",
    "cs-TOKEN": "Content Safety",
}


def lines(begin: str) -> list[str]:
    """The points of the page's lists that begin like this, each on one line."""
    return [" ".join(found.split()) for found in re.findall(rf"^- ({begin}.*(?:\n  .*)*)", PAGE, re.MULTILINE)]


def test_every_choice_is_in_the_list_with_its_default() -> None:
    listed = {line.split("`")[1]: line for line in lines(r"`DEPLOY_\w+`")}
    names = {name: one["value"].strip("${}") for name, one in PARAMETERS.items()}
    assert set(listed) == {variable for variable in names.values() if variable.startswith("DEPLOY_")}
    for name, one in main_parameters().items():
        if names.get(name) in listed:
            default = (one.default or "").strip("{}")
            shown = f" (`{default}`)" if default else ""
            assert listed[names[name]] == f"`{names[name]}`{shown}: {' '.join(one.description.split())}"


def test_every_role_is_in_the_list_with_its_reason() -> None:
    assigned = {
        f"{WHO[who]}: {ROLES[role]} on {ON[what]}. {why}" for way in WAYS for who, role, what, why in roles(way)
    }
    assert set(lines(f"(?:{'|'.join(set(WHO.values()))}): ")) == assigned


def test_every_variable_that_the_page_names_is_one() -> None:
    known = {one["value"].strip("${}") for one in PARAMETERS.values()}
    assert set(re.findall(r"DEPLOY_[A-Z_]*[A-Z]", PAGE)) <= known


def test_every_output_that_the_page_reads_is_one() -> None:
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", PAGE))
    assert read == {"SWITCHBOARD_URL", "AZURE_RESOURCE_GROUP"}
    assert read <= outputs("bearer").keys()
