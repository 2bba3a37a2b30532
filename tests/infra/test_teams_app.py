"""The package for Teams: valid by Microsoft's schema of manifests, with the bot that is registered."""

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import jsonschema_rs
import pytest
from PIL import Image

from tests.infra.compiler import INFRA
from tests.infra.deployed import app_settings, of_type, outputs

ROOT = INFRA.parent
SCHEMAS = ROOT / "tests/clients/node_modules/@microsoft/app-manifest/build/json-schemas/teams"
BOT = "33333333-3333-3333-3333-333333333333"
CLIENT = "44444444-4444-4444-4444-444444444444"


def made(folder: Path, *command: str | Path, **environment: str) -> tuple[int, str, ZipFile | None]:
    """Run a command that makes a package in a folder; return its exit code, what it printed, and the package."""
    done = subprocess.run(
        command, cwd=folder, env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True, check=False
    )
    file = folder / "teams-app.zip"
    return done.returncode, done.stdout + done.stderr, ZipFile(file) if file.exists() else None


def by_tool(folder: Path, **values: str) -> tuple[int, str, ZipFile | None]:
    arguments = [part for name, value in values.items() for part in (f"--{name}", value)]
    return made(folder, sys.executable, ROOT / "tools" / "teams_app.py", *arguments)


def read(package: ZipFile | None) -> dict[str, Any]:
    assert package
    return json.loads(package.read("manifest.json"))


@pytest.mark.usefixtures("npm_clients")
@pytest.mark.parametrize(
    ("client", "application"), [("", None), (CLIENT, {"id": CLIENT, "resource": f"api://botid-{BOT}"})]
)
def test_the_manifest_is_valid_by_its_own_schema(tmp_path: Path, client: str, application: Any) -> None:
    code, _, package = by_tool(
        tmp_path,
        bot=BOT,
        website="https://contoso.com",
        name="Contoso „chat“",
        organisation="Contoso {bot}",
        client=client,
    )
    manifest = read(package)
    schema = json.loads((SCHEMAS / f"v{manifest['manifestVersion']}" / "MicrosoftTeams.schema.json").read_text())
    assert code == 0
    assert [one.message for one in jsonschema_rs.validator_for(schema).iter_errors(manifest)] == []
    assert manifest["$schema"].endswith(f"/v{manifest['manifestVersion']}/MicrosoftTeams.schema.json")
    (agent,), (bot,) = manifest["copilotAgents"]["customEngineAgents"], manifest["bots"]
    assert {manifest["id"], agent["id"], bot["botId"]} == {BOT}
    assert manifest.get("webApplicationInfo") == application
    assert (manifest["name"]["short"], manifest["developer"]["name"]) == ("Contoso „chat“", "Contoso {bot}")


def test_its_icons_have_the_sizes_that_teams_wants_and_the_outline_one_colour(tmp_path: Path) -> None:
    package = by_tool(tmp_path, bot=BOT, website="https://contoso.com")[2]
    assert package
    color, outline = (Image.open(BytesIO(package.read(f"{name}.png"))).convert("RGBA") for name in ("color", "outline"))
    assert (color.size, outline.size) == ((192, 192), (32, 32))
    assert {pixel[3] for pixel in _pixels(color)} == {255}
    assert {pixel[:3] for pixel in _pixels(outline) if pixel[3]} == {(255, 255, 255)}


def _pixels(image: Image.Image) -> list[tuple[int, ...]]:
    data = image.tobytes()
    return [tuple(data[at : at + 4]) for at in range(0, len(data), 4)]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"bot": "my-bot"}, "Bot and client are named by client ids"),
        ({"client": "x"}, "Bot and client are named by client ids"),
        ({"website": "http://contoso.com"}, "begins with https://"),
        ({"website": "https://"}, "begins with https://"),
        ({"name": "x" * 31}, "The name has more than 30 characters"),
        ({"organisation": "x" * 33}, "The organisation has more than 32 characters"),
    ],
)
def test_what_teams_would_refuse_is_said_before(tmp_path: Path, values: dict[str, str], said: str) -> None:
    code, printed, package = by_tool(tmp_path, **{"bot": BOT, "website": "https://contoso.com", **values})
    assert (code, said in printed, package) == (1, True, None)


def test_azd_makes_it_where_a_bot_is_registered(tmp_path: Path) -> None:
    hook = INFRA / "hooks" / "teams-app.sh"
    url = "https://func-1.azurewebsites.net/api"
    none, bot = (outputs(way)["SWITCHBOARD_BOT"] for way in ("bearer", "bot"))
    assert made(tmp_path, hook, SWITCHBOARD_URL=url, SWITCHBOARD_BOT=none) == (0, "", None)
    client = outputs("bot")["SWITCHBOARD_BOT_CLIENT"]
    environment = {"SWITCHBOARD_URL": url, "SWITCHBOARD_BOT": bot, "DEPLOY_BOT_NAME": "Contoso chat"}
    code, printed, package = made(tmp_path, hook, **environment, SWITCHBOARD_BOT_CLIENT=client)
    manifest = read(package)
    assert manifest["webApplicationInfo"] == {"id": client, "resource": f"api://botid-{bot}"}
    assert (code, "teams-app.zip: Contoso chat" in printed) == (0, True)
    assert manifest["developer"] == {
        "name": "Contoso chat",
        **dict.fromkeys(("websiteUrl", "privacyUrl", "termsOfUseUrl"), "https://func-1.azurewebsites.net"),
    }
    assert "infra/hooks/teams-app.sh" in (ROOT / "azure.yaml").read_text()


def test_the_registered_bot_is_the_one_that_the_app_answers_for() -> None:
    (bot,) = of_type("bot", "Microsoft.BotService/botServices").values()
    settings, said = app_settings("bot"), bot["properties"]
    assert said["endpoint"].startswith("[format('{0}/api/messages', ")
    assert settings["BOT_ID"] == outputs("bot")["SWITCHBOARD_BOT"]
    assert settings["BOT_TENANT_ID"] == said["msaAppTenantId"]
    assert (said["msaAppType"], said["disableLocalAuth"]) == ("UserAssignedMSI", True)
    channels = of_type("bot", "Microsoft.BotService/botServices/channels")
    assert {name.rpartition("/")[2] for name in channels} == {"MsTeamsChannel", "M365Extensions"}
    assert not of_type("bearer", "Microsoft.BotService/botServices")
    assert settings["AUTH_CLIENT_ID"] == outputs("bot")["SWITCHBOARD_BOT_CLIENT"]
    assert {app_settings("bearer").get(name, "") for name in ("BOT_ID", "BOT_SSO_RESOURCE")} == {""}
