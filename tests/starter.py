"""Asks the process that has loaded the command for a process of its own; by itself, a command.

``python -I -S starter.py SOCKET WORD ...`` is ``tilelint WORD ...`` for scripts that tests run: it
loads next to nothing. :mod:`tests.commands` has the other end of the socket.
"""

from __future__ import annotations

import array
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any


class Started:
    """A process that the starter forked: its number, and how it ended as soon as that is known."""

    def __init__(
        self, starter: socket.socket, request: Mapping[str, Any], streams: Sequence[int] = (0, 1, 2)
    ) -> None:
        """``streams``: the descriptors of its standard input, output and errors."""
        asked = os.memfd_create("request")
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            os.write(asked, json.dumps(request).encode())
            files = array.array("i", [asked, theirs.fileno(), *streams])
            starter.sendmsg([b"!"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        finally:
            os.close(asked)
            theirs.close()
        self.pid = self._answer()

    def ended(self, timeout: float | None) -> int:
        """Its exit status as :mod:`subprocess` says it; to be asked until it is known.

        Raises:
            TimeoutError, BlockingIOError: it goes on for longer than ``timeout`` seconds.
        """
        self._socket.settimeout(timeout)
        status = self._answer()
        self._socket.close()
        return status

    def _answer(self) -> int:
        answer = self._socket.recv(64)
        assert answer, "the starter of commands has ended"
        return int(answer)


def main() -> int:
    number, *words = sys.argv[1:]
    request = {
        "arguments": ["-m", "verifier", *words],
        "cwd": os.getcwd(),  # noqa: PTH109  # nothing more is loaded than is needed
        "env": {**os.environ},
        "forked": True,
    }
    with socket.socket(fileno=int(number)) as starter:
        return Started(starter, request).ended(None)


if __name__ == "__main__":
    sys.exit(main())
