"""The tools that agents can have, by the name that the agents file gives them (CONTRIBUTING, 'Add an agent tool')."""

from shared.tools import Tool
from shared.tools.search import SEARCH

TOOLS: dict[str, Tool] = {tool.definition.name: tool for tool in (SEARCH,)}
