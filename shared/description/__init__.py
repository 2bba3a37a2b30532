"""What the app offers, told to tools: `GET /openapi.json` (OpenAPI 3.1) and `GET /swagger.json` (Swagger 2.0).

`routes.py` is the table of routes; `shapes.py` is what each protocol reads and writes, `kernel_shapes.py` for Semantic
Kernel's; `openapi.py` makes a document of them and of the pydantic models that parse the requests, and `swagger.py`
tells the same in the older language. Nothing of it is imported before someone asks.
"""
