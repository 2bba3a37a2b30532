"""Switchboard's core: the turn, the protocols, and the parts they stand on.

Nothing in here imports `azure.functions`; `function_app.py` hands each request to `triggers`, the only package that
knows Starlette, and `parts` is the only module that names concrete plug-ins.
"""
