"""`@ag-ui/client` from npm, in several versions, installed and run."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.ai_chat_protocol import NODE, install_clients
from tests.clients.served import served

FOLDER = Path(__file__).parent
VERSIONS = tuple(json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["dependencies"])
"""The oldest that is supported, the one before subagents, and the newest."""


@dataclass(frozen=True, slots=True)
class Run:
    """What the page of an agent has after one run."""

    events: list[dict[str, Any]]
    """The events, as the client has checked them."""
    messages: list[dict[str, Any]]
    """The whole conversation."""
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What `onRunErrorEvent` was told."""
    ended: dict[str, Any] = field(default_factory=dict[str, Any])
    """What `runAgent()` resolved to: `result` and `newMessages`."""
    thrown: dict[str, Any] | None = None
    """What it rejected with."""

    @property
    def text(self) -> str:
        """The last message."""
        return self.messages[-1]["content"]

    @property
    def types(self) -> list[str]:
        """The events' types, with several pieces of text in a row as one; the names of the custom ones."""
        types = [
            event.get("name", event["type"]) if event["type"] == "CUSTOM" else event["type"] for event in self.events
        ]
        return [kind for place, kind in enumerate(types) if types[place - 1 : place] != [kind]]

    def custom(self, name: str) -> list[Any]:
        """The values of the custom events of this name."""
        return [event["value"] for event in self.events if event["type"] == "CUSTOM" and event["name"] == name]


def install_ag_ui() -> None:
    """Install what `package-lock.json` names, unless it is there."""
    install_clients(FOLDER)


def step(content: Any, *, leaves: bool = False, **parameters: Any) -> dict[str, Any]:
    """A run after one more message of the user, with these parameters of `runAgent()`."""
    return {"message": {"content": content}, "parameters": parameters, "leaves": leaves}


def follow(run_id: str) -> dict[str, Any]:
    """What a page does that was loaded again in mid-answer."""
    return {"parameters": {"runId": run_id}}


AGAIN: dict[str, Any] = {"again": True}
"""A step in which the user asks the last question anew."""


async def run(
    version: str, url: str, *steps: dict[str, Any], messages: list[Any] | None = None, thread_id: str | None = None
) -> list[Run]:
    """Let an agent take these steps after these messages."""
    asked = {"threadId": thread_id, "messages": messages or [], "steps": steps}
    told = await served(FOLDER / "run.mjs", version, url, asked=asked)
    assert not told["warnings"]
    return [Run(**seen) for seen in told["seen"]]


async def stop_and_reload(version: str, url: str, agent: Path) -> Any:
    """Let the agent of a file ask and stop, and load its page again; return what both pages have."""
    process = await asyncio.create_subprocess_exec(
        *(NODE, FOLDER / "resumable.mjs", version, url, agent), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return json.loads(printed)
