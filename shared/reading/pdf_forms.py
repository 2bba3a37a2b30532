"""What a PDF holds besides the text of its pages: notes, form fields, forms of the XFA kind, and attached files."""

import ctypes
from collections.abc import Callable, Iterator
from xml.etree.ElementTree import Element

from pypdfium2 import PdfDocument, PdfPage, raw

from shared.reading import Page, office_parts, packages
from shared.reading.limits import ReadLimits, check_limit

_XFA_HIDDEN = ("hidden", "invisible", "inactive")
_NAME_SIZE = 1024
"""Bytes of the name of a part of a form, at most."""


def typed_onto(page: PdfPage) -> Iterator[str]:
    """The notes on a page, and the values of its form fields, each with the name of the field."""
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        note = raw.FPDFPage_GetAnnot(page, index)
        kind = raw.FPDFAnnot_GetSubtype(note)
        if kind == raw.FPDF_ANNOT_WIDGET and page.formenv:
            value = _text_of(raw.FPDFAnnot_GetFormFieldValue, page.formenv, note)
            if value not in ("", "Off"):
                yield f"{_text_of(raw.FPDFAnnot_GetFormFieldName, page.formenv, note)}: {value}"
        elif kind not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_WIDGET):
            yield _text_of(raw.FPDFAnnot_GetStringValue, note, b"Contents")
        raw.FPDFPage_CloseAnnot(note)


def read_attachments(document: PdfDocument, limits: ReadLimits) -> list[Page]:
    """The text of the files that are attached to a document and to its pages, as one page without a number."""
    check_limit(document.count_attachments(), limits.parts, "attachments")
    attached = map(document.get_attachment, range(document.count_attachments()))
    text, left_out = office_parts.read_embedded(((one.get_name(), bytes(one.get_data())) for one in attached), limits)
    return [Page(text, left_out=left_out)] if text else []


def xfa_form(document: PdfDocument, limits: ReadLimits) -> Page | None:
    """Read a form whose pages are made when it is opened, by its template and its data; None if it is no such form.

    Its one page says "Please wait". Source: XML Forms Architecture 3.3, 'Template Specification'.
    """
    if raw.FPDF_GetFormType(document) != raw.FORMTYPE_XFA_FULL:
        return None
    packets: dict[str, Element] = {}
    for index in range(raw.FPDF_GetXFAPacketCount(document)):
        name = ctypes.create_string_buffer(_NAME_SIZE)
        raw.FPDF_GetXFAPacketName(document, index, name, _NAME_SIZE)
        size = ctypes.c_ulong()
        raw.FPDF_GetXFAPacketContent(document, index, None, 0, size)
        check_limit(size.value, limits.markup_bytes, packages.MARKUP)
        content = ctypes.create_string_buffer(size.value)
        raw.FPDF_GetXFAPacketContent(document, index, content, size.value, size)
        if (kind := name.value.decode("utf-8", "replace")) in ("template", "datasets"):
            packets[kind] = packages.parse_xml(content.raw[: size.value])
    data = packets["datasets"].iterfind("{*}data//*") if "datasets" in packets else ()
    values: dict[str, list[str]] = {}
    for leaf in data:
        if not len(leaf) and leaf.text and leaf.text.strip():
            values.setdefault(packages.local_name(leaf), []).append(leaf.text.strip())
    lines = [*filter(None, _shown(packets["template"], values))] if "template" in packets else []
    rest = (f"{name}: {', '.join(found)}" for name, found in values.items())
    return Page("\n\n".join((*lines, *rest)), 1)


def _shown(element: Element, values: dict[str, list[str]]) -> Iterator[str]:
    """The texts of a part of a form, with the values of its fields, which are taken out of those that are given."""
    for child in element:
        if child.get("presence") in _XFA_HIDDEN:
            continue
        if packages.local_name(child) not in ("draw", "field"):
            yield from _shown(child, values)
            continue
        label, own = (_words(child.iterfind(path)) for path in ("{*}caption/{*}value", "{*}value"))
        filled = ", ".join(values.pop(child.get("name", ""), []))
        if packages.local_name(child) == "field":
            yield ": ".join(filter(None, (label or (child.get("name", "") if filled or own else ""), filled or own)))
        elif own:
            yield own


def _words(elements: Iterator[Element]) -> str:
    values = (value for one in elements for value in one if packages.local_name(value) != "image")
    return " ".join(" ".join(part for value in values for part in value.itertext()).split())


def _text_of(get: Callable[..., int], *of: object) -> str:
    size = get(*of, None, 0)
    text = ctypes.create_string_buffer(size)
    get(*of, ctypes.cast(text, ctypes.POINTER(ctypes.c_ushort)), size)
    return text.raw[:size].decode("utf-16-le", "replace").rstrip("\0").strip()
