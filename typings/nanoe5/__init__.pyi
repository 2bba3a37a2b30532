from collections.abc import Sequence

import numpy as np

class E5:
    def __init__(self, *, num_threads: int) -> None: ...
    def encode(self, texts: Sequence[str], is_query: bool) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]: ...
