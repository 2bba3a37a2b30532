"""One OpenAI-compatible service: how to reach it, one client for chat and embeddings, and what its errors mean.

`connection` says which service the settings name, `service` sends requests to it and `reasons` holds the one table
of what goes wrong. `openai` itself is imported at the first request, by `service`.
"""
