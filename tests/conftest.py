"""What tests of several parts need, once for all of them."""

import signal
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from hypothesis import settings

from tests.clients.ai_chat_protocol import install_clients
from tests.clients.semantic_kernel.package import install_package
from tests.clock import Clock
from tests.stand_ins.azurite import Azurite, install_azurite

# A shell that runs the tests in the background ignores Ctrl-C, and what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The same examples each time, however slow the machine is; `--hypothesis-profile default` looks for new ones.
settings.load_profile("ci")

INSTALLED = {"azurite": install_azurite, "npm_clients": install_clients, "semantic_kernel": install_package}
"""What tests with these fixtures run, and what installs it."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install what the tests run before the first of them: how fast a registry is does not count for any."""
    if session.config.option.collectonly:
        return
    needed = {name for item in session.items if isinstance(item, pytest.Function) for name in item.fixturenames}
    for name, install in INSTALLED.items():
        if name in needed:
            install()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def azurite() -> AsyncGenerator[Azurite]:
    """A storage account for all tests: each uses containers, queues and owners of its own, and none stops it."""
    async with Azurite() as service:
        yield service


@pytest.fixture(scope="session")
def npm_clients() -> None:
    """The clients that come from npm: they are installed."""


@pytest.fixture(scope="session")
def semantic_kernel() -> None:
    """Microsoft's package, in an environment of its own: it is installed."""


@pytest.fixture
async def clock() -> Clock:
    """The clock of the test's own loop."""
    return Clock()
