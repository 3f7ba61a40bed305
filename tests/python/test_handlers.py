"""``try``, ``with`` and ``raise`` on every way out."""

from __future__ import annotations

import pytest

from tests.python.support import program, program_for

CONCRETE = {
    "handler, else, finally": """
result = []
for bad in (True, False):
    try:
        result.append("body")
        if bad:
            raise ValueError("no")
    except KeyError:
        result.append("key")
    except (ValueError, TypeError) as error:
        result.append(str(error))
    else:
        result.append("else")
    finally:
        result.append("finally")
""",
    "finally on return": """
log = []
def f():
    try:
        return 1
    finally:
        log.append(2)
result = (f(), log)
""",
    "finally that returns": """
def f():
    for i in range(3):
        try:
            raise KeyError(i)
        finally:
            return i + 10
result = f()
""",
    "an error of Python's own": """
try:
    result = {}["a"]
except LookupError as error:
    result = error.args
""",
    "nested and raised again": """
log = []
try:
    try:
        [][3]
    except IndexError:
        log.append("inner")
        raise
    finally:
        log.append("finally")
except Exception:
    log.append("outer")
result = log
""",
    "the name of a handler is gone": """
try:
    raise ValueError
except ValueError as error:
    pass
result = error
""",
    "an error in a handler": """
try:
    try:
        1 // 0
    except ZeroDivisionError:
        None + 1
except TypeError:
    result = "type"
""",
    "with, and a manager that swallows": """
log = []
class M:
    def __init__(self, swallow):
        self.swallow = swallow
    def __enter__(self):
        log.append("in")
        return 7
    def __exit__(self, kind, value, trace):
        log.append(kind is ValueError)
        return self.swallow
with M(True) as seven:
    log.append(seven)
    raise ValueError
with M(False):
    pass
result = log
""",
    "break through finally": """
w = 0
for i in range(4):
    try:
        if i == 2:
            break
    finally:
        w += 1
result = w
""",
    "own exceptions": """
class Base(Exception):
    def __init__(self, n):
        super().__init__(n, "more")
        self.n = n
class Derived(Base):
    pass
try:
    raise Derived(3)
except Base as error:
    result = (error.n, error.args, isinstance(error, Derived))
""",
}

SYMBOLIC = {
    "caught on some inputs": """
def f(k):
    if k > 3:
        raise ValueError(k)
    return k
try:
    result = f(n) * 2
except ValueError:
    result = -1
""",
    "an index that may be out of range": """
items = [4, 5, 6]
try:
    result = items[n]
except IndexError:
    result = 0
""",
    "nothing catches it": """
result = [1, 2, 3, 4][n]
""",
    "finally on each way": """
log = []
def f():
    try:
        if n == 2:
            return 5
        if n == 3:
            raise KeyError
        log.append(1)
    finally:
        log.append(2)
    return 6
try:
    result = (f(), len(log))
except KeyError:
    result = (0, len(log))
""",
}


@pytest.mark.parametrize("name", CONCRETE)
def test_ways_out_are_cpythons(name: str) -> None:
    program(CONCRETE[name])


@pytest.mark.parametrize("name", SYMBOLIC)
def test_ways_out_that_depend_on_an_input(name: str) -> None:
    program_for(SYMBOLIC[name], {"n": range(0, 6)})


def test_iterators_and_causes_that_are_none() -> None:
    program(
        """\
class N:
    def __init__(self): self.i = 0
    def __iter__(self): return self
result = []
for f in (iter, enumerate, list, lambda n: [x for x in n]):
    try:
        f(N())
        result.append("no")
    except TypeError:
        result.append("TypeError")
e = ValueError()
for name in ("__cause__", "__context__", "__suppress_context__", "__traceback__"):
    try:
        setattr(e, name, 1)
        result.append("no")
    except TypeError:
        result.append("TypeError")
e.__cause__ = KeyError()
result.append(e.__suppress_context__)
try:
    raise
except RuntimeError as error:
    result.append(str(error))
"""
    )
