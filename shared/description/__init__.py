"""The app's description for tools: `GET /openapi.json` (OpenAPI 3.1) and `GET /swagger.json` (Swagger 2.0).

What a route says of itself stands beside its handler (`shared/wire/described.py`). `schemas.py` derives the schemas of
the protocols from their types. `openapi.py` builds the document from the table of routes, and `swagger.py` converts it
to the older format. All are imported when a document is requested, not before.
"""
