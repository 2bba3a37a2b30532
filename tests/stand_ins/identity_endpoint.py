"""The endpoint that gives tokens of the app's identity, as App Service and Functions offer it."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def identity_endpoint(token: str) -> AsyncGenerator[tuple[dict[str, str], list[str]]]:
    """Give this token to whoever asks.

    Yields:
        The environment that points the app at the endpoint, and the resources that were asked for.
    """
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.query["resource"])
        expires = str(int(time.time()) + 3600)
        return web.json_response(
            {"access_token": token, "expires_on": expires, "token_type": "Bearer", "resource": asked[-1]}
        )

    application = web.Application()
    application.router.add_get("/msi/token", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}/msi/token"
    try:
        yield {"IDENTITY_ENDPOINT": address, "IDENTITY_HEADER": "header"}, asked
    finally:
        await runner.cleanup()
