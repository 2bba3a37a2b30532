"""What stands in on a laptop for the cloud: the host that runs the Function App, and a reference RAI service.

`python -m local` serves `function_app.py` through Microsoft's own Python worker library, so indexing, invocation and
streaming are those of Azure; only the front (routes, CORS, the log) is ours, and follows the Functions host.
"""


class HostError(Exception):
    """The app cannot be hosted; the message says what to change."""
