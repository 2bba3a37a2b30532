"""What all services of Azure that are asked through `azure.core` have in common: signing in, retries, time limits, faults."""
