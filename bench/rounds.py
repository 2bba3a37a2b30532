"""Rounds: everything that is compared is measured once a round, so that what the machine does hits all of it alike."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles

_LEAST = 1e-6
"""What is nothing in any unit: a ratio to it is only known to be large."""

type Measure = Callable[[], Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Ratio:
    """One thing's share of another, round by round."""

    middle: float
    """The median."""
    low: float
    """A quarter of the rounds are below."""
    high: float
    """A quarter of the rounds are above."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came out of some rounds."""

    what: str
    """What was measured, and how."""
    unit: str
    """Of the values."""
    values: dict[str, list[float]]
    """By name: one value a round."""
    bases: tuple[str, ...]
    """The names that the others are compared with."""

    def ratio(self, name: str, base: str) -> Ratio:
        """One against another, of the same round each."""
        ratios = [value / max(other, _LEAST) for value, other in zip(self.values[name], self.values[base], strict=True)]
        low, _, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        return Ratio(median(ratios), low, high)

    def ratios(self, name: str) -> dict[str, Ratio]:
        """One against each base but itself."""
        return {base: self.ratio(name, base) for base in self.bases if base != name}

    def lines(self) -> list[str]:
        """A table for people: the medians, and the ratios with the middle half of the rounds."""
        lines = [f"{self.what} [{self.unit}]"]
        for name, values in self.values.items():
            ratios = "".join(
                f"   {ratio.middle:6.2f} x {base} ({ratio.low:.2f} to {ratio.high:.2f})"
                for base, ratio in self.ratios(name).items()
            )
            lines.append(f"  {name:24}{median(values):9.2f}{ratios}")
        return lines

    def document(self) -> dict[str, object]:
        """The same for machines, with the value of each round."""
        rows = {
            name: {
                "median": median(values),
                "rounds": values,
                "ratios": {
                    base: {"median": ratio.middle, "low": ratio.low, "high": ratio.high}
                    for base, ratio in self.ratios(name).items()
                },
            }
            for name, values in self.values.items()
        }
        return {"what": self.what, "unit": self.unit, "results": rows}


async def by_turns(measures: Mapping[str, Measure], rounds: int) -> dict[str, list[float]]:
    """Measure each once a round; a first round does not count."""
    values: dict[str, list[float]] = {name: [] for name in measures}
    for number in range(rounds + 1):
        for name, measure in measures.items():
            value = await measure()
            if number:
                values[name].append(value)
    return values
