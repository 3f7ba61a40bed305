"""Generic aliases: classes with type arguments."""

from __future__ import annotations

import pytest

from tests.python.programs import same, unknown

HEAD = """
from typing import Generic, TypeVar, List, Dict, Callable, Optional, Tuple, Protocol
import collections.abc, typing
T = TypeVar("T"); K = TypeVar("K"); V = TypeVar("V")
class Stack(Generic[T]):
    def __init__(self): self.items = []
class Pair(Generic[K, V]): pass
"""

PROGRAMS = {
    "equality": """
def run():
    return (list[int] == list[int], list[int] == list[str], List[int] == list[int],
        List[int] == List[int], list[int] != int, list[int] == list)
""",
    "no parameters": """
def run(): return list[int][int]
""",
    "type itself": """
def run(): return type[int] == type[int], type[int](3) is int
""",
    "of a class": """
def run(): return (Stack[int]().items, isinstance(Stack[int](), Stack),
        Stack[int].__origin__ is Stack, Stack[int].__args__ == (int,))
""",
    "a class of two": """
def run(): return Pair[int, str]().__orig_class__.__args__ == (int, str)
""",
    "too many types": """
def run(): return List[int, str]
""",
    "an alias of typing that is called": """
def run(): return List()
""",
    "aliases that make instances": """
def run(): return (typing.Deque[int]((1,2))[1], typing.Counter[str]("aab")["a"],
        typing.DefaultDict[str, int](int)["x"], list[int]("ab") == ["a","b"], dict[str,
        int]() == {})
""",
    "an alias of typing with types that is called": """
def run(): return List[int]((1,2))
""",
    "callable": """
def run(): return collections.abc.Callable[int]
""",
    "slots": """
class F(Generic[T]):
    __slots__ = ("a",)
def run():
    f = F[int]()
    return hasattr(f, "__orig_class__")
""",
    "an instance that refuses": """
log = []
class F(Generic[T]):
    def __setattr__(self, n, v):
        log.append(n)
        raise AttributeError
def run():
    F[int]()
    return log
""",
    "parameters": """
def run(): return list[int].__parameters__, dict[str, list[int]].__parameters__
""",
    "a base with types": """
class D(Stack[int]):
    x = 3
def run(): return D().items, D.x
""",
    "instance of an alias": """
def run(): return isinstance([], list[int])
""",
    "no generic class": """
def run(): return int[int]
""",
    "a protocol": """
class P(Protocol[T]):
    def f(self): ...
class Q(P[int]):
    def f(self): return 2
def run(): return Q().f()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])


@pytest.mark.parametrize("value", ["dict[str, T][int]", "Stack[int, str]", "{list[T]: 1}"])
def test_what_is_not_followed(value: str) -> None:
    unknown(HEAD + f"def run(): return {value}")
