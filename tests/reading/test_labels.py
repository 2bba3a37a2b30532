"""Sensitivity labels of files that libraries of others have written, as Office and Purview keep them."""

import io
from collections.abc import Mapping
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from pptx import Presentation
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI

from shared.reading.after_reading import label_of
from shared.reading.limits import DOCUMENT_LIMITS
from shared.reading.readers import read_all_pages
from tests.hostile.office_files import LAUGHS
from tests.reading.sources import read_pages

FILES = Path(__file__).parent / "files"
FIRST, SECOND = "2096f6a2-d2f7-48be-b329-b73aaa526e5d", "3096F6A2-d2f7-48be-b329-b73aaa526e5d"
OF_PROPERTIES = "http://schemas.openxmlformats.org/officeDocument/2006/custom-properties"
CUSTOM = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/custom-properties"
LABELS = "http://schemas.microsoft.com/office/2020/02/relationships/classificationlabels"


def marks(label: str = FIRST, enabled: str = "true", name: str = "Confidential") -> dict[str, str]:
    before = f"MSIP_Label_{label}"
    return {f"{before}_Enabled": enabled, f"{before}_Method": "Standard", f"{before}_Name": name}


def workbook(properties: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        book.add_worksheet("Bonus").write_row(0, 0, ["Bonus", 7])
        for name, value in properties.items():
            book.set_custom_property(name, value)
    return file.getvalue()


def presentation(parts: Mapping[str, str]) -> bytes:
    """A presentation with further parts, by their relationships."""
    made: Any = Presentation()
    made.slides.add_slide(made.slide_layouts[0]).shapes.title.text_frame.text = "Bonus"
    for kind, text in parts.items():
        name = "/docProps/custom.xml" if kind == CUSTOM else "/docMetadata/LabelInfo.xml"
        part = Part(PackURI(name), "application/xml", made.part.package, text.encode())
        made.part.package.relate_to(part, kind)
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def properties(text: str, before: str = "") -> str:
    name = f"MSIP_Label_{FIRST}"
    enabled = f'<property name="{name}_Enabled"><lpwstr>true</lpwstr></property>'
    return (
        f'{before}<Properties xmlns="{OF_PROPERTIES}">{enabled}'
        f'<property name="{name}_Name"><lpwstr>{text}</lpwstr></property></Properties>'
    )


def label_info(**more: str) -> str:
    has = {"id": f"{{{FIRST}}}", "enabled": "1", "method": "Standard", "removed": "0"} | more
    named = " ".join(f'{name}="{value}"' for name, value in has.items())
    return f'<c:labelList xmlns:c="c"><c:label {named}/></c:labelList>'


def mail(labels: str) -> bytes:
    made = EmailMessage()
    made["Subject"], made["msip_labels"] = "Bonus", labels
    made.set_content("It is 7 %.")
    return made.as_bytes()


MAILED = ";".join(f" {name}={value}" for name, value in marks(name="Internal use and no other").items())
KINDS: dict[str, tuple[str, bytes, str]] = {
    "a workbook": (".xlsx", workbook(marks() | {"Sheets": "7"}), "Confidential"),
    "one whose label was taken away": (".xlsx", workbook(marks(enabled="false")), ""),
    "one with another label since": (".xlsx", workbook(marks(enabled="False") | marks(SECOND, "True", "Open")), "Open"),
    "one without a label": (".xlsx", workbook({"MSIP_Label_Name": "true"}), ""),
    "a name of many lines": (".xlsx", workbook(marks(name="Very\n secret " + "x" * 200)), "Very secret " + "x" * 88),
    "a presentation": (".pptx", presentation({CUSTOM: properties("Secret")}), "Secret"),
    "one with both parts": (".pptx", presentation({CUSTOM: properties("Secret"), LABELS: label_info()}), "Secret"),
    "one whose label has only an id": (".pptx", presentation({LABELS: label_info()}), FIRST),
    "one that the newer part frees": (
        ".pptx",
        presentation({CUSTOM: properties("Secret"), LABELS: label_info(removed="1")}),
        "",
    ),
    "one whose properties would never end": (".pptx", presentation({CUSTOM: properties("&e9;", LAUGHS)}), "&e9;"),
    "a PDF": (".pdf", (FILES / "labelled.pdf").read_bytes(), "Vertraulich (ä)"),
    "one that packs its objects": (".pdf", (FILES / "labelled-packed.pdf").read_bytes(), "Vertraulich (ä)"),
    "one that has it in XMP": (".pdf", (FILES / "labelled-xmp.pdf").read_bytes(), "R&D only"),
    "one that has none": (".pdf", (FILES / "three-pages.pdf").read_bytes(), ""),
    "an e-mail": (".eml", mail(MAILED), "Internal use and no other"),
    "one without": (".eml", mail("none"), ""),
    "a text": (".txt", MAILED.encode(), ""),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_has_the_name_of_its_sensitivity_label(kind: str) -> None:
    suffix, data, label = KINDS[kind]
    stated = read_all_pages(data, suffix)[0].stated.sensitivity if suffix == ".eml" else None
    assert (stated or label_of(data, suffix, DOCUMENT_LIMITS)) == label


@pytest.mark.parametrize("kind", ["a workbook", "one whose properties would never end"])
def test_pages_have_the_label_of_their_document_and_are_read_without_it(kind: str) -> None:
    suffix, data, label = KINDS[kind]
    assert {one.stated.sensitivity for one in read_pages(data, suffix)} == {label}
