"""Our app on Microsoft's worker library, without the local host's proxy in front: in Azure that is not Python.

Callers talk to the worker's own HTTP server. The invocation of each request comes beside it, from the parent:
`invoke ID FUNCTION [PROTOCOL]`. `APP` names the directory of another app.
"""

import asyncio
import os
from pathlib import Path

from bench.child import obey
from bench.processes import ROOT
from local.invocation import Call, HttpData
from local.worker import Worker, set_up_logs


async def main() -> None:
    """Serve until the parent hangs up."""
    set_up_logs()
    worker = Worker()
    app = await worker.start(Path(os.environ.get("APP", ROOT)))
    functions = {function.name: function for function in app.functions}

    def told(words: list[str]) -> None:
        _, invocation_id, function, *protocol = words
        parameters = {"protocol": protocol[0]} if protocol else {}
        call = Call(invocation_id, functions[function], HttpData("POST", "/", parameters))
        worker.invoke(call)

    await obey(app.http_uri or "", told)
    await worker.stop()


if __name__ == "__main__":
    asyncio.run(main())
