"""Objects whose attributes depend on the inputs."""

from __future__ import annotations

from tests.python.programs import same_for


def test_a_class_attribute_that_depends_on_the_inputs() -> None:
    same_for(
        """
        class C:
            x = 1
        class D(C): pass
        def run(a):
            if a > 2:
                D.x = 10 + a
            d = D()
            if a == 4:
                d.x = 0
            return d.x, C.x
        """,
        a=range(6),
    )


def test_a_property_that_depends_on_the_inputs() -> None:
    same_for(
        """
        class Tile:
            def __init__(self, n): self.n = n
            @property
            def half(self): return self.n // 2
        def run(a, b):
            t = Tile(a) if a > b else Tile(b)
            t.n += 1
            return t.half, t.n
        """,
        a=range(4),
        b=range(4),
    )


def test_an_attribute_that_is_there_on_some_paths() -> None:
    same_for(
        """
        class C: pass
        def run(a):
            c = C()
            if a > 1:
                c.x = a
            return c.x
        """,
        a=range(4),
    )


def test_an_attribute_with_a_fallback() -> None:
    same_for(
        """
        class C:
            def __getattr__(self, name): return -1
        def run(a):
            c = C()
            if a > 1:
                c.x = a
            return c.x
        """,
        a=range(4),
    )


def test_an_object_that_a_loop_changes() -> None:
    same_for(
        """
class Acc:
    def __init__(self): self.total, self.steps = 0, []
    def add(self, n):
        self.total += n
        return self
def run(n, k):
    a = Acc()
    for i in range(n):
        a.add(k)
    return a.total
""",
        n=range(5),
        k=range(3),
    )


def test_data_classes_in_a_list() -> None:
    same_for(
        """
from dataclasses import dataclass
@dataclass
class T:
    start: int
    size: int
    @property
    def end(self): return self.start + self.size
def run(n):
    tiles = [T(i * 4, 4) for i in range(n)]
    s = 0
    for t in tiles:
        s += t.end - t.start
    return s, len(tiles)
""",
        n=range(5),
    )


def test_a_length_of_one_s_own() -> None:
    same_for(
        """
class R:
    def __init__(self, total, size):
        self.total, self.size = total, size
    def __len__(self): return (self.total + self.size - 1) // self.size
    def __getitem__(self, k):
        if k >= len(self): raise IndexError
        return (k * self.size, min(self.total, (k + 1) * self.size))
def run(n):
    r = R(n, 3)
    return len(r)
""",
        n=range(8),
    )


def test_an_attribute_that_a_method_sets_on_some_paths() -> None:
    same_for(
        """
class C:
    def __init__(self, n): self.n = n
    def grow(self):
        if self.n > 2:
            self.n *= 2
            return "big"
        self.extra = 1
        return None
def run(a):
    c = C(a)
    r = c.grow()
    return c.n, r, hasattr(c, "extra"), getattr(c, "extra", 0)
""",
        a=range(6),
    )


def test_a_configuration_that_depends_on_the_inputs() -> None:
    same_for(
        """
from enum import Enum
from dataclasses import dataclass, replace
class Mode(Enum):
    A = 0
    B = 1
    C = 2
@dataclass(frozen=True)
class Cfg:
    n: int
    mode: Mode = Mode.A
    def size(self):
        match self.mode:
            case Mode.A: return self.n
            case Mode.B: return self.n * 2
        return 0
def run(a, m):
    mode = Mode(m)
    c = Cfg(a, mode)
    if a > 2 and mode is not Mode.C:
        c = replace(c, n=a + 1)
    return c.size(), c.mode.name, c == Cfg(a, Mode.A)
""",
        a=range(5),
        m=range(3),
    )


def test_items_by_a_pair_of_symbols() -> None:
    same_for(
        """
class Grid:
    def __init__(self, r, c):
        self.r, self.c, self.cells = r, c, {}
    def __getitem__(self, ij):
        i, j = ij
        if not (0 <= i < self.r and 0 <= j < self.c): raise IndexError(i, j)
        return self.cells.get(ij, i * 10 + j)
    def __len__(self): return self.r * self.c
def run(a, b):
    g = Grid(3, 2)
    try:
        return g[a, b], len(g)
    except IndexError as e:
        return e.args
""",
        a=range(5),
        b=range(4),
    )


def test_an_operator_that_changes_an_object_in_a_loop() -> None:
    same_for(
        """
class V:
    def __init__(self, n): self.n = n
    def __add__(self, o): return V(self.n + o.n)
    def __iadd__(self, o):
        self.n += o.n
        return self
def run(n, k):
    acc, step = V(0), V(k)
    for i in range(n):
        acc += step
    return acc.n, (acc + step).n
""",
        n=range(4),
        k=range(3),
    )
