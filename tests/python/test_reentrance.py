"""Iterators that are asked while they look for an item, and what ends them; heaps that raise."""

from __future__ import annotations

import pytest

from tests.python.programs import same, unknown

HEAD = """
import heapq, itertools, functools
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
class Bad:
    def __init__(self, v): self.v = v
    def __lt__(self, o):
        if self.v == 3 or o.v == 3: raise ValueError
        return self.v < o.v
class G:
    def __init__(self, n, e): self.n=n; self.e=e; self.log=[]
    def __len__(self): return 4
    def __getitem__(self, k):
        self.log.append(k)
        if k == self.n: raise self.e
        if k > 6: raise IndexError
        return k
"""

PROGRAMS = {
    "a heap whose items raise": """
def run():
    h = []
    for v in (5, 4, 7, 1): heapq.heappush(h, Bad(v))
    out = []
    for f in (lambda: heapq.heappush(h, Bad(3)), lambda: heapq.heappop(h),
        lambda: heapq.heapreplace(h, Bad(9)), lambda: heapq.heappushpop(h, Bad(2)),
        lambda: heapq.heapify(h)):
        try: r = f(); out.append(r.v if r is not None else None)
        except ValueError: out.append("ve")
        out.append([b.v for b in h])
    return out
""",
    "what ends a sequence of the program": """
def run(): return ([list(reversed(G(2, e))) for e in (IndexError(), StopIteration())],
        [list(G(2, e)) for e in (IndexError(), StopIteration())], [list(iter(G(2,
        e))) for e in (IndexError(), StopIteration())])
""",
    "other errors and searches": """
def run(): return several(lambda: list(G(2, ValueError())),
        lambda: list(reversed(G(2, ValueError()))), lambda: 9 in G(2, StopIteration()),
        lambda: [x for x in G(3, StopIteration())], lambda: sum(G(3, StopIteration())),
        lambda: tuple(zip(G(1, StopIteration()), "ab")))
""",
    "what reversed asks for": """
def run():
    g = G(9, ValueError())
    r = reversed(g)
    a = next(r), next(r)
    b = list(r)
    return a, b, g.log, list(r)
""",
    "what cannot be reversed": """
def run():
    class N:
        def __len__(self): return 2
    class M:
        def __getitem__(self, k): return k
    class K:
        __reversed__ = None
        def __len__(self): return 2
        def __getitem__(self, k): return k
    return several(lambda: reversed(N()), lambda: reversed(M()), lambda: reversed(K()),
        lambda: reversed(3), lambda: reversed({1}))
""",
    "a generator that asks itself": """
def run():
    def g():
        yield next(it)
    it = g()
    return several(lambda: next(it), lambda: next(it))
""",
    "an iterator that its loop asks": """
def run():
    it = iter([1,2,3,4,5])
    out = []
    for x in it:
        out.append((x, next(it, None)))
    return out
""",
    "enumerate in its loop": """
def run():
    e = enumerate(iter("abcd"))
    return [(k, v, next(e)) for k, v in e]
""",
    "tee": """
def run():
    a, b = itertools.tee(iter([1,2,3]))
    return [(x, next(b)) for x in a]
""",
    "zip of one iterator with itself": """
def run():
    c = itertools.chain([1,2],[3,4])
    z = zip(c, c)
    return list(z)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])


@pytest.mark.parametrize(
    "iterator",
    ["map(lambda x: next(it), [1, 2])", "filter(lambda x: next(it), iter([1, 2]))"],
)
def test_an_iterator_that_asks_itself(iterator: str) -> None:
    unknown(f"""
def run():
    it = {iterator}
    return list(it)
""")


def test_a_heap_that_its_comparisons_change() -> None:
    unknown("""
import heapq
class Evil(int):
    def __lt__(self, other):
        heap.clear()
        return NotImplemented
heap = [Evil(0)]
def run():
    heapq.heappushpop(heap, 1)
""")
