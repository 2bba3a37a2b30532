"""What tokens cost, by model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from evaluation import EvaluationError


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a million tokens, in any currency."""

    by_model: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Read and written, by the beginning of the model's name."""

    @classmethod
    def read(cls, text: str) -> Self:
        """Read `gpt-4o-mini=0.15/0.60,gpt-4o=2.50/10`.

        Raises:
            EvaluationError: it is written otherwise.
        """
        prices = dict[str, tuple[float, float]]()
        for one in filter(None, map(str.strip, text.split(","))):
            name, _, both = one.rpartition("=")
            read, slash, written = both.partition("/")
            try:
                prices[name] = float(read), float(written)
            except ValueError:
                slash = ""
            if not name or not slash or not all(0 <= price < 1e9 for price in prices[name]):
                raise EvaluationError(f"--prices: {one!r} is not MODEL=READ/WRITTEN, such as gpt-4o-mini=0.15/0.60.")
        return cls(prices)

    def of(self, model: str, tokens: tuple[int, int] | None) -> float | None:
        """What an answer cost; None: its tokens or their price are not known."""
        fitting = [name for name in self.by_model if model.startswith(name)]
        if not fitting or tokens is None:
            return None
        read, written = self.by_model[max(fitting, key=len)]  # `gpt-4o-mini-2024-07-18` is `gpt-4o-mini`
        return (tokens[0] * read + tokens[1] * written) / 1e6
