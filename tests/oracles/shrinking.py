"""A program made smaller, line by line, while what is wrong with it stays."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracles.programs import Program, without

#: attempts for one program; each is an analysis
_ATTEMPTS = 400


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The program without every run of lines that it fails without.

    What CPython computes is found anew for each candidate. A candidate that is no valid program
    does not fail.
    """
    left = _ATTEMPTS
    length = len(program.definitions) + len(program.body)
    size = max(length // 2, 1)
    while size >= 1:
        position, removed = length - size, False
        while position >= 0 and left > 0:
            candidate = without(program, position, position + size)
            left -= 1
            if _compiles(candidate) and fails(candidate):
                program, removed = candidate, True
                length -= size
            position -= 1 if size <= 2 else size // 2
            position = min(position, length - size)
        if not removed or left <= 0:
            size = size // 2 if left > 0 else 0
    return program


def _compiles(program: Program) -> bool:
    try:
        compile(program.text(), "<candidate>", "exec")
    except SyntaxError:
        return False
    return True
