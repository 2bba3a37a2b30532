"""What the host's terminal shows: one line an invocation, the app's own log, and warnings and errors of all others."""

import logging
import sys
from types import TracebackType

from uvicorn.config import LOGGING_CONFIG

_LOUD = ("local", "switchboard")


def set_up_logs() -> None:
    """Send everything to stdout, quiet what Microsoft's worker and the servers say about each request."""
    logging.basicConfig(
        stream=sys.stdout, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S", level=logging.WARNING
    )
    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.INFO)
    # The worker's own; while it indexes it would print a trace of what becomes our one sentence.
    logging.getLogger("azure.functions").setLevel(logging.CRITICAL)
    logging.getLogger("aiohttp.server").addFilter(_is_our_fault)
    # The library gives uvicorn no configuration, so it takes this one.
    LOGGING_CONFIG["loggers"] = {"uvicorn": {"level": "WARNING"}, "uvicorn.access": {"propagate": False}}
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def show_worker_warnings() -> None:
    """Let the worker speak again once it has indexed the app."""
    logging.getLogger("azure.functions").setLevel(logging.WARNING)


def _is_our_fault(record: logging.LogRecord) -> bool:
    """Drop what aiohttp reports of a caller's malformed bytes (the caller gets its 400) and lost connections."""
    from aiohttp.http_exceptions import HttpProcessingError  # late: benchmarks set up logs where no aiohttp is

    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError | ConnectionError))


def _is_news(record: logging.LogRecord) -> bool:
    """Drop uvicorn's copy of an exception that `local.worker` has logged with its function and invocation."""
    trace = record.exc_info[2] if record.exc_info else None
    return not _passed_through_the_worker(trace)


def _passed_through_the_worker(trace: TracebackType | None) -> bool:
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == "azure_functions_runtime.http_v2":
            return True
        trace = trace.tb_next
    return False
