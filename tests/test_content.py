"""`GET /content` finds the indexed documents, and nothing else on the disk."""

from pathlib import Path

import pytest

from shared.content import find_document
from shared.errors import NotFound


@pytest.fixture
def content(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "content"
    (folder / "leave").mkdir(parents=True)
    (folder / "plan.pdf").write_bytes(b"%PDF-")
    (folder / "leave" / "Über uns.md").write_text("Grüße", encoding="utf-8")
    (folder / "c#.md").write_text("x")
    (folder / "50% [old].txt").write_bytes("Grüße".encode("latin-1"))
    (folder / "page.html").write_text("<script>alert(1)</script>")
    (folder / "out").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    return folder


@pytest.mark.parametrize(
    ("path", "name", "media_type"),
    [
        ("plan.pdf", "plan.pdf", "application/pdf"),
        ("plan.pdf#page=3", "plan.pdf", "application/pdf"),
        ("leave/Über uns.md", "Über uns.md", "text/markdown; charset=utf-8"),
        ("leave/%C3%9Cber%20uns.md", "Über uns.md", "text/markdown; charset=utf-8"),
        ("c#.md", "c#.md", "text/markdown; charset=utf-8"),
        ("c%23.md", "c#.md", "text/markdown; charset=utf-8"),
        ("50% [old].txt", "50% [old].txt", "text/plain"),
        ("50%25 %5Bold%5D.txt", "50% [old].txt", "text/plain"),
        ("page.html", "page.html", "text/html; charset=utf-8"),
    ],
)
def test_a_citation_leads_to_its_document(content: Path, path: str, name: str, media_type: str) -> None:
    document = find_document(content, path)
    assert document.path.name == name
    assert document.headers["content-type"] == media_type
    assert document.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "~", "leave", "out", "no.pdf", "plan.pdf/x", "plan.pdf\0", "a" * 5000),
        *("../secret.txt", "leave/../../secret.txt", "up/secret.txt", "....//secret.txt", "/etc/passwd"),
        *("..%2Fsecret.txt", "%2e%2e/secret.txt"),
    ],
)
def test_everything_else_is_not_found(content: Path, path: str) -> None:
    with pytest.raises(NotFound):
        find_document(content, path)


def test_a_document_with_scripts_is_sandboxed(content: Path) -> None:
    assert find_document(content, "page.html").headers["content-security-policy"] == "sandbox"
    assert "content-security-policy" not in find_document(content, "plan.pdf").headers


def test_a_folder_that_does_not_exist_has_no_documents(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        find_document(tmp_path / "none", "plan.pdf")
