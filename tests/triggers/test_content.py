"""`GET /content` reads a document once, and nothing that the answer does not need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

COUNT_READS = """
import asyncio, os, sys

name, method, *headers = sys.argv[1:]
path = os.path.realpath(os.path.join(os.environ["DATA_DIR"], "content", name))
opens = 0

def count(event, arguments):
    global opens
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        opens += os.path.realpath(arguments[0]) == path

sys.addaudithook(count)
from starlette.requests import Request
from shared.triggers.content import get_content
from shared.triggers.door import Route, answer

async def main():
    scope = {
        "type": "http",
        "method": method,
        "path": "/api/content/" + name,
        "path_params": {"path": name},
        "query_string": b"",
        "headers": [tuple(part.encode() for part in one.split(": ")) for one in ("x-ms-invocation-id: 1", *headers)],
    }
    response = await answer(Route("content", method, "content/{*path}", get_content), Request(scope))
    body = b""
    if method == "GET" and response.status_code != 304:
        body = b"".join([piece async for piece in response.body_iterator])
    print(response.status_code, response.headers.get("content-type", ""), len(body), opens, sep="; ")

asyncio.run(main())
"""
"""Answers one request and prints the status, the type, the bytes of the body, and how often the file was opened."""


@pytest.mark.parametrize(
    ("name", "asked", "answer"),
    [
        ("a.md", ["GET"], "200; text/markdown; charset=utf-8; 6; 1"),
        ("long.txt", ["GET"], "200; text/plain; charset=utf-8; 100000; 2"),  # once for each piece of 64 KiB
        ("latin.txt", ["GET"], "200; text/plain; 4; 1"),
        ("a.md", ["GET", "range: bytes=2-3"], "206; text/markdown; charset=utf-8; 2; 2"),
        ("a.md", ["HEAD"], "200; text/markdown; charset=utf-8; 0; 1"),
        ("a.md", ["GET", "if-none-match: *"], "304; ; 0; 0"),
        ("a.pdf", ["GET"], "200; application/pdf; 5; 1"),
        ("a.pdf", ["HEAD"], "200; application/pdf; 0; 0"),
    ],
)
def test_a_document_is_read_once_and_only_where_its_bytes_are_needed(
    tmp_path: Path, name: str, asked: list[str], answer: str
) -> None:
    (tmp_path / "content").mkdir()
    for each, data in {
        "a.md": b"# Tea.",
        "long.txt": b"Tea is free.\n" * 10_000,
        "latin.txt": b"Gr\xfcn",
        "a.pdf": b"%PDF-",
    }.items():
        (tmp_path / "content" / each).write_bytes(data[:100_000])
    done = subprocess.run(
        [sys.executable, "-c", COUNT_READS, name, *asked],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout.strip(), done.stderr) == (answer, "")
