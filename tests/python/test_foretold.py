"""How many items there will be, as ``list()`` asks, and lists that grow item by item."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
def item(**names):
    log = []
    class C:
        def __iter__(self):
            log.append("iter")
            return iter([1, 2])
    for name, answer in names.items():
        def method(self, name=name, answer=answer):
            log.append(name)
            if isinstance(answer, type): raise answer
            return answer
        setattr(C, name, method)
    return C(), log
class Len:
    def __iter__(self): return iter([1, 2])
    def __len__(self): raise RuntimeError
class Hint:
    def __iter__(self): return iter([1, 2])
    def __length_hint__(self): raise RuntimeError
class Type:
    def __iter__(self): return iter([1, 2])
    def __len__(self): raise TypeError
    def __length_hint__(self): raise TypeError
class Both:
    def __iter__(self): return iter([1, 2])
    def __len__(self): raise TypeError
    def __length_hint__(self): raise ValueError
class Neg:
    def __iter__(self): return iter([1, 2])
    def __length_hint__(self): return -1
class Str:
    def __iter__(self): return iter([1, 2])
    def __length_hint__(self): return "a"
class Not:
    def __iter__(self): return iter([1, 2])
    def __length_hint__(self): return NotImplemented
class Own:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __length_hint__(self):
        self.n += 10
        return 1
    def __next__(self):
        self.n += 1
        if self.n > 13: raise StopIteration
        return self.n
def to(f): return [tryit(lambda: f(C())) for C in (Len, Hint, Type, Both, Neg, Str, Not, Own)]
"""

PROGRAMS = {
    "lists, tuples, sorted": """
def run(): return to(list), to(tuple), to(sorted)
""",
    "who does not ask": """
def run(): return (to(set), to(sum), to(lambda x: [k for k in x]), to(max),
        to(lambda x: list(zip(x))))
""",
    "lists that grow": """
def run():
    out = []
    for C in (Len, Hint, Type, Both, Neg, Str, Not, Own):
        l = [0]
        try: l.extend(C())
        except Exception as e: out.append(type(e).__name__)
        out.append(l)
        l = [0]
        try: l += C()
        except Exception as e: out.append(type(e).__name__)
        out.append(l)
        l = [0, 1, 2]
        try: l[1:2] = C()
        except Exception as e: out.append(type(e).__name__)
        out.append(l)
    return out
""",
    "what a generator sees of the list": """
def g(l):
    yield len(l)
    yield len(l)
    raise ValueError
def run():
    l = [5]
    try: l.extend(g(l))
    except ValueError: pass
    m = [1]
    m.extend(len(m) for _ in range(3))
    k = [1, 2]
    k.extend(k)
    k += (x for x in list(k))
    return l, m, k
""",
    "errors on the way": """
def run():
    l = [1]
    l.extend(map(lambda x: x + len(l), [1, 2, 3]))
    try: l.extend(map(lambda x: 1 // x, [1, 0, 3]))
    except ZeroDivisionError: pass
    l.extend(filter(None, [0, 1]))
    l.extend("ab"); l.extend({3: 4}); l.extend(range(2)); l.extend(zip("a", "b"))
    return l
""",
    "derived lists": """
class L(list):
    def __len__(self): raise RuntimeError
def run(): return several(lambda: list(L([1])), lambda: tuple(L([1])),
        lambda: [].extend(L([1])), lambda: sorted(L([2, 1])), lambda: set(L([1])))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
