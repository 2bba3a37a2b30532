"""What all services of Azure that are asked through `azure.core` have in common: retries, time limits, and faults."""
