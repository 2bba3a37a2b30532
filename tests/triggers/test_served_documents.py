"""`GET /content` finds the documents that are kept, and nothing else on the disk."""

from pathlib import Path

import pytest

from shared.chat_types import Access
from shared.documents import StoredDocument
from shared.documents.file_store import FileStore
from shared.errors import NotFound
from shared.triggers.content import content_headers, content_type, find_document
from tests.documents.store_contract import replace

ADA = Access("ada")


async def found(store: FileStore, path: str) -> StoredDocument:
    """What is found for a caller who may see everything."""
    return await find_document(store, path, None, unasked)


async def unasked(_name: str, _access: Access) -> bool:
    raise AssertionError


@pytest.fixture
def content(tmp_path: Path) -> FileStore:
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "content"
    (folder / "leave").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "plan.pdf").write_bytes(b"%PDF-")
    (folder / "leave" / "Über uns.md").write_text("Grüße", encoding="utf-8")
    (folder / "Plan: 2024.pdf").write_bytes(b"%PDF-")
    (folder / "c#.md").write_text("x")
    (folder / "50% [old].txt").write_bytes("Grüße".encode("latin-1"))
    (folder / "page.html").write_text("<script>alert(1)</script>")
    (folder / "picture.SVG").write_text("<svg/>")
    (folder / "empty.txt").write_text("")
    (folder / "unknown.xyz0").write_text("x")
    (folder / ".hidden.md").write_text("secret")
    (folder / ".git" / "config.txt").write_text("secret")
    (folder / "out").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    return FileStore(folder)


@pytest.mark.parametrize(
    ("path", "name", "media_type"),
    [
        ("plan.pdf", "plan.pdf", "application/pdf"),
        ("plan.pdf#page=3", "plan.pdf", "application/pdf"),
        ("leave/Über uns.md", "leave/Über uns.md", "text/markdown; charset=utf-8"),
        ("leave/%C3%9Cber%20uns.md", "leave/Über uns.md", "text/markdown; charset=utf-8"),
        ("c#.md", "c#.md", "text/markdown; charset=utf-8"),
        ("c%23.md", "c#.md", "text/markdown; charset=utf-8"),
        ("50% [old].txt", "50% [old].txt", "text/plain"),
        ("50%25 %5Bold%5D.txt", "50% [old].txt", "text/plain"),
        ("Plan: 2024.pdf#page=3", "Plan: 2024.pdf", "application/pdf"),
        ("Plan%3A 2024.pdf#page=3", "Plan: 2024.pdf", "application/pdf"),  # as indexes of older versions name it
        ("page.html", "page.html", "text/html; charset=utf-8"),
        ("leave/U\u0308ber uns.md", "leave/Über uns.md", "text/markdown; charset=utf-8"),
        ("empty.txt", "empty.txt", "text/plain; charset=utf-8"),
        ("unknown.xyz0", "unknown.xyz0", "application/octet-stream"),
    ],
)
async def test_a_citation_leads_to_its_document(content: FileStore, path: str, name: str, media_type: str) -> None:
    document = await found(content, path)
    headers = content_headers(document)
    assert document.name == name
    assert await content_type(content, document, None) == media_type
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "~", "leave", "out", "no.pdf", "plan.pdf/x", "plan.pdf\0", "a" * 5000, "a" * 300),
        *("../secret.txt", "leave/../../secret.txt", "up/secret.txt", "....//secret.txt", "/etc/passwd"),
        *("..%2Fsecret.txt", "%2e%2e/secret.txt", "%252e%252e/secret.txt", "..\\secret.txt", "..%5Csecret.txt"),
        *(".hidden.md", "%2Ehidden.md", ".git/config.txt", "plan.pdf%00", "\udcfc.md", "%FF.md", "leave//x", "#", "%"),
    ],
)
async def test_everything_else_is_not_found(content: FileStore, path: str) -> None:
    with pytest.raises(NotFound):
        await found(content, path)


async def test_only_what_the_caller_may_see_is_looked_for(content: FileStore) -> None:
    asked: list[str] = []

    async def may_see(name: str, access: Access) -> bool:
        assert access == ADA
        asked.append(name)
        return name == "plan.pdf"

    assert (await find_document(content, "plan.pdf#page=3", ADA, may_see)).name == "plan.pdf"
    assert asked == ["plan.pdf#page=3", "plan.pdf"]
    with pytest.raises(NotFound) as hidden:
        await find_document(content, "page.html", ADA, may_see)
    with pytest.raises(NotFound) as missing:
        await find_document(content, "no.pdf", ADA, may_see)
    assert hidden.value.message == missing.value.message


@pytest.mark.parametrize(
    ("name", "sandboxed"),
    [
        *((name, True) for name in ("page.html", "page.htm", "picture.SVG", "list.xml", "style.xsl", "graph.rdf")),
        *((name, True) for name in ("plan.docx", "program.js", "no-suffix", "data:TEXT/HTML,evil.js")),
        *((name, True) for name in ("mail.eml", "mail.msg", "book.epub", "notes.rtf", "macros.xlsm", "slides.pptx")),
        *((name, False) for name in ("plan.pdf", "notes.md", "table.csv", "picture.png", "data:TEXT/HTML,evil.txt")),
    ],
)
async def test_a_document_that_is_not_known_to_be_harmless_is_sandboxed(
    content: FileStore, name: str, *, sandboxed: bool
) -> None:
    await replace(content, name, b"x")
    headers = content_headers(await found(content, name))
    assert headers.get("content-security-policy") == ("sandbox" if sandboxed else None)


@pytest.mark.parametrize(
    ("path", "disposition"),
    [
        ("plan.pdf", 'inline; filename="plan.pdf"'),
        ("leave/Über uns.md", "inline; filename*=UTF-8''%C3%9Cber%20uns.md"),
        ("50% [old].txt", "inline; filename*=UTF-8''50%25%20%5Bold%5D.txt"),
        ("plan.docx", 'attachment; filename="plan.docx"'),
        ("mail.eml", 'attachment; filename="mail.eml"'),
        ("prices.xlsx", 'attachment; filename="prices.xlsx"'),
        ("data:TEXT/HTML,evil.js", "attachment; filename*=UTF-8''HTML%2Cevil.js"),
    ],
)
async def test_a_document_is_shown_under_its_own_name(content: FileStore, path: str, disposition: str) -> None:
    await replace(content, path, b"x")
    headers = content_headers(await found(content, path))
    assert headers["content-disposition"] == disposition


async def test_a_folder_that_does_not_exist_has_no_documents(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await found(FileStore(tmp_path / "none"), "plan.pdf")
