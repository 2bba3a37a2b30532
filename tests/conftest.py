"""What tests of several parts need, once for all of them."""

import atexit
import fcntl
import gc
import signal
import tempfile
from collections import defaultdict
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import settings

from bench.processes import DEPLOYED
from tests import blocking, kinds
from tests.browser import install_browser
from tests.clients.ag_ui import install_ag_ui
from tests.clients.ai_chat_protocol import NODE, install_clients
from tests.clients.ai_sdk import install_ai_sdk
from tests.clients.asking import Client, running
from tests.clients.semantic_kernel.package import install_package
from tests.clients.served import end_served
from tests.clock import Clock
from tests.stand_ins.azurite import Azurite, install_azurite

# A shell that runs the tests in the background ignores Ctrl-C, and what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The same examples each time, however slow the machine is; `make nightly` takes more of them ("ci"), and
# `--hypothesis-profile default` looks for new ones.
settings.register_profile("short", settings.get_profile("ci"), max_examples=30)
settings.load_profile("short")

LIVE = Path(__file__).parent / "live"
FUZZING = "test_fuzz*.py"
"""Files whose requests are generated while tests are collected, in each process that collects."""
CLIENTS = Path(__file__).parent / "clients"
SLOWEST_FILES = 25
"""Of how many files the time is said at the end of a run with `--durations`."""
INSTALLED = {
    "ag_ui": install_ag_ui,
    "ai_sdk": install_ai_sdk,
    "azurite": install_azurite,
    "browser": install_browser,
    "client_pages": partial(install_clients, CLIENTS / "pages"),
    "copilotkit": partial(install_clients, CLIENTS / "copilotkit"),
    "inspector": partial(install_clients, CLIENTS / "inspector"),
    "npm_clients": install_clients,
    "npm_mcp": partial(install_clients, CLIENTS / "mcp"),
    "npm_openai": partial(install_clients, CLIENTS / "openai"),
    "open_webui": partial(install_package, CLIENTS / "open_webui"),
    "older_python_clients": partial(install_package, CLIENTS / "python_older"),
    "openai_responses": partial(install_clients, CLIENTS / "openai_responses"),
    "python_packages": partial(install_package, CLIENTS / "python"),
    "semantic_kernel": install_package,
    "web_chat": partial(install_clients, CLIENTS / "web_chat"),
}
"""What tests with these fixtures run, and what installs it: one name a folder, since each is installed in a thread."""


def pytest_configure() -> None:
    """Let no unit test start a process, and say once what all hosted apps would lack."""
    if not DEPLOYED.exists():
        pytest.exit("What runs the apps of these tests is not installed: run `make setup-test`.", 2)
    kinds.forbid_processes()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the tests of real services to `make live`, and do not generate requests that only `make nightly` sends."""
    wanted = config.option.markexpr
    left_out = (collection_path == LIVE and wanted != "live") or (
        collection_path.match(FUZZING) and "not nightly" in wanted
    )
    return True if left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage among the many objects that all stay: that took a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # native modules report what the end of the process does not find
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Find the unit tests, and begin with the files that have others, since the longest should not be the last."""
    kinds.mark_tests(items)
    slow = {item.path for item in items if not kinds.is_unit(item)}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install what the tests run before the first of them: how fast a registry is does not count for any."""
    if session.config.option.collectonly:
        return
    needed = {name for item in session.items if isinstance(item, pytest.Function) for name in item.fixturenames}
    with ThreadPoolExecutor() as threads:
        list(threads.map(_install, needed & INSTALLED.keys()))


def _install(name: str) -> None:
    with (Path(tempfile.gettempdir()) / f"switchboard-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several test processes, the second finds it done
        INSTALLED[name]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say where the time went, file by file."""
    if not config.option.durations:
        return
    seconds = defaultdict[str, float](float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    terminalreporter.section(f"slowest {SLOWEST_FILES} of {len(seconds)} files")
    for file, spent in sorted(seconds.items(), key=itemgetter(1), reverse=True)[:SLOWEST_FILES]:
        terminalreporter.write_line(f"{spent:7.1f}s {file}")
    terminalreporter.write_line(f"{sum(seconds.values()):7.1f}s together")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Watch a unit test: it starts no process, and nothing in `shared` blocks its event loop."""
    kinds.entering(item)
    blocking.watch(kinds.is_unit(item))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def azurite() -> AsyncGenerator[Azurite]:
    """A storage account for all tests: each uses containers, queues and owners of its own, and none stops it."""
    async with Azurite() as service:
        yield service


@pytest.fixture(scope="session")
def npm_clients() -> None:
    """The clients that come from npm: they are installed."""


@pytest.fixture(scope="session")
def npm_mcp() -> None:
    """The MCP clients and servers of npm: they are installed."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def npm_openai() -> AsyncGenerator[Client]:
    """OpenAI's npm package, running."""
    async with running(NODE, CLIENTS / "openai" / "client.mjs") as client:
        yield client


@pytest.fixture(scope="session")
def python_packages() -> None:
    """The packages of `tests/clients/python`: they are installed."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def langchain(python_packages: None) -> AsyncGenerator[Client]:  # noqa: ARG001 (it installs them)
    """LangChain's `ChatOpenAI`, in an environment of its own, running."""
    folder = CLIENTS / "python"
    async with running(folder / ".venv" / "bin" / "python", folder / "langchain_client.py") as client:
        yield client


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def python_clients(python_packages: None) -> AsyncGenerator[Client]:  # noqa: ARG001 (it installs them)
    """The Python clients of `chats.py`, running."""
    folder = CLIENTS / "python"
    async with running(folder / ".venv" / "bin" / "python", folder / "chats.py") as client:
        yield client


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def older_python_clients() -> AsyncGenerator[Client]:
    """Those that need older packages, running."""
    folder = CLIENTS / "python_older"
    async with running(folder / ".venv" / "bin" / "python", folder / "chats.py") as client:
        yield client


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def open_webui() -> AsyncGenerator[Client]:
    """Open WebUI's server, running, and what its page does with it."""
    folder = CLIENTS / "open_webui"
    async with running(folder / ".venv" / "bin" / "python", folder / "chats.py") as client:
        yield client


@pytest.fixture(scope="session")
def copilotkit() -> None:
    """CopilotKit's runtime: it is installed."""


@pytest.fixture(scope="session")
def client_pages() -> None:
    """The packages of which the pages of assistant-ui and CopilotKit are built: they are installed."""


@pytest.fixture(scope="session")
def web_chat() -> None:
    """Microsoft's Web Chat: it is installed."""


@pytest.fixture(scope="session")
def inspector() -> None:
    """MCP's inspector: it is installed."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ag_ui() -> AsyncGenerator[None]:
    """`@ag-ui/client` in several versions: they are installed."""
    yield
    await end_served(CLIENTS / "ag_ui")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def openai_responses() -> AsyncGenerator[None]:
    """OpenAI's npm package and AI SDK's provider: they are installed."""
    yield
    await end_served(CLIENTS / "openai_responses")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ai_sdk() -> AsyncGenerator[None]:
    """Vercel's AI SDK in several versions: they are installed."""
    yield
    await end_served(CLIENTS / "ai_sdk")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def semantic_kernel() -> AsyncGenerator[Client]:
    """Microsoft's package, in an environment of its own, running."""
    folder = CLIENTS / "semantic_kernel"
    async with running(folder / ".venv" / "bin" / "python", folder / "client.py") as client:
        yield client


@pytest.fixture
async def clock() -> Clock:
    """The clock of the test's own loop."""
    return Clock()
