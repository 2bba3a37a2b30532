"""What a test uses of ir_measures, whose types are not whole."""

from collections.abc import Iterable

class Measure:
    def __matmul__(self, cutoff: int) -> Measure: ...

RR: Measure
Success: Measure
nDCG: Measure

class Qrel:
    def __init__(self, query_id: str, doc_id: str, relevance: int) -> None: ...

class ScoredDoc:
    def __init__(self, query_id: str, doc_id: str, score: float) -> None: ...

def calc_aggregate(
    measures: Iterable[Measure], qrels: Iterable[Qrel], run: Iterable[ScoredDoc]
) -> dict[Measure, float]: ...
