"""Sets that are looked for in sets: CPython looks for their frozen twins."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
class S(set): pass
class H(set):
    def __hash__(self): return 7
class F(frozenset): pass
"""

PROGRAMS = {
    "in": """
def run():
    s = {frozenset("ab"), 1}
    return several(lambda: set("ab") in s, lambda: S("ab") in s, lambda: F("ab") in s,
        lambda: {1} in s, lambda: [1] in s, lambda: S([1]) in s,
        lambda: s.__contains__(set("ab")), lambda: set("ab") in frozenset(s))
""",
    "taken out": """
def run():
    s = {frozenset("ab"), frozenset("c"), 1}
    s.discard(set("ab")); s.discard({9}); s.discard(S("xyz"))
    a = len(s)
    s.remove(S("c"))
    k = {5}
    try: s.remove(k)
    except KeyError as e: return a, e.args[0] is k, len(s)
""",
    "nowhere else": """
def run():
    s = {frozenset("ab")}
    return several(lambda: s.add(set("ab")), lambda: s.remove([1]),
        lambda: s.discard({}), lambda: s.remove(5), lambda: len(s), lambda: {set()},
        lambda: {S(): 1}, lambda: {1: 2}[set()], lambda: set() in {1: 2},
        lambda: set() in [set()])
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
