"""Write the parts of the documentation that derive from code, or with `--check` fail if they are not up to date.

`docs/settings.md` is made from the fields of `shared/settings/fields.py` and the texts below them. The tables of
protocols in `README.md` and `docs/protocols.md` are made from `shared/wire/table.py`; `samples/requests.http` gets
requests for new protocols. The documents that the app serves of itself are made from what each route says of itself.
What it costs and what so many people need (`docs/deploy.md`, `docs/scale.md`) is calculated from measured figures.
"""

import ast
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo
from setup import ROOT

sys.path.insert(0, str(ROOT))
from bench import scale
from function_app import ROUTES
from shared.settings.fields import PlatformFields, SettingsFields, variable
from shared.wire.protocol import Protocol
from shared.wire.table import NAMES, PROTOCOLS
from tools import cost
from tools.description.openapi import build_openapi
from tools.description.protocols import SHAPES
from tools.description.swagger import to_swagger

PAGE = ROOT / "docs" / "settings.md"
DESCRIPTION = ROOT / "shared" / "description"

TABLE_BEGINS = "<!-- Made of shared/wire/table.py by `make docs`. -->\n"
TABLE_ENDS = "<!-- End of the table. -->\n"
COSTS_BEGIN = "<!-- Made of tools/cost.py by `make docs`. -->\n"
PEOPLE_BEGIN = "<!-- Made of infra/people.json by `make docs`. -->\n"

HEAD = """\
# Settings

<!-- Made of shared/settings/fields.py by `make docs`: change it there. -->

All are environment variables, and none has to be set; an empty one counts as left out. On a laptop they can be in
`Values` of `local.settings.json` too (copy `local.settings.sample.json`), and the environment wins. In Azure they are
application settings of the Function App; [deploy.md](deploy.md) sets them. Times are in seconds.

Where an Azure service has no key here, the app signs in with its managed identity (`AZURE_CLIENT_ID` selects a
user-assigned one), on a laptop with the account of `az login`. Both need the same [roles](deploy.md#who-may-do-what).

The app reads them once. `make run`, `GET /api/health` and callers get an error that names what is wrong or missing.
Defaults are in brackets.
"""

SECTIONS = {
    "openai_base_url": (
        "The model",
        "One of two services. With neither, answers are [extractive](../README.md#a-question-and-its-answer).",
    ),
    "chat_default_protocol": (
        "Chat",
        "[protocols.md](protocols.md#which-protocol-a-request-speaks) says which protocol a request speaks.",
    ),
    "chat_agent": ("Agents", "[agents.md](agents.md) says what agents do."),
    "rai_mode": ("Safety checks", "[safety.md](safety.md) says what is checked, and what happens then."),
    "azure_search_endpoint": ("Search", "[search.md](search.md) describes the requests to the service."),
    "azure_vision_endpoint": (
        "Documents",
        "[documents.md](documents.md) says where they are stored and how they are indexed.",
    ),
    "auth_mode": ("Who is calling", "[security.md](security.md) describes sign-in and access."),
    "limit_caller_requests_per_minute": (
        "Budgets",
        "[security.md](security.md#what-callers-may-use) says who a caller is, and what is counted.",
    ),
    "telemetry_content": ("Telemetry", "[observability.md](observability.md) says what is sent."),
    "history_backend": ("Storage", ""),
    "azure_web_jobs_storage_blobs": (
        "Variables of the platform",
        "Azure Functions has named these, and reads or sets them itself; the app goes by them too.",
    ),
}
"""The first setting of each section, its heading, and a sentence above the table."""

CHOICES = {"chat_default_protocol": list(NAMES)}
"""Accepted values of settings whose values come from a table in the code instead of a `Literal`."""

FOOT = """\

## Only on a laptop

These are for `make run`, not for the app.

- `PORT` (`7071`): where to listen, as `Host.LocalHttpPort` of `local.settings.json` does; 0: any free port.
- `HOST`: `func` hosts the app in Azure Functions Core Tools, if they are installed.
- `RAI_REFERENCE_POLICY` (`samples/rai-policy.yaml`): the policy file of the stand-in for the RAI service.
- `RAI_REFERENCE_FAULTS`: [what goes wrong](safety.md#faults-on-demand) in that stand-in.
"""


def main() -> None:
    """Write the files, or check them."""
    check = sys.argv[1:] == ["--check"]
    for path, text in _files():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.relative_to(ROOT)} is not up to date with the code: run 'make docs'.")


