"""Errors of Azure AI Search: its sentences, and the role that the app lacks. Knows no SDK."""

from dataclasses import dataclass

from shared.errors import NotConfigured, SwitchboardError
from shared.outbound.faults import ErrorTable, Fault, Reason


@dataclass(frozen=True, slots=True)
class Right:
    """A right that the app needs."""

    role: str
    """The role for its identity."""
    key: str
    """The kind of key where it has one."""


READ = Right("Search Index Data Reader", "a key")
WRITE = Right("Search Index Data Contributor", "an admin key")
LOOK = Right("Reader", "an admin key")
"""To look at the definition of an index, which is nothing of its documents."""
MANAGE = Right("Search Service Contributor", "an admin key")


ERRORS = ErrorTable(
    "Azure AI Search",
    "AZURE_SEARCH_ENDPOINT and the network",
    {
        Reason.NO_IDENTITY: (
            "The app cannot sign in to {name}: give it a managed identity, sign in with `az login` locally, or set "
            "AZURE_SEARCH_API_KEY."
        ),
        Reason.CREDENTIALS: "{name} refused this app: {credential_advice}.",
        Reason.NOT_THERE: "{name} has no {thing}.",
        Reason.NOT_AN_ANSWER: (
            "What is at AZURE_SEARCH_ENDPOINT sent something that is no answer of {name}: check it."
        ),
        Reason.NOT_ACCEPTED: (
            "{name} does not accept what it was asked: check that AZURE_SEARCH_INDEX has the fields that "
            "AZURE_SEARCH_FIELDS names and vectors of the embedding model that is configured here, and check "
            "AZURE_SEARCH_SEMANTIC_CONFIGURATION and AZURE_SEARCH_KNOWLEDGE_SOURCE."
        ),
        Reason.BUSY: "{name} has too much to do. Try again later; if it stays, add replicas.",
    },
    dict.fromkeys((Reason.NO_IDENTITY, Reason.CREDENTIALS, Reason.NOT_THERE, Reason.NOT_ACCEPTED), NotConfigured),
)
"""What differs from `outbound.faults.DEFAULTS`."""


def error_of(fault: Fault, right: Right, thing: str, *, has_key: bool) -> SwitchboardError:
    """Make the error that the caller gets.

    Args:
        fault: What went wrong.
        right: The right that the app needs for what it asked.
        thing: What was asked for, where the service may not have it.
        has_key: Whether the app comes with a key, or else as its identity.
    """
    advice = (
        f"set AZURE_SEARCH_API_KEY to {right.key} of the service"
        if has_key
        else f"give its identity the role '{right.role}', and turn on role-based access control for the service"
    )
    return ERRORS.error(fault, credential_advice=advice, thing=thing)
