"""The one header that says who is calling."""

from collections.abc import Mapping

from shared.errors import NotSignedIn

MOST_CHARACTERS = 64 * 1024
"""More than any sign-in takes; nothing longer is looked into."""


def only_header(headers: Mapping[str, str], name: str) -> str | None:
    """The value of a header that may come once; None where it does not come.

    Args:
        headers: Their names may have any case; `items()` has one that is repeated as often as it came.
        name: In lower case.

    Raises:
        NotSignedIn: it is repeated, or far too long.
    """
    values = [value for found, value in headers.items() if found.lower() == name]
    if not values:
        return None
    if len(values) > 1:
        raise NotSignedIn(f"The header {name} came more than once: send one.", refused=True)
    if len(values[0]) > MOST_CHARACTERS:
        raise NotSignedIn(f"The header {name} is longer than any sign-in.", refused=True)
    return values[0]
