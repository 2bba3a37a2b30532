from enum import Enum

class XL_CHART_TYPE(Enum):
    COLUMN_CLUSTERED = 51
