"""Citations in an answer: `[sourcepage]`, checked against what was retrieved."""

import re
from collections.abc import Collection

_BRACKETED = re.compile(r"\[([^\[\]\n]{1,300})\](?!\()")
"""Text in brackets that is not the label of a Markdown link."""
_LOOKS_LIKE_A_SOURCE = re.compile(r"\S.*\.[A-Za-z0-9]{1,8}(#page=\d+)?")
"""A file name, with or without a page: what tells an invented citation from `[1]` or `[sic]`."""


def unverified_citations(text: str, retrieved: Collection[str]) -> list[str]:
    """The sources that `text` cites and that were not retrieved, each once, in order.

    Args:
        text: The whole answer.
        retrieved: The `sourcepage` of each retrieved passage.
    """
    cited = dict.fromkeys(_BRACKETED.findall(text))
    return [name for name in cited if name not in retrieved and _LOOKS_LIKE_A_SOURCE.fullmatch(name)]
