from collections.abc import Callable
from typing import IO

from mammoth import images as images

class Result:
    value: str

def convert_to_html(
    fileobj: IO[bytes], *, convert_image: Callable[..., object] = ..., style_map: str = ...
) -> Result: ...
