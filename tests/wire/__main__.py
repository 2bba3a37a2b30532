"""`make goldens`: write the golden files of every protocol in the table; those of protocols not in it go."""

import asyncio
import shutil

from shared.wire.table import PROTOCOLS
from tests.wire.test_goldens import ALL_SCENARIOS, GOLDENS, bytes_of


async def main() -> None:
    """Write every file from the events of its scenario."""
    shutil.rmtree(GOLDENS)
    for name in PROTOCOLS:
        (GOLDENS / name).mkdir(parents=True)
        for scenario in ALL_SCENARIOS:
            for file, content in (await bytes_of(name, scenario)).items():
                file.write_bytes(content)


if __name__ == "__main__":
    asyncio.run(main())
