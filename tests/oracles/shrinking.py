"""A program made smaller, piece by piece, while what is wrong with it stays.

What CPython computes is found anew for each candidate, so that a smaller program asks the same
question of its own state. A candidate that is no valid program does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.oracles.programs import Program
from tests.oracles.running import compiled

#: attempts for one program; each is an analysis
_ATTEMPTS = 500


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The program without the pieces that it fails without."""
    left = _ATTEMPTS
    again = True
    while again:
        again = False
        for candidate in _smaller(program):
            left -= 1
            if left < 0:
                return program
            if _compiles(candidate) and fails(candidate):
                program, again = candidate, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    """Candidates, the much smaller ones first."""
    for sums in _parts(program.sums):
        yield replace(program, sums=sums)
    for name, low, high in program.ranges:
        if name in ("m", "flag"):
            yield replace(program, ranges=tuple(r for r in program.ranges if r[0] != name))
        elif high > low:
            narrow = ((name, low, high - 1), (name, low + 1, high))
            for range_ in narrow:
                kept = tuple(range_ if r[0] == name else r for r in program.ranges)
                yield replace(program, ranges=kept)
    for definitions in _parts(program.definitions):
        yield replace(program, definitions=definitions)
    for body in _parts(program.body):
        yield replace(program, body=body)
    for body in (*_unwrapped(program.body), *_plain(program.body)):
        yield replace(program, body=body)


def _parts(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The lines without one block or line each, then without runs of them."""
    size = len(lines) // 2
    while size > 2:
        for start in range(0, len(lines), size):
            yield (*lines[:start], *lines[start + size :])
        size //= 2
    for start in reversed(range(len(lines))):
        end = _end(lines, start)
        yield (*lines[:start], *lines[end:])
        if end > start + 1:
            yield (*lines[:start], *lines[start + 1 :])


def _end(lines: Sequence[str], start: int) -> int:
    """Where the block ends that a line begins."""
    own, end = _depth(lines[start]), start + 1
    while end < len(lines) and lines[end] and _depth(lines[end]) > own:
        end += 1
    return end


def _unwrapped(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The lines with one block each in place of the statement that it belongs to."""
    for start, line in enumerate(lines):
        end = _end(lines, start)
        if end > start + 1 and not line.lstrip().startswith(("def ", "class ")):
            inner = [text[4:] for text in lines[start + 1 : end]]
            yield (*lines[:start], *inner, *lines[end:])


def _plain(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The lines with a number each in place of what is assigned."""
    for start, line in enumerate(lines):
        name, equals, value = line.partition(" = ")
        if equals and name.strip().isidentifier() and not value.isdigit():
            yield (*lines[:start], f"{name} = 2", *lines[start + 1 :])


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _compiles(program: Program) -> bool:
    try:
        compiled(program.text())
    except SyntaxError:
        return False
    return True
