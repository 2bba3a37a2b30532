"""The process that the app runs in: its version, its packages, `host.json`, late imports, and time limits."""
