"""An OpenAI-compatible service: how to reach it, its clients for chat and embeddings, and the reasons of its errors.

`connection` says which endpoints the settings name, `service` chooses among them, `endpoint` sends requests to one, and
`reasons` reads its error bodies.
`aiohttp` is imported at the first request.
"""
