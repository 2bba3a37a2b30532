"""The one error that ends the host."""


class HostError(Exception):
    """The app cannot be hosted; the message says in words what to change."""
