"""Two runs side by side: the difference of each measure, with the confidence that a paired bootstrap gives it.

Source: Efron and Tibshirani, 'An Introduction to the Bootstrap' (1993), chapter 13, percentile intervals; questions are
drawn with replacement, and both runs' values of a question stay together.
"""

import hashlib
import sys
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
from msgspec import structs

from evaluation import EvaluationError
from evaluation.report import MEASURES, MOST_GROUPS, Row, read_rows

type Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_RESAMPLES = 10_000
_CONFIDENCE = 0.95
_SEED = 7
_PARTS = 100
"""Into which the values between the ends are parted, where there are many different ones."""
_ENDS = 50
"""The lowest and the highest values, each a part of its own: one that is far out alone moves the mean."""
_MISSING = (float("nan"),) * len(MEASURES)


class Difference(msgspec.Struct, frozen=True):
    """How a measure differs between two runs."""

    measure: str
    """Its name."""
    language: str
    """Of the questions; empty: any."""
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
    category: str = ""
    """Of the questions; empty: any."""

    @property
    def is_certain(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


class Comparison(msgspec.Struct, frozen=True):
    """Two runs."""

    first: Mapping[str, str]
    """What the first measured."""
    second: Mapping[str, str]
    """What the second measured."""
    shared: int
    """Questions that both have."""
    left_out: int
    """Questions that one of them lacks, or asks otherwise."""
    differences: list[Difference]
    """By measure; first over all questions, then by language, then by category."""


def compare(first: Path, second: Path) -> Comparison:
    """Compare two reports.

    Raises:
        EvaluationError: one is no report, or they share no question.
    """
    one, other = _Run(first), _Run(second)
    shared = [(place, other.places[key]) for key, place in one.places.items() if key in other.places]
    if not shared:
        raise EvaluationError(f"{first} and {second} have no question in common.")
    mine, theirs = np.array(shared).T
    before, after = one.values[mine], other.values[theirs]
    differences = [*_differences(before, after)]
    for kind, by_row in (("language", one.languages), ("category", one.categories)):
        groups = np.array(by_row, dtype=object)[mine]
        if len(names := sorted({*groups.tolist()} - {""})) > 1:
            for name in names[:MOST_GROUPS]:
                found = _differences(before[groups == name], after[groups == name])
                differences += [structs.replace(difference, **{kind: name}) for difference in found]
    return Comparison(
        one.described,
        other.described,
        len(shared),
        len(one.places) + len(other.places) - 2 * len(shared),
        differences,
    )


class _Run:
    """What a comparison keeps of a report, which may have 100,000 questions: numbers, and a digest for each."""

    def __init__(self, path: Path) -> None:
        rows = read_rows(path)
        self.described: Mapping[str, str] = {"report": path.name, "made": rows.made, **rows.configuration}
        self.places: dict[bytes, int] = {}
        """The row of each question."""
        self.languages: list[str] = []
        """By row."""
        self.categories: list[str] = []
        """By row."""
        values = array("d")
        for place, row in enumerate(rows):
            self.places[_digest(row)] = place
            self.languages.append(sys.intern(row.language))
            self.categories.append(sys.intern(row.category))
            values.extend(map(row.measures.get, MEASURES, _MISSING))
        self.values: Floats = np.array(values).reshape(-1, len(MEASURES))
        """By row and measure; NaN: not measured."""


def _digest(row: Row) -> bytes:
    return hashlib.blake2b(msgspec.json.encode((row.id, row.question)), digest_size=16).digest()


def _differences(before: Floats, after: Floats) -> Iterator[Difference]:
    for number, measure in enumerate(MEASURES):
        first, second = before[:, number], after[:, number]
        both = ~(np.isnan(first) | np.isnan(second))
        if count := int(both.sum()):
            first, second = first[both], second[both]
            low, high = interval(second - first)
            yield Difference(measure, "", count, float(first.mean()), float(second.mean()), low, high)


def interval(differences: Floats) -> tuple[float, float]:
    """The interval that holds the mean of some differences with 95 % confidence; the same each time.

    How often each value is drawn follows a multinomial distribution, which is drawn from at once. Many different values
    are parted into neighbours first: how often each part is drawn is drawn too, and what its draws add up to is taken
    to be normal, with their mean and variance. So the time does not grow with the questions.
    """
    values, counts = np.unique(differences, return_counts=True)
    if len(values) > _PARTS + 2 * _ENDS:
        size = len(differences)
        between = np.linspace(_ENDS, size - _ENDS, _PARTS, dtype=int)
        parts = np.split(np.sort(differences), np.unique([*range(1, _ENDS), *between, *range(size - _ENDS, size)]))
        values, counts, spread = (np.array([of(part) for part in parts]) for of in (np.mean, len, np.var))
    else:
        spread = np.zeros(len(values))
    random = np.random.default_rng(_SEED)
    total = int(counts.sum())
    drawn = random.multinomial(total, counts / total, size=_RESAMPLES)
    means = (drawn @ values + np.sqrt(drawn @ spread) * random.standard_normal(_RESAMPLES)) / total
    low, high = np.quantile(means, ((1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2)).tolist()
    return low, high
