from collections.abc import Iterator
from typing import IO

from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.shapes import PROG_ID
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape

class Shapes:
    title: BaseShape
    def __iter__(self) -> Iterator[BaseShape]: ...
    def add_table(self, rows: int, cols: int, left: int, top: int, width: int, height: int) -> GraphicFrame: ...
    def add_group_shape(self) -> GroupShape: ...
    def add_textbox(self, left: int, top: int, width: int, height: int) -> BaseShape: ...
    def add_chart(
        self, chart_type: XL_CHART_TYPE, x: int, y: int, cx: int, cy: int, chart_data: CategoryChartData
    ) -> GraphicFrame: ...
    def add_ole_object(self, object_file: IO[bytes], prog_id: PROG_ID, left: int, top: int) -> GraphicFrame: ...
