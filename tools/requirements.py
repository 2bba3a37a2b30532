"""Export `requirements.txt` from `uv.lock`, or with `--check` tell whether it still is what would be exported.

Azure's remote build installs from that file, so it has to hold what the tests ran with.
"""

import subprocess
import sys

from setup import ROOT, find_uv

REQUIREMENTS = ROOT / "requirements.txt"


def main() -> None:
    """Write the file, or check it."""
    command = [find_uv(), "export", "--locked", "--no-default-groups", "--no-hashes", "--no-annotate", "--no-header"]
    exported = subprocess.run([*command, "--quiet"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    if sys.argv[1:] != ["--check"]:
        REQUIREMENTS.write_bytes(exported)
    elif REQUIREMENTS.read_bytes() != exported:
        sys.exit("requirements.txt is not what uv.lock says: run 'make requirements'.")


if __name__ == "__main__":
    main()
