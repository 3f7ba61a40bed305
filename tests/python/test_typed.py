"""What the names of ``typing`` make of annotations, classes and functions."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
import typing, abc, collections.abc
from typing import *
T = TypeVar("T"); K = TypeVar("K")
Shape = Union[int, Tuple[int, ...], List["int"], None]
Fn = Callable[[int, Shape], Optional[str]]
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
"""

PROGRAMS = {
    "annotations": """
def run():
    x: Shape = 3
    def f(a: Fn, b: "int" = 2) -> Shape: return b
    return (f(None), x, Union[int] is int, Union[int, int] is int,
        Optional[None] is type(None), T is T, T == K, T.__name__)
""",
    "final": """
@final
class A:
    x: ClassVar[int] = 3
    @final
    def f(self): return 1
def run(): return A().f(), A.__final__, A.f.__final__, A.x
""",
    "a protocol": """
class P(Protocol):
    def f(self) -> int: ...
class Q(P):
    def f(self): return 3
def run(): return Q().f(), P in Q.__mro__
""",
    "named tuples": """
class NT(NamedTuple):
    a: int
    b: Optional[int] = None
def run(): return NT(1).b, NT(1, 2)[1]
""",
    "a named tuple with another base": """
def run():
    class A: pass
    class X(NamedTuple, A):
        x: int
""",
    "overloads": """
def run():
    @overload
    def f(x: int) -> int: ...
    @overload
    def f(x: str) -> str: ...
    def f(x): return x
    return f(3), cast(int, "a"), assert_type(3, str) if hasattr(typing, "assert_type") else 3
""",
    "an overload alone": """
def run():
    @overload
    def f(x: int) -> int: ...
    return f(3)
""",
    "new types": """
UserId = NewType("UserId", int)
def run(): return (UserId(3), UserId.__name__, UserId.__supertype__ is int,
        tryit(lambda: UserId()), (int | None) == (int | None), (int | int) is int)
""",
    "abstract classes": """
class B(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
class C(B):
    def f(self): return 1
def run(): return isinstance(C(), B), isinstance(3, B), issubclass(C, B), tryit(lambda: B())
""",
    "bases with types": """
class G(Generic[T, K]): pass
class H(G[int, str]): pass
def run(): return isinstance(H(), G), H().__class__ is H, issubclass(H, G)
""",
    "bases of typing": """
class D(List[int]):
    def top(self): return self[-1]
class M(Dict[str, int]): pass
def run():
    d = D([1, 2]); m = M(a=1)
    return d.top(), len(d), isinstance(d, list), m["a"], m == {"a": 1}
""",
    "what types refuse": """
def run(): return (object.__name__, list.__hash__, tryit(lambda: int.nothing),
        dict.__hash__ is None)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
