from collections.abc import Sequence

class CategoryChartData:
    categories: Sequence[str]
    def add_series(self, name: str, values: Sequence[float]) -> object: ...
