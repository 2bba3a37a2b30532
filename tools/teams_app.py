"""Make the package that people install in Teams and Microsoft 365 Copilot: a ZIP file of a manifest and two icons.

    python3 tools/teams_app.py --bot CLIENT-ID --website https://contoso.com --name "Contoso chat" --out teams-app.zip

The files are those of `infra/teams/`: change texts and icons there. Each package has a higher version than the one
before, so that Teams takes it for an update. Runs with Python's own library alone.
"""

import argparse
import json
import re
import sys
import time
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

FOLDER = Path(__file__).resolve().parent.parent / "infra" / "teams"
LONGEST = {"name": 30, "organisation": 32}
"""Characters that Teams takes."""
_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def main() -> None:
    """Write the package."""
    parser = argparse.ArgumentParser(description="Makes the package of the app for Teams.")
    parser.add_argument("--bot", required=True, help="client id of the bot, as BOT_ID")
    parser.add_argument("--website", required=True, help="page of the organisation, https://…")
    parser.add_argument("--name", default="", help="what people see the app called")
    parser.add_argument("--organisation", default="", help="who publishes it; as the name")
    parser.add_argument("--client", default="", help="client id that people sign in to, as AUTH_CLIENT_ID")
    parser.add_argument("--resource", default="", help="its Application ID URI, as BOT_SSO_RESOURCE")
    parser.add_argument("--out", type=Path, default=Path("teams-app.zip"), help="the file to write")
    given = parser.parse_args()
    name = given.name or "Switchboard"
    values = {
        "bot": given.bot.lower(),
        "website": given.website,
        "name": name,
        "organisation": given.organisation or name,
        "client": given.client.lower(),
        "resource": given.resource or f"api://botid-{given.bot.lower()}",
        "version": f"1.{int(time.time() // 86_400)}.{int(time.time() % 86_400)}",
    }
    problems = wrong(values)
    if problems:
        sys.exit("\n".join(problems))
    write(values, given.out)
    print(f"{given.out}: {name} {values['version']}. docs/teams.md says where to upload it.")


def wrong(values: "dict[str, str]") -> "list[str]":
    """Return a sentence for each value that Teams would refuse."""
    problems = [
        f"The {name} has more than {most} characters: {values[name]}"
        for name, most in LONGEST.items()
        if len(values[name]) > most
    ]
    if not all(_UUID.fullmatch(one) for one in (values["bot"], values["client"] or values["bot"])):
        problems.append("Bot and client are named by client ids, such as 11111111-2222-3333-4444-555555555555.")
    site = urlsplit(values["website"])
    if site.scheme != "https" or not site.hostname:
        problems.append("The website has to be an address that begins with https://.")
    return problems


def write(values: "dict[str, str]", out: Path) -> None:
    """Write the package, with values in place of their names in braces."""
    text = (FOLDER / "manifest.json").read_text(encoding="utf-8")
    manifest = json.loads(re.sub(r"\{(\w+)\}", lambda found: json.dumps(values[found[1]])[1:-1], text))
    if values["client"]:
        manifest["webApplicationInfo"] = {"id": values["client"], "resource": values["resource"]}
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False))
        for icon in manifest["icons"].values():
            package.write(FOLDER / icon, icon)


if __name__ == "__main__":
    main()
