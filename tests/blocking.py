"""Fails a test in which `shared` blocks its event loop: reads a file, sleeps or waits for a socket."""

from functools import cache

from blockbuster import BlockBuster

ALLOWED = (
    # `shared/app.py` has the service built in a thread; tests build its parts where they are.
    ("shared/agents/definitions.py", "load_agents"),
    ("shared/guard/content_safety/severity_policy.py", "read_severity_policy"),
    ("shared/guard/rai/client.py", "_policy"),
    # A module that is imported late is read itself, and with it the data that it has beside it.
    ("<frozen importlib._bootstrap>", "_call_with_frames_removed"),
    # Azure's libraries ask the operating system for its name, once per process.
    ("/platform.py", "platform"),
)
"""Where blocking is right: the end of the file's path and the function, in whose calls everything may block."""


def watch(on: bool) -> None:
    """Look for blocking calls from now on, or no more."""
    if on:
        _blockbuster().activate()
    else:
        _blockbuster().deactivate()


@cache
def _blockbuster() -> BlockBuster:
    blockbuster = BlockBuster(scanned_modules="shared")
    for call in blockbuster.functions.values():
        for file, function in ALLOWED:
            call.can_block_in(file, function)
    return blockbuster
