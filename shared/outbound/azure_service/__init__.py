"""Azure services that are called through `azure.core`: signing in, calling, and the reasons of its exceptions."""

import logging

# One line a request at INFO says nothing that our own log lines do not.
logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)
