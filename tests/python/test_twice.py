"""Patterns that ask for one thing twice, and lengths that do not fit."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
import sys
class P:
    __match_args__ = ("a", "a")
    a = 1
class Q:
    __match_args__ = ("b", "a", "a")
    a = 1
class R:
    __match_args__ = ("a", "b")
    a = 1; b = 2
class K: KEY = "a"; OTHER = "b"
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
"""

PROGRAMS = {
    "an attribute twice": """
def run():
    match P():
        case P(x, y): return 1
""",
    "an attribute twice behind one that is not there": """
def run():
    match Q():
        case Q(x, y, z): return 1
    return 2
""",
    "an attribute by place and by name": """
def run():
    match R():
        case R(x, a=y): return 1
""",
    "two attributes": """
def run():
    match R():
        case R(x, b=y): return x, y
""",
    "a key twice": """
def run():
    match {"a": 1, "b": 2}:
        case {K.KEY: x, "a": y}: return 1
""",
    "a mapping that is too short": """
def run():
    match {"a": 1}:
        case {K.KEY: x, "a": y}: return 1
    return 2
""",
    "a key twice behind one that is not there": """
def run():
    match {"a": 1, "c": 3}:
        case {"z": 1, K.KEY: x, "a": y}: return 1
    return 2
""",
    "a key that is no name is not asked for": """
def run():
    match {"a": 1}:
        case {K.MISSING: 1, "a": x}: return 1
        case {K.KEY: x, **r}: return x, r
""",
    "a key that is no name": """
def run():
    match {"a": 1, 2: 3}:
        case {K.MISSING: 1}: return 1
""",
    "lengths of ranges": """
def run(): return several(lambda: len(range(2**63)), lambda: len(range(2**63-1)),
        lambda: len(range(-2**63, 2**63)), lambda: bool(range(2**70)),
        lambda: range(2**70)[2**69] == 2**69, lambda: 2**69 in range(2**70))
""",
    "lengths of instances": """
class A:
    def __len__(self): return 2**63
class B:
    def __len__(self): return -1
def run(): return several(lambda: len(A()), lambda: bool(A()), lambda: len(B()),
        lambda: bool(B()))
""",
    "wrong names": """
class L:
    __match_args__ = ["a"]
    a = 1
def run():
    match L():
        case L(x): return x
""",
    "too many places": """
def run():
    match 3:
        case int(x, y): return x
""",
    "a truth value": """
def run():
    match True:
        case int(x): return x
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
