"""Python that is not followed exactly is never called verified, and never an error either.

Each text is wrong on the device in CPython's reading (a tile of more than 128 rows, an output that
is not written), by way of a construct that a simpler reading would miss.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.test_nested import check

HEAD = """
def tile(p, n):
    t = nl.ndarray((p, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=t, value=0.0)


def out(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=y, src=x)
    return y

"""

WRONG = {
    "handler": """
@nki.jit
def k(x, n):
    assert n > 0
    try:
        assert n <= 128
    except AssertionError:
        pass
    tile(n, 8)
    return out(x)
""",
    "handler of an import": """
@nki.jit
def k(x):
    try:
        import missing_module
    except ImportError:
        tile(256, 8)
    return out(x)
""",
    "raise in a helper": """
def demand(n):
    if n > 128:
        raise ValueError(n)

@nki.jit
def k(x, n):
    try:
        demand(n)
    except ValueError:
        tile(n, 8)
    return out(x)
""",
    "else of a loop": """
@nki.jit
def k(x, n):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(4):
        if i == n:
            break
    else:
        nisa.dma_copy(dst=y, src=x)
    return y
""",
    "decorator": """
def wide(f):
    def inner(p, n):
        return f(256, n)
    return inner

@wide
def tile2(p, n):
    tile(p, n)

@nki.jit
def k(x):
    tile2(8, 8)
    return out(x)
""",
    "decorator in a class": """
class C:
    def wide(f):
        def inner(self):
            return 256
        return inner
    @wide
    def rows(self):
        return 8

@nki.jit
def k(x):
    tile(C().rows(), 8)
    return out(x)
""",
    "round": """
@nki.jit
def k(x, n):
    assert 0 < n < 256
    tile(int(round(n / 2)) + 1, 8)
    return out(x)
""",
    "round of a number": """
@nki.jit
def k(x):
    tile(round(2.6) + 126, 8)
    return out(x)
""",
    "global": """
COUNT = 64

def bump():
    global COUNT
    COUNT = COUNT * 4

@nki.jit
def k(x):
    bump()
    tile(COUNT, 8)
    return out(x)
""",
    "setattr": """
class C:
    p = 64

@nki.jit
def k(x):
    c = C()
    setattr(c, "p", 256)
    tile(c.p, 8)
    return out(x)
""",
    "attribute of a class": """
class C:
    p = 64

@nki.jit
def k(x):
    C.p = 256
    tile(C().p, 8)
    return out(x)
""",
    "del of an item": """
@nki.jit
def k(x):
    sizes = [1, 256]
    del sizes[0]
    tile(sizes[0], 8)
    return out(x)
""",
    "del of a key": """
@nki.jit
def k(x):
    d = {"p": 64}
    del d["p"]
    tile(d.get("p", 256), 8)
    return out(x)
""",
    "list that grows": """
@nki.jit
def k(x):
    sizes = [1, 100]
    for v in sizes:
        if v < 300:
            sizes.append(v * 3)
        if v > 128:
            tile(v, 8)
    return out(x)
""",
    "partial": """
import functools

@nki.jit
def k(x):
    functools.partial(tile, 256)(8)
    return out(x)
""",
    "with": """
class S:
    def __enter__(self):
        tile(256, 8)
    def __exit__(self, *error):
        pass

@nki.jit
def k(x):
    with S():
        pass
    return out(x)
""",
    "operator": """
class V:
    def __add__(self, other):
        tile(256, 8)
        return 1

@nki.jit
def k(x):
    V() + V()
    return out(x)
""",
    "equality": """
class C:
    def __eq__(self, other):
        return True

@nki.jit
def k(x):
    if C() == 3:
        tile(256, 8)
    return out(x)
""",
    "truth": """
class C:
    def __bool__(self):
        return False

@nki.jit
def k(x):
    if C():
        tile(8, 8)
    else:
        tile(300, 8)
    return out(x)
""",
    "identity": """
@nki.jit
def k(x):
    a, b = [1], [1]
    if a is not b:
        tile(256, 8)
    return out(x)
""",
    "no return on a path": """
@nki.jit
def k(x, n):
    y = out(x)
    if n > 3:
        return y
""",
    "match": """
@nki.jit
def k(x, n):
    match n:
        case 1:
            tile(8, 8)
        case _:
            tile(200, 8)
    return out(x)
""",
}

FINE = {
    "methods of all kinds": """
import functools

class Sizes(nl.NKIObject):
    def __init__(self, p):
        self._p = p
    @property
    def p(self):
        return self._p
    @staticmethod
    def columns():
        return 8
    @classmethod
    def make(cls, p):
        return cls(p)

@functools.lru_cache(maxsize=None)
def size(n):
    return n

@nki.jit
def k(x):
    sizes = Sizes.make(64)
    tile(sizes.p, Sizes.columns())
    tile(sizes.make(3).p, size(5))
    return out(x)
""",
    "assertions at the end": """
@nki.jit
def k(x):
    P, N = x.shape
    t = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    assert P <= 128 and N <= 4000
    return out(x)
""",
    "missing key": """
@nki.jit
def k(x):
    sizes = {"a": 256}
    try:
        w = sizes["b"]
    except KeyError:
        w = 64
    tile(w, 8)
    return out(x)
""",
    "missing item": """
@nki.jit
def k(x):
    sizes = [1, 2]
    try:
        w = sizes[3]
    except IndexError:
        w = 64
    tile(w, 8)
    return out(x)
""",
    "missing name": """
@nki.jit
def k(x):
    try:
        w = never_bound
    except NameError:
        w = 64
    tile(w, 8)
    return out(x)
""",
    "match": """
@nki.jit
def k(x, n):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    match n:
        case 1:
            nisa.dma_copy(dst=y, src=x)
        case _:
            nisa.dma_copy(dst=y, src=x)
    return y
""",
    "filter": """
@nki.jit
def k(x, n):
    assert 0 <= n <= 300
    small = [i for i in range(n) if i < 10]
    tile(len(small) + 1, 8)
    return out(x)
""",
    "a dictionary returned": """
@nki.jit
def k(x):
    return {"y": out(x)}
""",
    "debug": """
@nki.jit
def k(x):
    if __debug__:
        tile(8, 8)
    return out(x)
""",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_wrong_kernels_are_not_verified(tmp_path: Path, text: str) -> None:
    (kernel,) = check(tmp_path, HEAD + text).kernels
    assert kernel.status != "verified"


@pytest.mark.parametrize("text", FINE.values(), ids=FINE.keys())
def test_right_kernels_are_no_errors(tmp_path: Path, text: str) -> None:
    result = check(tmp_path, HEAD + text)
    assert [d for d in result.diagnostics if d.severity == "error"] == []
