"""``python -m verifier``: the same command as ``tilelint``."""

from __future__ import annotations

import sys

from verifier.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
