"""``python -m verifier``: the same command as ``tilelint``."""

from __future__ import annotations

import signal
import sys

if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    # Until the command listens, an interrupt ends the process at once, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from verifier.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
