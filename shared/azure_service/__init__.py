"""What all services of Azure asked through `azure.core` have in common: signing in, retries, time limits, faults."""
