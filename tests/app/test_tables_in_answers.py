"""Each cell of a PDF's table is answered when it is asked for."""

from pathlib import Path

import aiohttp
import pytest

from tests.app.conftest import hosted
from tests.app.test_answers import body
from tests.app.test_from_documents_to_answers import index
from tests.reading.pdf_tables import BIRDS, GRID, pdf, table, text

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_each_cell_of_a_table_is_answered_with_its_page(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    bears = [
        ("Bear", "Guide", "Hut", "Hour"),
        ("Grizzly", "Anna Berg", "Creek", "07:30"),
        ("Panda", "Luis Ode", "Bamboo", "16:15"),
    ]
    bears.append(("Polar bear", "Mia Frost", "Ice", "11:45"))
    (documents / "birds.pdf").write_bytes(pdf(text(10), table(BIRDS, [GRID])))
    (documents / "bears.pdf").write_bytes(pdf(text(12), table(bears, [], 12)))
    await index(tmp_path / "data", {}, documents)
    async with hosted(tmp_path / "data", {}) as host:
        for file, rows in (("birds.pdf", BIRDS), ("bears.pdf", bears)):
            for name, *values in rows[1:]:
                for head, value in zip(rows[0][1:], values, strict=True):
                    async with http.post(
                        host.url + "/chat", json=body(f"What is the {head} of the {name}?")
                    ) as response:
                        answer = (await response.json())["message"]["content"]
                    assert value in answer, (head, name)
                    assert f"[{file}#page=1]" in answer
