"""What chat backends in Python commonly are, as something to compare with: the `openai` client's own typed stream.

The design is that of the AI Chat Protocol's Python sample and of openai-chat-backend-fastapi: the SDK's objects in, a
JSON line each out, on the SDK's default transport. It searches nothing, and has neither history nor checks.
"""
