"""Exceptions of a program's own, and what raises them."""

from __future__ import annotations

import pytest

from tests.python.programs import same, same_for

PROGRAMS = {
    "exceptions": """
class Mine(ValueError):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
class Other(Mine): pass
def run():
    out = []
    try:
        raise Other(3, "bad")
    except Mine as e:
        out.append((e.code, e.args, str(e), type(e).__name__, isinstance(e, ValueError)))
    try:
        raise Mine(1, "x")
    except Other:
        out.append("no")
    except (KeyError, ValueError) as e:
        out.append(e.code)
    return out
""",
    "exceptions without a constructor": """
class E1(Exception): pass
class E2(KeyError): pass
def run():
    a, b = E1(1, 2), E2("k")
    return a.args, str(a), str(b), str(E1()), repr(E1("x")), a.__cause__
""",
    "causes": """
class Mine(Exception): pass
def run():
    try:
        try:
            raise KeyError("k")
        except KeyError as e:
            raise Mine("m") from e
    except Mine as m:
        first = m.__cause__.args, m.__suppress_context__
    try:
        raise Mine from None
    except Mine as m:
        return first, m.__cause__, m.__suppress_context__
""",
    "a cause that is none": """
def run():
    raise ValueError from 3
""",
    "raising what is no exception": """
class C: pass
def run():
    raise C()
""",
    "exception hierarchy": """
class Base(Exception):
    def __str__(self): return "B:" + super().__str__()
class Sub(Base):
    code = 4
def f(k):
    try:
        if k == 0: raise Sub("a", 1)
        if k == 1: raise Base
        if k == 2: raise KeyError("k")
        return {}["x"]
    except Base as e:
        return str(e), e.args, getattr(e, "code", None)
    except LookupError as e:
        return type(e).__name__, e.args
    finally:
        log.append(k)
log = []
def run():
    return [f(k) for k in range(4)], log
""",
    "exception equality and attributes": """
class E(Exception): pass
def run():
    a, b = E(1), E(1)
    a.extra = 5
    return (
        a == b, a == a, a.extra, hasattr(b, "extra"), {a: 1}[a], E(1, 2).args,
        a.with_traceback(None) is a,
    )
""",
    "exception wrong kw": """
class E(Exception): pass
def run():
    return E(x=1)
""",
    "exception own init without super": """
class E(Exception):
    def __init__(self, a, b): self.a = a
def run():
    e = E(1, b=2)
    return e.args, e.a, str(e)
""",
    "stopiteration value": """
def g():
    yield 1
    return 7
def run():
    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as e:
        return e.value, e.args
""",
    "exit in loop with break": """
class M:
    log = []
    def __enter__(self): return self
    def __exit__(self, *a): M.log.append(a[0] is None)
def run():
    for k in range(5):
        with M():
            if k == 2: break
            if k == 1: continue
    return M.log, k
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_exceptions_of_one_s_own() -> None:
    same_for(
        """
class Bad(Exception):
    def __init__(self, n):
        super().__init__(n)
        self.n = n
def f(a):
    if a > 3: raise Bad(a)
    if a == 2: raise ValueError("two")
    return a
def run(a):
    try:
        return f(a)
    except Bad as e:
        return e.n * 10
""",
        a=range(6),
    )


def test_which_exception_depends_on_the_inputs() -> None:
    same_for(
        """
class A(Exception): pass
class B(A): pass
class C(Exception): pass
def run(a):
    try:
        raise (A if a == 0 else B if a == 1 else C)(a)
    except B as e:
        return "B", e.args[0]
    except A as e:
        return "A", e.args
    except C:
        return "C"
""",
        a=range(3),
    )
