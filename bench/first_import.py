"""What the first request to a team pays for importing the agents' framework, against importing the whole app."""

import asyncio
import sys
from pathlib import Path
from statistics import median

from bench.side_by_side import compared

_ROUNDS = 5
_ROOT = Path(__file__).parent.parent
_TIMED = """
import time
begun = time.perf_counter()
import function_app
app = time.perf_counter()
import shared.agents.team
print(app - begun, time.perf_counter() - app)
"""


async def report() -> list[str]:
    """Import both in fresh processes; the line that tells what came out."""
    app: list[float] = []
    agents: list[float] = []
    for _ in range(_ROUNDS):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _TIMED, cwd=_ROOT, stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await process.communicate()
        of_app, of_agents = map(float, printed.split())
        app.append(of_app)
        agents.append(of_agents)
    return [compared("importing the agents' framework", median(agents), "importing the app", median(app))]
