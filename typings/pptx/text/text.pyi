class Paragraph:
    text: str
    level: int

class TextFrame:
    text: str
    @property
    def paragraphs(self) -> tuple[Paragraph, ...]: ...
    def add_paragraph(self) -> Paragraph: ...
