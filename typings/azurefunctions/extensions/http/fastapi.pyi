from fastapi import Request as Request
from fastapi import Response as Response
from fastapi.responses import FileResponse as FileResponse
from fastapi.responses import StreamingResponse as StreamingResponse
