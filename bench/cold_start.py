"""What a new instance costs: importing the app, the time until it streams, and what loading ahead takes off.

The import is compared with that of what every Functions app that streams imports. Its clock is the process's CPU time.
The first byte counts from the start of the process: in front of the built-in parts, in front of a model that answers at
once, and with the services that an app in Azure has. The baseline has only the model.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from bench.processes import DEPLOYED, OTHER_CORE, ROOT, SERVER_CORE, running
from bench.rounds import Comparison, by_turns
from bench.targets import Target, in_azure, make_index, model_settings

_ROUNDS = 5
_UNIT = "milliseconds"
_PLATFORM = "shared.web.http_extension, azure.functions"


@dataclass(frozen=True, slots=True)
class _Server:
    """What is started."""

    module: str
    """Serves."""
    path: str
    """Where its answers are streamed."""
    function: str = ""
    """What the worker invokes for them."""


_BASELINE = _Server("bench.baseline", "/chat/stream")
_OURS = _Server("bench.worker_server", "/api/chat/stream", "chat_stream")
_TIMED = """
import time
begun = time.process_time()
import {modules}
print(time.process_time() - begun)
"""


async def report(rounds: int = _ROUNDS) -> list[Comparison]:
    """Compare the imports, then the first bytes."""
    return [await compare_imports(rounds), *await compare_first_bytes(rounds)]


async def compare_imports(rounds: int) -> Comparison:
    """The app against the platform's own part of it."""
    measures = {"platform": partial(_import, _PLATFORM), "function_app": partial(_import, "function_app")}
    return Comparison("CPU time of the import", _UNIT, await by_turns(measures, rounds), ("platform",))


async def compare_first_bytes(rounds: int) -> list[Comparison]:
    """Our app with the built-in parts, a model and services of Azure, against the baseline; then the first request.

    The first request is that of a process that already serves: at once, and after the second that the Functions host
    takes at least until it sends one. Nothing else has asked for anything.
    """
    async with running("bench.upstream", core=OTHER_CORE) as upstream, in_azure(upstream.address, "any") as azure:
        with TemporaryDirectory() as data:
            await make_index(Path(data) / "index.sqlite")
            built_in = {"DATA_DIR": data, "HISTORY_BACKEND": "off"}
            model = model_settings(upstream)
            starts = {
                "baseline": partial(_first_byte, _BASELINE, model),
                "ours, embedded": partial(_first_byte, _OURS, built_in),
                "ours, with the model": partial(_first_byte, _OURS, built_in | model),
                "ours, as in Azure": partial(_first_byte, _OURS, azure),
            }
            firsts = {
                "at once": partial(_first_request, _OURS, built_in | model, after=0),
                "a second later": partial(_first_request, _OURS, built_in | model, after=1),
                "the second one": partial(_first_request, _OURS, built_in | model, after=0, earlier=1),
            }
            taken: dict[str, list[tuple[float, float]]] = {name: [] for name in starts}
            for _ in range(rounds):
                for name, start in starts.items():
                    taken[name].append(await start())
            of_firsts = await by_turns(firsts, rounds)
    what = "From the start of the process to the first streamed byte"
    passed = {name: [times[0] for times in of] for name, of in taken.items()}
    worked = {name: [times[1] for times in of] for name, of in taken.items()}
    return [
        Comparison(what, _UNIT, passed, ("baseline",)),
        Comparison(f"{what}, CPU time", _UNIT, worked, ("baseline",)),
        Comparison("First byte of the first request, with the model", _UNIT, of_firsts, ("at once",)),
    ]


async def _import(modules: str) -> float:
    """Milliseconds of CPU time, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(DEPLOYED, "-c", _TIMED.format(modules=modules)), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return float(printed) * 1000


async def _first_byte(server: _Server, env: Mapping[str, str]) -> tuple[float, float]:
    """Milliseconds from the start of the process, and those of its CPU time."""
    begun = time.perf_counter()
    async with running(server.module, env, core=SERVER_CORE) as child:
        await _body_begins(Target(child, server.path, invocation=server.function))
        return (time.perf_counter() - begun) * 1000, await child.cpu_seconds() * 1000


async def _first_request(server: _Server, env: Mapping[str, str], *, after: float, earlier: int = 0) -> float:
    """Milliseconds from the request, so many seconds after the process serves and after so many others."""
    async with running(server.module, env, core=SERVER_CORE) as child:
        await asyncio.sleep(after)
        for _ in range(earlier):
            await _body_begins(Target(child, server.path, invocation=server.function))
        begun = time.perf_counter()
        await _body_begins(Target(child, server.path, invocation=server.function))
        return (time.perf_counter() - begun) * 1000


async def _body_begins(target: Target) -> None:
    """Ask, and wait for the first byte of the answer's body."""
    address = urlsplit(target.server.address)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(target.request())
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise ConnectionError(head.decode())
    if b"chunked" in head:
        await reader.readuntil(b"\r\n")  # the size of the first chunk
    await reader.readexactly(1)
    writer.close()
