"""Switchboard's core: the turn, the protocols, and the parts they stand on.

Nothing in here imports `azure.functions`; `function_app.py` hands each HTTP request to `http_entry`, which is
the only module that knows FastAPI, and `app` is the only module that names concrete plug-ins.
"""
