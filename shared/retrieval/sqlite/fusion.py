"""Reciprocal rank fusion: one ranking from several whose scores do not compare."""

from collections.abc import Iterable, Sequence

_K = 60
"""Damps the lead of the first ranks.

Source: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
Methods (SIGIR 2009); Azure AI Search uses the same.
"""


def fuse(rankings: Iterable[Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
    """Fuse rankings of ids with their scores, each best first; only the order counts.

    Returns:
        Each id with its score, best first: the sum of `1 / (60 + rank)`, where ranks count from 1. On a draw, the
        one that comes first in the earlier ranking.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (found, _) in enumerate(ranking, start=1):
            scores[found] = scores.get(found, 0.0) + 1 / (_K + rank)
    return sorted(scores.items(), key=lambda scored: -scored[1])
