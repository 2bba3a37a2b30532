"""Serves the baseline until the parent hangs up."""

import asyncio

from bench.asgi_server import serve
from bench.baseline.app import app

if __name__ == "__main__":
    asyncio.run(serve(app))
