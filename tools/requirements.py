"""Export `requirements.txt` from `uv.lock`, or with `--check` fail if it is not up to date.

Azure's remote build runs `pip install -r` on that file. It has the versions that were tested, with the hash of each
file, so that pip refuses packages that differ from the locked ones.
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
