"""What the caller is told of the faults of Azure AI Search. Imports `azure.core`: import it late."""

from dataclasses import dataclass

from shared.errors import NotConfigured, RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.outbound.azure_service.faults import Fault, Reason, Sentences


@dataclass(frozen=True, slots=True)
class Right:
    """What the app must be allowed to do."""

    role: str
    """The role for its identity."""
    key: str
    """The kind of key where it has one."""


READ = Right("Search Index Data Reader", "a key")
WRITE = Right("Search Index Data Contributor", "an admin key")
LOOK = Right("Reader", "an admin key")
"""At the definition of an index, which is nothing of its documents."""
MANAGE = Right("Search Service Contributor", "an admin key")


SENTENCES: Sentences = {
    Reason.UNREACHABLE: (
        Unavailable,
        "Azure AI Search cannot be reached. Try again later; if it stays, check AZURE_SEARCH_ENDPOINT and the network.",
    ),
    Reason.CUT_OFF: (Unavailable, "Azure AI Search broke off. Try again."),
    Reason.TOO_SLOW: (TooSlow, "Azure AI Search took too long. Try again."),
    Reason.NO_IDENTITY: (
        NotConfigured,
        (
            "The app cannot sign in to Azure AI Search: give it a managed identity, sign in with `az login` locally, "
            "or set AZURE_SEARCH_API_KEY."
        ),
    ),
    Reason.CREDENTIALS: (NotConfigured, "Azure AI Search refused this app: {credential_advice}."),
    Reason.NOT_THERE: (NotConfigured, "Azure AI Search has no {thing}."),
    Reason.NOT_AN_ANSWER: (
        Unavailable,
        "What is at AZURE_SEARCH_ENDPOINT sent something that is no answer of Azure AI Search: check it.",
    ),
    Reason.NOT_ACCEPTED: (
        NotConfigured,
        (
            "Azure AI Search does not accept what it was asked: check that AZURE_SEARCH_INDEX has the fields that "
            "AZURE_SEARCH_FIELDS names and vectors of the embedding model that is configured here, and check "
            "AZURE_SEARCH_SEMANTIC_CONFIGURATION and AZURE_SEARCH_KNOWLEDGE_SOURCE."
        ),
    ),
    Reason.RATE: (RateLimited, "Azure AI Search is busy. Try again in {retry_after} seconds."),
    Reason.BUSY: (Unavailable, "Azure AI Search has too much to do. Try again later; if it stays, add replicas."),
    Reason.BROKEN: (Unavailable, "Azure AI Search has a fault of its own. Try again later."),
}
"""What the caller is told."""


def told(fault: Fault, right: Right, thing: str, *, has_key: bool) -> SwitchboardError:
    """Make the error that the caller is told of a fault.

    Args:
        fault: What went wrong.
        right: What the app must be allowed to do for what it asked.
        thing: What there is none of, if it is that.
        has_key: Whether the app comes with a key, or else as its identity.
    """
    advice = (
        f"set AZURE_SEARCH_API_KEY to {right.key} of the service"
        if has_key
        else f"give its identity the role '{right.role}', and turn on role-based access control for the service"
    )
    return fault.to_error(SENTENCES, credential_advice=advice, thing=thing)
