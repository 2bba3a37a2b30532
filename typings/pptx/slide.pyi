from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from pptx.shapes.base import BaseShape
from pptx.shapes.shapetree import Shapes
from pptx.text.text import TextFrame

class SlideLayout: ...

class _Part:
    partname: str
    @property
    def blob(self) -> bytes: ...
    @property
    def rels(self) -> Mapping[str, _Relation]: ...

class _Relation:
    reltype: str
    is_external: bool
    target_part: _Part

class _Element(Element): ...

class NotesSlide:
    element: _Element
    @property
    def shapes(self) -> Shapes: ...
    @property
    def notes_text_frame(self) -> TextFrame | None: ...

class Slide:
    element: _Element
    part: _Part
    has_notes_slide: bool
    @property
    def notes_slide(self) -> NotesSlide: ...
    @property
    def shapes(self) -> Shapes: ...
    @property
    def placeholders(self) -> Mapping[int, BaseShape]: ...

class Slides:
    def __iter__(self) -> Iterator[Slide]: ...
    def __len__(self) -> int: ...
    def add_slide(self, slide_layout: SlideLayout) -> Slide: ...
