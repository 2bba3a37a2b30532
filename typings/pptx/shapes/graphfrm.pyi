from pptx.chart.chart import Chart
from pptx.shapes.base import BaseShape
from pptx.table import Table

class GraphicFrame(BaseShape):
    has_table: bool
    has_chart: bool
    @property
    def table(self) -> Table: ...
    @property
    def chart(self) -> Chart: ...
