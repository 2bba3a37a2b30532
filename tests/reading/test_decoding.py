"""Text files come out right, whatever wrote them."""

import codecs
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.reading import UnreadableError
from shared.reading.plain_text import clean, decode
from tests.reading.sources import read_pages

GERMAN = "Für Beschäftigte gilt: Größere Pausen kosten 30 € – „heute“ wie übermorgen."
FRENCH = "L'assurance santé des employés est payée à moitié. Où est-ce écrit ? Déjà vu, garçon."
POLISH = "Pracownicy mają prawo do dwudziestu pięciu dni urlopu. Zażółć gęślą jaźń."
ITALIAN = "Città;Quantità;Perché\nForlì;3;è più vicino\nCantù;5;c'è posto"
CZECH = "Vaše žádost je příliš dlouhá. Žák píše úkol každý den večer."
GREEK = "Άδεια: οι εργαζόμενοι δικαιούνται είκοσι πέντε ημέρες."
RUSSIAN = "Отпуск составляет двадцать пять дней в году для всех сотрудников."
JAPANESE = "従業員は年間二十五日の休暇を取ることができます。会社が保険料を支払います。"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((text, "utf-8") for text in (GERMAN, FRENCH, POLISH, RUSSIAN, JAPANESE)),
        *((GERMAN, encoding) for encoding in ("utf-8-sig", "utf-16", "utf-32", "cp1252")),
        *((FRENCH, encoding) for encoding in ("cp1252", "latin-1")),
        *(("Grüße aus Köln", encoding) for encoding in ("cp1252", "latin-1")),
        *((text, "cp1252") for text in (ITALIAN, "Martedì è chiuso perché c'è la riunione", "La mañana es buena.")),
        *((text, "cp1252") for text in ("Où est-ce écrit ?", "A reunião é às nove, não às dez.")),
        *((text, encoding) for text in (POLISH, CZECH) for encoding in ("cp1250", "iso8859-2")),
        (GREEK, "cp1253"),
        *((RUSSIAN, encoding) for encoding in ("cp1251", "koi8-r", "cp866", "iso8859-5")),
        *((JAPANESE, encoding) for encoding in ("shift-jis", "euc-jp", "iso2022-jp")),
        *((GERMAN, encoding) for encoding in ("utf-16-le", "utf-16-be")),
    ],
)
def test_text_is_read_in_the_encoding_it_was_written_in(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@given(st.text())
def test_utf_8_is_never_taken_for_anything_else(text: str) -> None:
    without_controls = "".join(character for character in text if character not in "\0\x1b\ufeff")
    assert decode(without_controls.encode()) == without_controls


@pytest.mark.parametrize(
    ("encoding", "declaration", "written_in"),
    [
        ("utf-8", '<meta charset="utf-8">', "utf-8"),
        ("latin-1", '<meta http-equiv="Content-Type" content="text/html; charset=ISO-8859-1">', "cp1252"),
        ("koi8-r", "<meta charset=koi8-r>", "koi8-r"),
        ("iso-2022-jp", '<META CHARSET="iso-2022-jp">', "iso-2022-jp"),
        ("wrong", '<meta charset="latin-1">', "utf-8"),
        ("unknown", '<meta charset="no-such-encoding">', "cp1252"),
        ("none", "", "utf-16"),
        ("xml", '<?xml version="1.0" encoding="windows-1251"?>', "cp1251"),
    ],
)
def test_html_is_read_as_it_declares_unless_it_is_wrong(encoding: str, declaration: str, written_in: str) -> None:
    text = {"koi8-r": RUSSIAN, "xml": RUSSIAN, "iso-2022-jp": JAPANESE}.get(encoding, GERMAN)
    page = f"{declaration}<html><body><p>{text}</p></body></html>".encode(written_in)
    assert read_pages(page, ".html")[0].text == text


@pytest.mark.parametrize(
    "data",
    [codecs.BOM_UTF16_LE + b"\x00\xd8", codecs.BOM_UTF8 + b"\xff", bytes(range(256)) * 8, bytes(1000)],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableError, match="save it as UTF-8"):
        decode(data)


@pytest.mark.parametrize("declared", ["punycode", "PunyCode", "idna"])
def test_an_encoding_of_domain_names_is_none_of_documents(declared: str) -> None:
    """Python reads a long text in one for hours; the Escape has the declaration count."""
    with pytest.raises(UnreadableError, match="save it as UTF-8"):
        decode(b"\x1bTea is free-baaabaaa", declared)


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("A\0\x07B\x1b[0m\u200b\ufeff", "AB[0m"),
        ("U\u0308ber", "Über"),
        ("Ver\u00adsicherung, o\ufb03ce, \ufb01le", "Versicherung, office, file"),
        ("one\r\ntwo\rthree\x85four\u2028five", "one\ntwo\nthree\nfour\nfive"),
        ("one\n\n\n\ntwo  \n", "one\n\ntwo"),
        ("30\u00a0€\tnow", "30 €\tnow"),
        ("👩\u200d👧 می\u200cخواهم", "👩\u200d👧 می\u200cخواهم"),
    ],
)
def test_text_is_cleaned_of_what_is_not_text(dirty: str, cleaned: str) -> None:
    assert clean(dirty) == cleaned


@given(st.text())
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


def test_spaces_without_end_are_looked_at_once() -> None:
    """A pattern that looks at a run again from each of its spaces takes hours: the runner's limit ends it."""
    assert clean("word" + " " * 2_000_000 + "x") == "word" + " " * 2_000_000 + "x"


@pytest.mark.parametrize("marks", [30, 31, 100_000])
def test_the_marks_of_a_letter_stay_up_to_what_any_language_needs(marks: int) -> None:
    """To order more of them, as NFC does, takes for ever."""
    kept = unicodedata.normalize("NFC", "a" + "\u0323" * 30)
    assert clean("a" + "\u0323" * marks + "я" * 100) == kept + "я" * 100
