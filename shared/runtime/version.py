"""The version of the app."""

VERSION = "0.1.0"
"""As in `pyproject.toml`, which is not deployed; a test compares them."""
