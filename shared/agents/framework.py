"""Parts of Agent Framework that it imports itself when an agent speaks for the first time.

The warm-up imports this module after `team` or `single`. It is a module of its own so that a request can import
something between the two: imports hold a lock, and these take long.
"""

from agent_framework import Agent, MCPStdioTool, ToolApprovalState, apply_compaction

__all__ = ["Agent", "MCPStdioTool", "ToolApprovalState", "apply_compaction"]
