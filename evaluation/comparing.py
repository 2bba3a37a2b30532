"""Two runs side by side: the difference of each measure, with the confidence that a paired bootstrap gives it.

Source: Efron and Tibshirani, 'An Introduction to the Bootstrap' (1993), chapter 13, percentile intervals; questions are
drawn with replacement, and both runs' values of a question stay together.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from evaluation import EvaluationError
from evaluation.report import MEASURES, Row, Rows, read_rows

_RESAMPLES = 10_000
_CONFIDENCE = 0.95
_SEED = 7
_AT_ONCE = 4_000_000
"""Numbers drawn at a time, which bounds the memory."""


class Difference(msgspec.Struct, frozen=True):
    """How a measure differs between two runs."""

    measure: str
    """Its name."""
    language: str
    """Of the questions; empty: all."""
    questions: int
    """That have it in both runs."""
    first: float
    """Its mean in the first run."""
    second: float
    """Its mean in the second run."""
    low: float
    """The difference, second minus first, is above this with 95 % confidence, together with the next."""
    high: float
    """And below this."""

    @property
    def is_certain(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


class Comparison(msgspec.Struct, frozen=True):
    """Two runs."""

    first: dict[str, str]
    """What the first measured."""
    second: dict[str, str]
    """What the second measured."""
    shared: int
    """Questions that both have."""
    left_out: int
    """Questions that one of them lacks, or asks otherwise."""
    differences: list[Difference]
    """By measure; first over all questions, then by language."""


def compare(first: Path, second: Path) -> Comparison:
    """Compare two reports.

    Raises:
        EvaluationError: one is no report, or they share no question.
    """
    one, other = read_rows(first), read_rows(second)
    by_id = {row.id: row for row in other.questions}
    pairs = [(row, by_id[row.id]) for row in one.questions if row.id in by_id]
    pairs = [(row, same) for row, same in pairs if row.question == same.question]
    if not pairs:
        raise EvaluationError(f"{first} and {second} have no question in common.")
    languages = sorted({row.language for row, _ in pairs if row.language})
    parts = ["", *(languages if len(languages) > 1 else ())]
    return Comparison(
        _described(first, one),
        _described(second, other),
        len(pairs),
        len(one.questions) + len(other.questions) - 2 * len(pairs),
        [difference for part in parts for difference in _differences(part, pairs)],
    )


def _described(path: Path, rows: Rows) -> dict[str, str]:
    return {"report": path.name, "made": rows.made, **rows.configuration}


def _differences(language: str, pairs: Sequence[tuple[Row, Row]]) -> Iterator[Difference]:
    for measure in MEASURES:
        values = np.array(
            [
                (row.measures[measure], other.measures[measure])
                for row, other in pairs
                if (not language or row.language == language) and measure in row.measures and measure in other.measures
            ]
        )
        if len(values):
            first, second = values.mean(axis=0).tolist()
            low, high = interval(values[:, 1] - values[:, 0])
            yield Difference(measure, language, len(values), first, second, low, high)


def interval(differences: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[float, float]:
    """The interval that holds the mean of some differences with 95 % confidence; the same each time.

    How often each value is drawn follows a multinomial distribution, which is drawn from at once: most measures have
    few different values, so that this is fast for any number of questions.
    """
    values, counts = np.unique(differences, return_counts=True)
    random = np.random.default_rng(_SEED)
    total, means = int(counts.sum()), list[float]()
    size = max(1, _AT_ONCE // len(values))
    for begun in range(0, _RESAMPLES, size):
        drawn = random.multinomial(total, counts / total, size=min(size, _RESAMPLES - begun))
        means += (drawn @ values / total).tolist()
    low, high = np.quantile(means, ((1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2)).tolist()
    return low, high
