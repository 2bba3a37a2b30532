"""Make an API key: `python -m local.api_key_command NAME`. Prints it, and the entry for `API_KEYS`; keeps neither."""

import re
import secrets
import sys
from hashlib import sha256

from shared.settings.rules import KEY_MARK, KEY_NAME, KEY_NAME_RULE

_KEY_BYTES = 32
"""Random bytes in a key."""


def main() -> int:
    """Run the command and return its exit code: 2 if the name cannot be one."""
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if not re.fullmatch(KEY_NAME, name):
        print(f"Name the key, by who will send it: make api-key NAME=nightly-report. {KEY_NAME_RULE}", file=sys.stderr)
        return 2
    key, digest = new_key()
    print(f"The key, which is shown only now. Its caller sends it as `Authorization: Bearer KEY`:\n\n{key}\n")
    print(f"The entry for API_KEYS, after a comma if there are others, with AUTH_MODE=api-key:\n\n{name}:{digest}\n")
    print("Ids of groups may follow, each after a colon. The key then sees their documents too.")
    return 0


def new_key() -> tuple[str, str]:
    """Make a key.

    Returns:
        The key, and its SHA-256 in hexadecimal digits.
    """
    key = KEY_MARK + secrets.token_urlsafe(_KEY_BYTES)
    return key, sha256(key.encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
