"""`AUTH_MODE=api-key`: each caller sends a key of its own, and the settings have the keys' hashes.

`local/api_key_command.py` makes a key, of 256 random bits. Nobody can try so many, so one round of SHA-256 hides it:
slow and salted hashes are for passwords, which people choose.

Source: RFC 6750, 2.1 and 3, for the header and its refusal; RFC 4086 and NIST SP 800-131A for the bits.
"""

from collections.abc import Mapping
from hashlib import sha256

from shared.chat_types import Caller, PartHealth
from shared.errors import NotSignedIn
from shared.identity.claims import only_header
from shared.settings import Settings

_LONGEST_KEY = 256
"""Characters of a key that are hashed. A longer one is refused; ours have 55."""
_REFUSAL = "Sign in with one of this app's API keys (Authorization: Bearer …)."


class ApiKeys:
    """An `Identity` that accepts only the keys of `API_KEYS`. Each is a caller by its name.

    Args:
        callers: For each key its SHA-256, 32 bytes, and the caller who sends it.
    """

    health = PartHealth("api-key", ok=True, detail="Callers have to send an API key.")

    def __init__(self, callers: Mapping[bytes, Caller]) -> None:
        self._callers = dict(callers)

    @classmethod
    def from_settings(cls, settings: Settings) -> "ApiKeys":
        """Make it for these settings, which were checked to be complete."""
        return cls({bytes.fromhex(key.sha256): Caller(key=key.name, groups=key.groups) for key in settings.api_keys})

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller whose key the request has.

        Raises:
            NotSignedIn: there is no such key; says the same whether it is missing, malformed, unknown or removed.
        """
        key = _key_in(headers)
        # How long the look-up takes may tell of the hash of what was sent, which its sender knows. To learn a stored
        # hash by it would take keys whose hashes begin as that one, and would give no key.
        found = self._callers.get(sha256(key).digest())
        if not (key and found):  # without a key, not even who has set the hash of nothing gets in
            raise NotSignedIn(_REFUSAL)
        return found


def _key_in(headers: Mapping[str, str]) -> bytes:
    """Return the key that a request has; empty, which is no key, if it has none that can be right."""
    try:
        scheme, _, key = (only_header(headers, "authorization") or "").partition(" ")
    except NotSignedIn:
        return b""
    key = key.strip(" ")
    is_possible = scheme.lower() == "bearer" and key.isascii() and len(key) <= _LONGEST_KEY
    return key.encode("ascii") if is_possible else b""
