"""What a test uses of SciPy, which has no types."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

class _Interval:
    low: float
    high: float

class _Result:
    confidence_interval: _Interval

def bootstrap(
    data: Sequence[np.ndarray[Any, np.dtype[np.float64]]],
    statistic: Callable[..., Any],
    *,
    method: str = ...,
    n_resamples: int = ...,
    rng: np.random.Generator = ...,
) -> _Result: ...
