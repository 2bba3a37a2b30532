from xml.etree.ElementTree import Element

from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.text.text import TextFrame

class _PlaceholderFormat:
    type: PP_PLACEHOLDER

class BaseShape:
    element: Element
    top: int | None
    left: int | None
    is_placeholder: bool
    has_text_frame: bool
    placeholder_format: _PlaceholderFormat
    @property
    def text_frame(self) -> TextFrame: ...
