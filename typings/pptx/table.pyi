from collections.abc import Sequence

class Cell:
    text: str
    is_merge_origin: bool
    span_height: int
    span_width: int
    def merge(self, other_cell: Cell) -> None: ...

class Row:
    @property
    def cells(self) -> Sequence[Cell]: ...

class Table:
    @property
    def rows(self) -> Sequence[Row]: ...
    def cell(self, row_idx: int, col_idx: int) -> Cell: ...