def _files() -> Iterator[tuple[Path, str]]:
    yield PAGE, "".join(_page())
    protocols = PROTOCOLS.values()
    shaped = [(each, SHAPES[each.name]) for each in protocols]
    yield _with_table(ROOT / "README.md", ["protocol", "for"], [[_names(each), one.used_by] for each, one in shaped])
    yield _with_table(
        ROOT / "docs" / "protocols.md",
        ["name", "one answer", "stream"],
        [[_names(each), one.answers_with, one.streams] for each, one in shaped],
    )
    yield _with_requests(ROOT / "samples" / "requests.http")
    deploy = ROOT / "docs" / "deploy.md"
    page = _between(deploy.read_text("utf-8"), COSTS_BEGIN, TABLE_ENDS, f"{cost.counted()}\n\n{cost.table()}\n")
    yield deploy, _between(page, PEOPLE_BEGIN, TABLE_ENDS, f"{cost.crowds()}\n")
    yield scale.PAGE, _between(scale.PAGE.read_text("utf-8"), scale.BEGIN, scale.END, scale.tables())
    openapi = build_openapi(ROUTES)
    for name, document in (("openapi", openapi), ("swagger", to_swagger(openapi))):
        yield DESCRIPTION / f"{name}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _with_requests(path: Path) -> tuple[Path, str]:
    """Add two sample requests for each protocol that has none. They can be edited afterwards."""
    text = path.read_text(encoding="utf-8")
    for name, protocol in PROTOCOLS.items():
        if f"/{name}/chat" not in text:
            body = json.dumps(protocol.example)
            for title, route in (("one answer", "chat"), ("streamed", "chat/stream")):
                head = f"### {name}: {title}\nPOST {{{{host}}}}/{name}/{route}\nContent-Type: application/json"
                text += f"\n{head}\n\n{body}\n"
    return path, text


def _with_table(path: Path, header: list[str], rows: list[list[str]]) -> tuple[Path, str]:
    """Replace the table of protocols in a page, between two comments."""
    lines = [header, ["---"] * len(header), *rows]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return path, _between(path.read_text(encoding="utf-8"), TABLE_BEGINS, TABLE_ENDS, table)


def _between(page: str, begins: str, ends: str, text: str) -> str:
    """Return a page with a text between two comments."""
    before, _, rest = page.partition(begins)
    _, end, after = rest.partition(ends)
    if not end:
        sys.exit(f"A page has no place for what is made of the code: {begins.strip()}")
    return f"{before}{begins}{text}{end}{after}"


def _names(protocol: Protocol) -> str:
    return ", alias ".join(f"`{name}`" for name in (protocol.name, *protocol.aliases))


def _page() -> Iterator[str]:
    yield HEAD
    texts = _texts()
    for name, field in (SettingsFields.model_fields | PlatformFields.model_fields).items():
        if name in SECTIONS:
            heading, above = SECTIONS[name]
            yield f"\n## {heading}\n\n{above}{'\n\n' if above else ''}"
        default = _as_set(field.default)
        meaning = _description(name, field, texts[name])
        yield f"- `{variable(name)}`{f' (`{default}`)' if default else ''}: {meaning}\n"
    yield FOOT


def _texts() -> dict[str, str]:
    """Return the text below each setting. Read from the file: pydantic could read it too, at every start of the app."""
    tree = ast.parse((ROOT / "shared" / "settings" / "fields.py").read_text("utf-8"))
    texts: dict[str, str] = {}
    for kind in tree.body:
        for field, below in pairwise(kind.body if isinstance(kind, ast.ClassDef) else ()):
            match field, below:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    texts[name] = " ".join(text.split())
                case _:
                    pass  # a field without a text; `_page` fails at such a setting
    return texts


def _description(name: str, field: FieldInfo, text: str) -> str:
    """Return the text of a setting, with its accepted values if they are a choice or a range and not in the text."""
    description = text.removesuffix(".")
    accepted = [f"`{choice}`" for choice in CHOICES.get(name) or _choices(field.annotation)]
    if all(choice in description for choice in accepted) and accepted:
        return f"{description}."
    if accepted:
        return f"{description}. One of {', '.join(accepted)}."
    limits: list[str] = []
    for limit in field.metadata:
        match limit:
            case Gt():
                limits.append(f"over {limit.gt}")
            case Ge():
                limits.append(f"at least {limit.ge}")
            case Le():
                limits.append(f"at most {limit.le}")
            case _:
                pass  # a pattern is explained by the example in the description
    return f"{description}. {', '.join(limits).capitalize()}." if limits else f"{description}."


def _choices(annotation: Any) -> list[str]:  # noqa: ANN401 (what a field is annotated with)
    """Return the strings of a `Literal`, which may be optional."""
    inner = [part for part in get_args(annotation) if part is not type(None)]
    if all(isinstance(part, str) for part in inner):
        return inner
    return _choices(inner[0]) if len(inner) == 1 else []


def _as_set(default: object) -> str:
    """Write a default as in an environment variable; empty if there is none."""
    match default:
        case bool():
            return str(default).lower()
        case str() | int() | float() | Path():
            return str(default)
        case _:
            return ""


if __name__ == "__main__":
    main()
