from collections.abc import Iterable, Sequence

from pptx.text.text import TextFrame

class ChartTitle:
    has_text_frame: bool
    text_frame: TextFrame

class Series:
    name: str
    values: tuple[float | None, ...]

class Plot:
    series: Iterable[Series]
    categories: Iterable[str]

class Chart:
    has_title: bool
    chart_title: ChartTitle
    @property
    def plots(self) -> Sequence[Plot]: ...
