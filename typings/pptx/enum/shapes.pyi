from enum import Enum

class PP_PLACEHOLDER(Enum):
    BODY = 2
    CENTER_TITLE = 3
    DATE = 16
    FOOTER = 15
    HEADER = 14
    OBJECT = 7
    SLIDE_IMAGE = 101
    SLIDE_NUMBER = 13
    TITLE = 1
    VERTICAL_BODY = 6
    VERTICAL_TITLE = 5

class PROG_ID(Enum):
    XLSX = ...
