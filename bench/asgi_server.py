"""Serves an ASGI app as the worker library serves ours: uvicorn with its defaults, and no log of each request."""

import asyncio
import socket

import uvicorn
from starlette.types import ASGIApp

from bench.child import obey


async def serve(app: ASGIApp) -> None:
    """Serve until the parent hangs up."""
    # asyncio turns Nagle's algorithm off, as uvicorn's own sockets have it, only where the protocol is named.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    host, port = listening.getsockname()
    server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server.serve([listening]))
    await obey(f"http://{host}:{port}")
    server.should_exit = server.force_exit = True
    await serving
