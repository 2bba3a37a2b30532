"""What the first request to a team pays for importing the agents' framework, against importing the whole app."""

import asyncio

from bench.processes import DEPLOYED, ROOT
from bench.rounds import Comparison

_ROUNDS = 5
_TIMED = """
import time
begun = time.perf_counter()
import function_app
app = time.perf_counter()
import shared.agents.team
print(app - begun, time.perf_counter() - app)
"""


async def report() -> list[Comparison]:
    """Import both in fresh processes."""
    app: list[float] = []
    agents: list[float] = []
    for _ in range(_ROUNDS):
        process = await asyncio.create_subprocess_exec(DEPLOYED, "-c", _TIMED, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
        printed, _ = await process.communicate()
        of_app, of_agents = map(float, printed.split())
        app.append(of_app * 1000)
        agents.append(of_agents * 1000)
    return [Comparison("An import", "milliseconds", {"the app": app, "the agents' framework": agents}, ("the app",))]
