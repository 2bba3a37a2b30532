"""Asking services and files outside the app: retries, time limits, failures, tokens, health."""
