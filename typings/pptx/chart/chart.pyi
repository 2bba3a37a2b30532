from pptx.opc.package import Part

class Chart:
    @property
    def part(self) -> Part: ...
