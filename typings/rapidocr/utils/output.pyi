from collections.abc import Sequence
from typing import Any

import numpy as np

class RapidOCROutput:
    boxes: np.ndarray[tuple[int, ...], np.dtype[Any]] | None
    txts: Sequence[str] | None
