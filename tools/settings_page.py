"""Write `docs/settings.md` from the descriptions in `shared/settings.py`, or with `--check` tell whether it is so."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo
from setup import ROOT

sys.path.insert(0, str(ROOT))
from shared.settings import Settings, variable
from shared.wire.table import NAMES

PAGE = ROOT / "docs" / "settings.md"

HEAD = """\
# Settings

<!-- Made of shared/settings.py by `make docs`: change it there. -->

All are environment variables, and none has to be set; an empty one counts as left out. On a laptop they can be in
`Values` of `local.settings.json` too (copy `local.settings.sample.json`), and the environment wins. In Azure they are
application settings of the Function App; [deploy.md](deploy.md) sets them. Times are in seconds.

Where a service of Azure has no key here, the app signs in with its managed identity (with `AZURE_CLIENT_ID`, which is
`azure-identity`'s own, the user-assigned one of that id), or on a laptop as who did `az login`. The
[roles](deploy.md#who-may-do-what) are the same.

The app reads them once. What is wrong with them, and a service that is configured by half, is said by `make run`, in
`GET /api/health` and to callers.
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
    "rai_mode": ("Safety checks", "[safety.md](safety.md) says what is checked, and what comes of it."),
    "azure_search_endpoint": ("Search", "[search.md](search.md) says what is asked of the service."),
    "azure_vision_endpoint": ("Documents", "[documents.md](documents.md) says where they are and how they get in."),
    "auth_mode": ("Who is calling", "[security.md](security.md) says whom the app believes."),
    "telemetry_content": ("Telemetry", "[observability.md](observability.md) says what is sent."),
    "history_backend": ("What is kept", ""),
}
"""The first setting of each section, its heading, and a sentence above the table."""

CHOICES = {"chat_default_protocol": list(NAMES)}
"""What settings accept that have no `Literal`: what is in a table elsewhere."""

FOOT = """\

## Only on a laptop

These are for `make run`, not for the app.

| variable | default | what it says |
|---|---|---|
| `PORT` | `7071` | where to listen, as `Host.LocalHttpPort` of `local.settings.json` does; 0: any free port |
| `HOST` | | `func`: in Azure Functions Core Tools, if they are installed |
| `RAI_REFERENCE_POLICY` | `samples/rai-policy.yaml` | the policy file of the stand-in for the RAI service |
| `RAI_REFERENCE_FAULTS` | | [what goes wrong](safety.md#faults-on-demand) in that stand-in |
"""


def main() -> None:
    """Write the page, or check it."""
    page = "".join(_page())
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(page, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page:
        sys.exit("docs/settings.md is not what shared/settings.py says: run 'make docs'.")


def _page() -> Iterator[str]:
    yield HEAD
    for name, field in Settings.model_fields.items():
        if name in SECTIONS:
            heading, above = SECTIONS[name]
            yield f"\n## {heading}\n\n{above}{'\n\n' if above else ''}"
            yield "| setting | default | what it says |\n|---|---|---|\n"
        default = _as_set(field.default)
        yield f"| `{variable(name)}` | {f'`{default}` ' if default else ''}| {_description(name, field)} |\n"
    yield FOOT


def _description(name: str, field: FieldInfo) -> str:
    """The description of a setting, with the values that it accepts where that is a choice or a range."""
    description = (field.description or "").removesuffix(".")
    accepted = [f"`{choice}`" for choice in CHOICES.get(name) or _choices(field.annotation)]
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
                pass  # patterns are told by the description's example
    return f"{description}. {', '.join(limits).capitalize()}." if limits else f"{description}."


def _choices(annotation: Any) -> list[str]:  # noqa: ANN401 (what a field is annotated with)
    """The strings of a `Literal`, optional or not."""
    inner = [part for part in get_args(annotation) if part is not type(None)]
    if all(isinstance(part, str) for part in inner):
        return inner
    return _choices(inner[0]) if len(inner) == 1 else []


def _as_set(default: object) -> str:
    """A default as somebody would set it; empty where there is none."""
    match default:
        case bool():
            return str(default).lower()
        case str() | int() | float() | Path():
            return str(default)
        case _:
            return ""


if __name__ == "__main__":
    main()
