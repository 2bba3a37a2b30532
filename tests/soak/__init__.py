"""`make soak`: minutes of mixed load with aborts, kills and faults, and what must hold meanwhile."""
