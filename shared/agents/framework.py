"""What Agent Framework itself imports only when an agent first speaks: imported by the warm-up, so that it is there."""

from agent_framework import Agent, MCPStdioTool, ToolApprovalState, apply_compaction

__all__ = ["Agent", "MCPStdioTool", "ToolApprovalState", "apply_compaction"]
