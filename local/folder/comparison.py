"""A folder, its copies in the store, and what the index has, side by side."""

import os
from collections.abc import AsyncGenerator, Iterable
from functools import partial
from pathlib import Path
from unicodedata import normalize

from local.folder import ClosedFolder, FoundFile
from shared.documents import is_name
from shared.ingestion import FileReport, Outcome
from shared.ingestion.comparison import Comparison, together

_TWIN = "has the same name as another but for how its accents are encoded; rename one."


class FolderComparison(Comparison):
    """A comparison of a folder with the index."""

    async def add_stored(self, names: AsyncGenerator[str]) -> None:
        """Add the names of the documents that a store has."""
        async for some in together(names):
            composed = [(normalize("NFC", name), 1) for name in some if is_name(name)]
            await self.run(partial(self.fill, "is_stored", composed))

    def add_files(self, listing: Iterable[FoundFile | FileReport]) -> None:
        """Add the files of a folder, and the reports on others. Call it in `run`: the folder is listed meanwhile."""
        closed: list[str] = []
        for found in listing:
            if isinstance(found, FoundFile):
                self._add(found)
            else:
                self.report([found])
            if isinstance(found, ClosedFolder):
                closed.append(found.prefix)
        for prefix in closed:  # the documents in it may still exist
            start = (len(prefix), prefix)
            self.db.execute("UPDATE documents SET listed = x'' WHERE listed IS NULL AND substr(name, 1, ?) = ?", start)

    async def unknown(self) -> AsyncGenerator[str]:
        """Yield the names that the store has, and the index has not."""
        async for (name,) in self.rows("SELECT name FROM documents WHERE is_stored AND known IS NULL"):
            yield name

    async def files(self) -> AsyncGenerator[FoundFile]:
        """Yield the files of the folder."""
        query = "SELECT listed, name, size, known, is_stored FROM to_do ORDER BY name"
        async for path, name, size, known, is_stored in self.rows(query):
            yield FoundFile(Path(os.fsdecode(path)), name, size, known, bool(is_stored))

    def _add(self, found: FoundFile) -> None:
        """Add a file. Of several with one name, the first path counts, and the others are reported."""
        name, path = found.sourcefile, os.fsencode(found.path)
        (twin,) = self.db.execute("SELECT listed FROM documents WHERE name = ?", (name,)).fetchone() or (None,)
        if twin:
            self.report([FileReport(name, Outcome.FAILED, _TWIN)])
        if not twin or path < twin:
            self.fill("listed", [(name, path)])
            self.fill("size", [(name, found.size)])
