"""What the definitions of agents and of tool servers have in common: how they are read, and the names of tools."""

import re
from hashlib import sha256

from pydantic import BaseModel, ConfigDict

_LONGEST_NAME = 64
"""Characters of a function's name that models accept."""


class Definition(BaseModel):
    """A part of the agents file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


def fits(pattern: str, title: str) -> bool:
    """Whether a pattern in an agent's `tools` names a tool: `crm.look` itself, or `crm.*` all of a server."""
    return title == pattern or (pattern.endswith(".*") and title.startswith(pattern[:-1]))


def function_name(title: str) -> str:
    """Make the name of a function of a tool's name: `crm_look` for `crm.look`, the same at each start."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", title)
    if len(name) <= _LONGEST_NAME and name == title.replace(".", "_", 1):
        return name
    return f"{name[: _LONGEST_NAME - 9]}_{sha256(title.encode()).hexdigest()[:8]}"
