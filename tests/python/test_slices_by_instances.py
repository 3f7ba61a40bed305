"""Slices by instances with and without ``__index__``."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
class I:
    def __init__(self, n): self.n = n
    def __index__(self): return self.n
class J(int): pass
class N: pass
"""

PROGRAMS = {
    "reading": """
def run(): return several(lambda: "abcdef"[I(1):I(4)],
        lambda: b"abcdef"[I(1):I(5):I(2)], lambda: "abc"[:I(2)], lambda: "abc"[N():],
        lambda: "abc"["a":], lambda: "abc"[I("x"):], lambda: "abc"[::I(0)],
        lambda: "abc"[J(1):], lambda: [1, 2, 3][I(1):], lambda: (1, 2, 3)[:I(-1)],
        lambda: [1, 2][N():], lambda: "abc"[1.0:], lambda: "abc"[True:])
""",
    "writing": """
def run():
    l = [1, 2, 3, 4]
    l[I(1):I(3)] = [9]
    del l[I(0)]
    l[I(0)] = 7
    return l, slice(I(1), None).indices(3) if False else 1
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
