"""The least that streams on Microsoft's worker library: what of a cost is the library's shows here."""

from collections.abc import AsyncGenerator

import azure.functions as func
from starlette.responses import StreamingResponse

from shared.web.http_extension import Request

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route("chat/stream", methods=["POST"])
async def chat_stream(req: Request) -> StreamingResponse:
    """One line, once the body has been read."""
    await req.body()
    return StreamingResponse(_lines(), media_type="application/jsonl")


async def _lines() -> AsyncGenerator[bytes]:
    yield b'{"delta":{"content":" word~"}}\n'
