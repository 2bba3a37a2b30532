from pypdfium2 import PdfTextPage

FPDF_ERR_PASSWORD: int

def FPDFText_GetUnicode(text_page: PdfTextPage, index: int) -> int: ...
