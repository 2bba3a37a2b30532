from pptx.shapes.base import BaseShape
from pptx.shapes.shapetree import Shapes

class GroupShape(BaseShape):
    @property
    def shapes(self) -> Shapes: ...
