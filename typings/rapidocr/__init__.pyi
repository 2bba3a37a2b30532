from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
from rapidocr.utils.output import RapidOCROutput

type _Pixels = np.ndarray[tuple[int, ...], np.dtype[Any]]

class TextDetOutput:
    boxes: _Pixels | None

class TextClsOutput:
    cls_res: list[tuple[str, float]] | None

class RapidOCR:
    def __init__(self, *, params: Mapping[str, object]) -> None: ...
    @overload
    def __call__(
        self, img_content: _Pixels, use_det: Literal[True], use_cls: Literal[False], use_rec: Literal[False]
    ) -> TextDetOutput: ...
    @overload
    def __call__(
        self, img_content: _Pixels, use_det: Literal[False], use_cls: Literal[True], use_rec: Literal[False]
    ) -> TextClsOutput: ...
    @overload
    def __call__(
        self, img_content: _Pixels, use_det: Literal[True], use_cls: bool, use_rec: Literal[True]
    ) -> RapidOCROutput: ...
