"""What makes `shared/description/openapi.json` and `swagger.json`, which the app serves; `make docs` runs it.

What a route says of itself is in `handlers.py` and `own_routes.py`. `schemas.py` derives the schemas of
the protocols from their types. `openapi.py` builds the document from the table of routes, and `swagger.py` converts it
to the older format.
"""
