"""Microsoft's Bicep compiler, which works out whole deployments without Azure. It is started once for many requests."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shared.chat_types import Json

INFRA = Path(__file__).resolve().parents[2] / "infra"
MISSING = "infra/ is not compiled: no `bicep` is on the path, and BICEP names none."
SUBSCRIPTION = "11111111-1111-1111-1111-111111111111"
TENANT = "22222222-2222-2222-2222-222222222222"
REQUIRED = {"environmentName": "demo", "location": "swedencentral"}
"""Parameters that every deployment needs beside those of its own."""


class Refused(Exception):
    """The compiler or the template refuses these parameters, with its sentence."""


def compiler() -> str | None:
    """Return the command that `BICEP` names, or `bicep` on the path; None if there is neither."""
    return os.environ.get("BICEP") or shutil.which("bicep")


class Bicep:
    """The compiler as a server, on its standard input and output.

    Args:
        command: The compiler.
    """

    def __init__(self, command: str) -> None:
        self._command = command
        self._requests = 0

    def __enter__(self) -> Self:
        # Without the first setting .NET needs a library for languages that containers often lack. With the second it
        # compiles its own code once instead of in tiers: each request then takes half the CPU time.
        settings = {"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "DOTNET_TieredCompilation": "0"}
        environment = {**settings, **os.environ}
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [self._command, "jsonrpc", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def snapshot(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `main.bicep` deploys with these parameters: `predictedResources`, `outputs` and `diagnostics`.

        Raises:
            Refused: The compiler or the template refuses them.
        """
        file = Path(self._folder.name) / "way.bicepparam"
        given = {**REQUIRED, **parameters}
        template = os.path.relpath(INFRA / "main.bicep", file.parent.resolve())
        lines = [f"using '{template}'", *(f"param {name} = {_written(value)}" for name, value in given.items())]
        file.write_text("\n".join(lines))
        metadata = {
            "subscriptionId": SUBSCRIPTION,
            "tenantId": TENANT,
            "location": REQUIRED["location"],
            "deploymentName": "deployment",
        }
        answer = self._ask("bicep/getSnapshot", {"path": str(file), "metadata": metadata})
        if "error" in answer:
            said = answer["error"].get("data", {}).get("message", "")
            if said == "Compilation failed":  # the values of the parameters are wrong by their types
                found = self._ask("bicep/compileParams", {"path": str(file), "parameterOverrides": {}})["result"]
                said = "\n".join(_sentence(one, lines) for one in found["diagnostics"])
            raise Refused(said)
        return json.loads(answer["result"]["snapshot"])

    def compiled(self, file: Path) -> tuple[dict[str, Any], list[str]]:
        """Return the template of a file for Azure Resource Manager, and what the compiler says of it."""
        result = self._ask("bicep/compile", {"path": str(file)})["result"]
        said = [f"{Path(one['source']).name}: {one['code']} {one['message']}" for one in result["diagnostics"]]
        return json.loads(result["contents"] or "{}"), said

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._requests += 1
        message = {"jsonrpc": "2.0", "id": self._requests, "method": method, "params": params}
        body = json.dumps(message).encode()
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()
        size = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        if not size:
            raise ChildProcessError(f"{self._command} has ended with {self._process.wait()}.")
        return json.loads(self._process.stdout.read(size))


def _sentence(diagnostic: Mapping[str, Any], lines: list[str]) -> str:
    """Return what the compiler says of a line, with that line, which names the parameter."""
    return f"{lines[diagnostic['range']['start']['line']]}: {diagnostic['message']}"


def _written(value: Json) -> str:
    """Return a value as Bicep writes it; it knows no double quotes."""
    match value:
        case bool() | int():
            return json.dumps(value)
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\${") + "'"
        case list():
            return "[" + ", ".join(map(_written, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{_written(name)}: {_written(one)}" for name, one in value.items()) + "}"
        case float() | None:
            raise TypeError(value)
