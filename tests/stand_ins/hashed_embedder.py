"""An embedding model that needs none: a text's words, hashed into a normalised vector.

Texts that share words are close to each other, the same text gives the same vector on every machine.
"""

import hashlib
import math
from collections.abc import Sequence

from shared.words.terms import fold, words

DIMENSIONS = 64


def hashed_vector(text: str, dims: int = DIMENSIONS) -> list[float]:
    """The vector of a text, of length 1; one without words has the first axis to itself."""
    vector = [0.0] * dims
    for word in words(text):
        digest = hashlib.blake2b(fold(word).encode(), digest_size=8).digest()
        vector[int.from_bytes(digest[:4]) % dims] += 1.0 if digest[4] % 2 else -1.0
    length = math.hypot(*vector)
    return [value / length for value in vector] if length else [1.0, *vector[1:]]


class HashedEmbedder:
    """`hashed_vector` as an `Embedder`; `calls` holds the texts of each call."""

    def __init__(self, model: str = "hashed", dims: int = DIMENSIONS, part_size: int | None = None) -> None:
        self._model = model
        self.part_size = part_size
        self._dims = dims
        self.calls: list[list[str]] = []

    @property
    def model(self) -> str:
        return self._model

    async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
        self.calls.append(list(texts))
        return [hashed_vector(text, self._dims) for text in texts]

    async def aclose(self) -> None:
        pass
