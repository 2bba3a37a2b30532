"""What a new instance costs: importing the app, and the time until it streams.

The import is compared with that of what every Functions app that streams imports. Its clock is the process's CPU time.
The first byte counts from the start of the process, in front of the embedded parts and in front of a model that
answers at once; the baseline has only the model.
"""

import asyncio
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from bench.processes import OTHER_CORE, ROOT, SERVER_CORE, pin, running
from bench.rounds import Comparison, by_turns
from bench.targets import Target, make_index, model_settings

_ROUNDS = 7
_PLATFORM = "azurefunctions.extensions.http.fastapi, azure.functions"
_TIMED = """
import time
begun = time.process_time()
import {modules}
print(time.process_time() - begun)
"""


async def report(rounds: int = _ROUNDS) -> list[Comparison]:
    """Compare the imports, then the first bytes."""
    pin(0, OTHER_CORE)
    return [await compare_imports(rounds), await compare_first_bytes(rounds)]


async def compare_imports(rounds: int) -> Comparison:
    """The app against the platform's own part of it."""
    measures = {"platform": partial(_import, _PLATFORM), "function_app": partial(_import, "function_app")}
    return Comparison("CPU time of the import", "milliseconds", await by_turns(measures, rounds), ("platform",))


async def compare_first_bytes(rounds: int) -> Comparison:
    """Our app with the embedded parts and with a model, against the baseline with that model."""
    async with running("bench.upstream", core=OTHER_CORE) as upstream:
        with TemporaryDirectory() as data:
            await make_index(Path(data) / "index.sqlite")
            embedded = {"DATA_DIR": data, "HISTORY_BACKEND": "off"}
            model = model_settings(upstream)
            ours = partial(_first_byte, "bench.worker_server", "/api/chat/stream", "chat_stream")
            measures = {
                "baseline": partial(_first_byte, "bench.baseline", "/chat/stream", "", model),
                "ours, embedded": partial(ours, embedded),
                "ours, with the model": partial(ours, embedded | model),
            }
            values = await by_turns(measures, rounds)
    return Comparison("From the start of the process to the first streamed byte", "milliseconds", values, ("baseline",))


async def _import(modules: str) -> float:
    """Milliseconds of CPU time, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _TIMED.format(modules=modules)), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return float(printed) * 1000


async def _first_byte(module: str, path: str, invocation: str, env: Mapping[str, str]) -> float:
    """Milliseconds until the first byte of the first answer's body."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    async with running(module, env, core=SERVER_CORE) as server:
        address = urlsplit(server.address)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(Target(server, path, invocation=invocation).request())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(head.decode())
        await reader.readuntil(b"\r\n")  # the size of the first chunk
        await reader.readexactly(1)
        taken = loop.time() - begun
        writer.close()
    return taken * 1000
