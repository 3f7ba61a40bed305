"""The process that runs a user's kernel: limits first, then the file, then the kernel.

Started as a script, with a folder in which ``request.json`` waits; the result goes beside it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(folder: str) -> None:
    home = str(Path(__file__).resolve().parent.parent.parent)
    sys.path[0] = home
    from verifier.executor import loader, worker

    loader.complete()  # from here: another copy of us may be on the path
    sys.path.remove(home)
    if home not in sys.path:
        # installed or not, our packages come last: users' modules of the same name win
        sys.path.append(home)
    worker.serve(Path(folder))
    # threads and clean-up of the kernel's own do not keep the process
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
