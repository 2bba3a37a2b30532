"""Export `requirements.txt` from `uv.lock`, or with `--check` tell whether it still is what would be exported.

Azure's remote build runs `pip install -r` on that file, so it holds what the tests ran with, each file by its hash: pip
then refuses a package that is not the one that was locked.
"""

import subprocess
import sys

from setup import ROOT, find_uv

REQUIREMENTS = ROOT / "requirements.txt"


def main() -> None:
    """Write the file, or check it."""
    command = [find_uv(), "export", "--locked", "--no-default-groups", "--no-annotate", "--no-header"]
    exported = subprocess.run([*command, "--quiet"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    if sys.argv[1:] != ["--check"]:
        REQUIREMENTS.write_bytes(exported)
    elif REQUIREMENTS.read_bytes() != exported:
        sys.exit("requirements.txt is not what uv.lock says: run 'make requirements'.")


if __name__ == "__main__":
    main()
