"""Generate the Python module for `rai.proto`, into the file's folder or the folder given as argument."""

import subprocess
import sys
from pathlib import Path

from setup import ROOT

PROTO = ROOT / "shared" / "guard" / "rai" / "rai.proto"


def main() -> None:
    """Generate `rai_pb2.py` and its type stub `rai_pb2.pyi`."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else PROTO.parent
    options = [f"-I{PROTO.parent}", f"--python_out={folder}", f"--pyi_out={folder}"]
    sys.exit(subprocess.call([sys.executable, "-m", "grpc_tools.protoc", *options, PROTO.name]))


if __name__ == "__main__":
    main()
