"""What all services of Azure asked through `azure.core` have in common: signing in, retries, time limits, faults."""

import logging

# One line a request at INFO says nothing that our own log lines do not.
logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)
