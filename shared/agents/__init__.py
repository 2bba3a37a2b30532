"""Several agents that answer together: a team from a YAML file, run by Microsoft Agent Framework.

`definitions` reads the file at start-up and knows nothing of the framework, which is imported when the first request
needs it.
"""
