"""Imports point one way, and a cold start pays only for what every request needs."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import files
from pathlib import Path

import pytest

from bench.processes import DEPLOYED
from shared.wire import table

ROOT = Path(__file__).parent.parent
SHARED = ROOT / "shared"

SDKS = {
    "apsw",
    "azure",
    "pypdfium2",
    "PIL",
    "mammoth",
    "markdownify",
    "olefile",
    "compressed_rtf",
    "pptx",
    "python_calamine",
    "striprtf",
    "aiohttp",
    "jwt",
}
WEB = {"fastapi", "starlette", "azurefunctions", "uvicorn"}
PLUG_INS = {
    "shared.runs.blob_objects",
    "shared.runs.folder_objects",
    "shared.runs.queue_engine",
    "shared.budgets.model",
    "shared.budgets.shared_counts",
    "shared.chat_models.extractive.model",
    "shared.chat_models.openai_chat",
    "shared.documents.blob_store",
    "shared.documents.file_store",
    "shared.guard.content_safety.service",
    "shared.guard.rai.client",
    "shared.history.azure_table_history",
    "shared.history.sqlite_history",
    "shared.identity.api_keys",
    "shared.identity.bearer",
    "shared.identity.easy_auth",
    "shared.retrieval.azure_search.retriever",
    "shared.reading.document_intelligence",
    "shared.retrieval.azure_search.index",
    "shared.retrieval.embedders.openai_compatible",
    "shared.retrieval.sqlite.index",
    "shared.retrieval.sqlite.retriever",
    "shared.telemetry.otel",
    "shared.tools.tool_servers",
    "shared.retrieval.embedders.azure_vision",
    "shared.verdicts.azure_table_verdicts",
    "shared.verdicts.sqlite_verdicts",
}
LATE = {
    *SDKS - {"azure"},
    "azure.ai",
    "azure.data",
    "azure.identity",
    "azure.search",
    "cryptography",
    "azure.storage",
    "google.protobuf",
    "grpc",
    "opentelemetry.exporter",
    "opentelemetry.sdk",
    "agent_framework",
    "agent_framework_orchestrations",
    "bs4",
    "lxml",
    "chardet",
    "semantic_text_splitter",
    "shared.description.openapi",
    "shared.description.swagger",
    "shared.identity.bot_tokens",
    "shared.outbound.bot_connector",
    "shared.triggers.activity_files",
    "shared.triggers.activity_messages",
    "shared.triggers.mcp_messages",
    "shared.wire.activity",
    "shared.wire.activity_markdown",
    "shared.wire.activity_reply",
    "shared.wire.mcp",
    "shared.wire.mcp_tools",
    "shared.agents.framework",
    "shared.runs.answer_queue",
    "shared.runs.claim",
    "shared.runs.delivery",
    "shared.runs.direct_line",
    "shared.runs.registry",
    "shared.runs.following",
    "shared.runs.journal",
    "shared.runs.live",
    "shared.runs.running",
    "shared.guard.stream_guard",
    "shared.ingestion",
    "shared.reading",
    "shared.tools.mcp_client",
    "shared.tools.servers",
    "shared.tools.tool_servers",
    "shared.wire.ag_ui",
    "shared.wire.ag_ui_body",
    "shared.wire.ai_sdk",
    "shared.wire.ai_sdk_body",
    "shared.wire.azure_openai",
    "shared.wire.openai",
    "shared.wire.openai_request",
    "shared.wire.openai_body",
    "shared.wire.openai_parts",
    "shared.wire.openai_responses",
    "shared.wire.openai_responses_body",
    "shared.wire.parts_encoder",
    "Stemmer",
    "shared.runtime.core_yaml",
    "yaml",
}


_IMPORT = re.compile(r'^(?:import|export)\b[^;"]*"(\.[^"]+)";', re.MULTILINE)
"""An import of JavaScript that is done before the script itself; its path is group 1."""


@cache
def imports_of(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


ORDER = """
triggers
app
parts
web
runs
turns
service
description
playground
wire
agents
tools
telemetry
budgets
audit
core
ingestion
guard
reading
chat_models
retrieval
words
documents
verdicts
history
identity
outbound
settings
runtime
events
errors
citations
chat_types
"""
"""The packages of `shared`, from the top down: each imports only from lines below its own, and within its own."""


@cache
def shared_imports() -> dict[str, set[str]]:
    """The modules of `shared` that each of them imports, at the top or late."""
    files = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in modules(".")
    }
    found: dict[str, set[str]] = {}
    for name, file in files.items():
        imported = set[str]()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                of = [f"{node.module}.{alias.name}" for alias in node.names]
                imported |= {module if module in files else node.module for module in of}
        found[name] = imported & files.keys() - {name}
    return found


def test_packages_import_only_what_stands_below_them() -> None:
    floor = {package: number for number, line in enumerate(ORDER.splitlines()) for package in line.split()}
    imports = {name: of for name, of in shared_imports().items() if name != "shared"}
    assert {name.split(".")[1] for name in imports} == floor.keys()
    upwards = {
        (name, module)
        for name, of in imports.items()
        for module in of
        if name.split(".")[1] != module.split(".")[1] and floor[name.split(".")[1]] >= floor[module.split(".")[1]]
    }
    assert upwards == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    TopologicalSorter(shared_imports()).prepare()


def test_no_scripts_of_the_page_import_each_other_in_a_circle() -> None:
    static = SHARED / "playground" / "static"
    imports = {
        file: {(file.parent / name).resolve() for name in re.findall(_IMPORT, file.read_text(encoding="utf-8"))}
        for file in static.rglob("*.js")
        if "vendor" not in file.parts
    }
    assert any(imports.values())
    TopologicalSorter(imports).prepare()


def modules(folder: str) -> list[Path]:
    return sorted((SHARED / folder).rglob("*.py"))


def tops(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("file", [*modules("core"), *modules("wire")], ids=str)
def test_the_core_and_the_wire_know_no_sdk_and_no_plug_in(file: Path) -> None:
    assert not tops(imports_of(file)) & (SDKS | WEB)
    assert not imports_of(file) & PLUG_INS


@pytest.mark.parametrize("name", ["events.py", "chat_types.py", "errors.py"])
def test_types_know_only_types(name: str) -> None:
    own = {found for found in imports_of(SHARED / name) if found.startswith("shared")}
    assert own <= {"shared.chat_types", "shared.errors"}


def test_two_packages_know_the_web_and_none_knows_azure_functions() -> None:
    knowing = {file for file in modules(".") if tops(imports_of(file)) & WEB}
    assert {file.parent.name for file in knowing} == {"triggers", "web"}
    assert not [file for file in modules(".") if any(name.startswith("azure.functions") for name in imports_of(file))]


def test_one_package_knows_the_agents_framework() -> None:
    knowing = {file for file in modules(".") if tops(imports_of(file)) & {"agent_framework"}}
    assert {file.parent.name for file in knowing} == {"agents"}
    early = {SHARED / "agents" / name for name in ("__init__.py", "definitions.py", "turns.py")}
    assert not knowing & early


def test_only_traces_know_opentelemetry_and_where_the_agents_framework_is_kept_from_it() -> None:
    knowing = {file for file in modules(".") if tops(imports_of(file)) & {"opentelemetry"}}
    assert {file.parent.name for file in knowing - {SHARED / "agents" / "chat_client.py"}} == {"telemetry"}
    assert SHARED / "telemetry" / "__init__.py" not in knowing


def test_one_module_knows_protobuf() -> None:
    knowing = {file.name for file in modules(".") if any(name.startswith("google.") for name in imports_of(file))}
    naming = {file.name for file in modules(".") if "rai_pb2" in file.read_text()}
    assert knowing | naming == {"rai_pb2.py", "wire.py"}


def test_one_module_names_the_plug_ins() -> None:
    namers = {file.relative_to(SHARED).as_posix() for file in modules(".") if imports_of(file) & PLUG_INS}
    assert namers == {"parts.py"}


def test_the_protocols_that_only_a_route_selects_are_imported_late() -> None:
    assert {path.rpartition(".")[0] for path in table.LATE.values()} <= LATE


EARLY = {"msgspec", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
"""Everything else that is imported with the app comes with Azure Functions and the streaming extension."""

IMPORT_ALONE = """
import sys
def forbid(event, args):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise RuntimeError(event)
sys.addaudithook(forbid)
import azure.functions, shared.web.http_extension
platform = set(sys.modules)
import function_app
print(*sys.modules)
print(*sys.modules.keys() - platform)
print(*(name for name, module in sys.modules.items() if name.startswith("shared") and hasattr(module, "dataclass")))
"""


def test_importing_the_app_needs_no_environment_no_network_and_nothing_that_can_wait() -> None:
    command = [DEPLOYED, "-W", "error", "-c", IMPORT_ALONE]
    done = subprocess.run(command, cwd=ROOT, env={}, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    loaded, ours, with_dataclasses = (set(line.split()) for line in done.stdout.splitlines())
    assert "shared.triggers" in loaded
    assert not loaded & LATE
    standard = {*sys.stdlib_module_names, *(name for name in ours if name.startswith("_sysconfigdata_"))}
    assert tops(ours) - standard == {"function_app", "shared", *EARLY}
    assert not with_dataclasses, "a start makes a msgspec.Struct in a fortieth of the time"


NOT_IMPORTED = {
    "httptools": "uvicorn parses requests with it where it is installed",
    "lxml": "parses for Beautiful Soup, which is given its name",
    "sqlite-vec": "SQLite loads its library; its Python package is not imported",
}


def test_what_is_deployed_is_imported_or_needed_for_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {re.split(r"[^\w.-]", line)[0] for line in project["dependencies"]}
    imported = {name for file in [ROOT / "function_app.py", *modules(".")] for name in imports_of(file)}
    assert {name for name in wanted if not modules_of(name) & imported} == NOT_IMPORTED.keys()


def modules_of(distribution: str) -> set[str]:
    """The names under which a package's modules are imported, those of compiled ones too."""
    code = [file for file in files(distribution) or () if file.suffix in {".py", ".so"}]
    return {".".join([*file.parts[:-1], file.name.partition(".")[0]]).removesuffix(".__init__") for file in code}
