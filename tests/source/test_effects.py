"""Which statements of a module must run in order, and which may wait."""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections import Counter

import pytest

from verifier.source.effects import effects

#: what the pieces below find bound
BEFORE = """
import lib, typing, kernels, abc
from lib import B, M
def plain(): pass
class Plain: pass
"""


def placed(text: str, before: str = BEFORE) -> set[int]:
    """The positions of the statements of a piece of text that must run in order."""
    first = len(ast.parse(before).body)
    return {position - first for position in found(before + textwrap.dedent(text))}


def found(text: str, foreign: str = "lib typing kernels abc B M") -> set[int]:
    tree = ast.parse(textwrap.dedent(text))
    bound: Counter[str] = Counter()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound[node.name] += 1
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update(a.asname or a.name.partition(".")[0] for a in node.names)
        else:
            bound.update(
                n.id
                for n in ast.walk(node)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            )
    origins = {"kernels": "nki", "abc": "abc"}
    return effects(tree.body, bound, foreign.split(), origins=origins)


QUIET = [
    "import a",
    "from a import b",
    "def f(x=1): return x",
    "def f(x=-1, *, y=(1, 'a'), z=lib.part): return x",
    "def f(x: int, *y: lib.T, **z: list[int]) -> typing.Optional[str]: return x",
    "def f(x: Plain | None, y: 'later') -> None: return later",
    "from __future__ import annotations\ndef f(x: t()): pass\na: t() = 1",
    "class A: x = 1",
    "class A:\n    'text'\n    x: int = 1\n    y = [1]\n    @property\n    def f(self): pass",
    "class A(B): pass",
    "class A(Plain): pass",
    "class A(ValueError): pass",
    "class A(B, metaclass=abc.ABCMeta): pass",
    "class A(B):\n    def __init__(self): pass",
    "a = 1",
    "a = [1, 2]",
    "a = {'x': [1], (1, 2): lib.x}",
    "n = 128\nm = n * 4 // 2\nt = n, m",
    "s = 'x'\na = lib.make(s, 1, lib.y)",
    "a = set()",
    "a = dict(x=1)",
    "a = plain",
    "a = lambda x=1: f(x)",
    "T = typing.Optional[int]",
    "T = list[int]",
    "a: int",
    "a: int = 1",
    "'text'",
    "lib",
    "pass",
    "if TYPE_CHECKING: import a",
    "if typing.TYPE_CHECKING: import a",
    "if __name__ == '__main__': f()",
    "@kernels.kernel\ndef f(): pass",
    "@kernels.kernel(1)\ndef f(): pass",
    "@property\ndef f(): pass",
]
LOUD = [
    "plain()",
    "lib.b = 1",
    "lib[0] = 1",
    "a = b = 1",
    "a, b = 1, 2",
    "a += 1",
    "a = plain()",
    "a = Plain.f()",
    "a = [f(x) for x in b]",
    "a = (b := 1)",
    "del lib",
    "for a in b: pass",
    "while a: pass",
    "if a: b = 1",
    "if TYPE_CHECKING: pass\nelse: f()",
    "try: import a\nexcept ImportError: a = None",
    "with a: pass",
    "assert a",
    "raise a",
    "def f(x=plain()): pass",
    "def f(*, x=plain()): pass",
    "def f(x=len('a')): return x",
    "@plain\ndef f(): pass",
    "@kernels.kernel(plain())\ndef f(): pass",
    # a library calls or keeps what it decorates
    "@lib.keep\ndef f(): pass",
    "@lib.keep(1)\nclass A: pass",
    "class A:\n    @lib.keep\n    def f(self): pass",
    "class A(B, metaclass=M): pass",
    "class A: x = plain()",
    "class A:\n    x.y = 1",
    "class A:\n    print(1)",
    "class A(B, key=1): pass",
    "a: int = plain()",
    # what they give away may be changed, or called
    "a = lib.make([1])",
    "a = lib.make(plain)",
    # annotations and bases
    "a: plain() = 1",
    "def f(x: plain()): pass",
    "def f(*x: plain()): pass",
    "def f(**x: plain()): pass",
    "def f() -> plain(): pass",
    "class A:\n    x: plain() = 1",
    "class A:\n    def f(self, x: plain()): pass",
    "class A(plain()): pass",
    "class A(B):\n    x = 1\n    def __new__(cls, *args): pass",
    # what may fail
    "a = 1 // 0",
    "a = [1][0]",
    "a = {}['x']",
    "a = {[1]: 2}",
    "a = int('x')",
    "a = len('x')",
    "a = Plain.missing",
    "a = 1 + 'x'",
    "a = not_there",
    "not_there",
    "def f(x=not_there): pass",
    "def f(x: not_there): pass",
    "@not_there.x\ndef f(): pass",
    "class A(not_there): pass",
    "class A(bool): pass",
    "class A: x = y",
    "@kernels.data\nclass A:\n    x: int = 1\n    y: int",
    "@kernels.data\nclass A:\n    x: list = []",
]


@pytest.mark.parametrize("text", QUIET)
def test_what_only_binds_may_wait(text: str) -> None:
    assert (found(text) if "__future__" in text else placed(text)) == set()


@pytest.mark.parametrize("text", LOUD)
def test_what_does_more_must_run(text: str) -> None:
    assert placed(text) == {0}


def test_a_name_that_is_bound_twice_is_bound_in_order() -> None:
    assert found("a = 1\na = 2") == {0, 1}
    assert found("def f(): pass\ndef f(): pass") == {0, 1}
    assert found("import a\nimport a as b\na = 1") == {0, 2}
    assert found("import lib\nx = lib.y\nlib = 1", "") == {0, 1, 2}
    assert found("import a.b\nimport a.c") == set()
    assert found("import a\nfrom b import a") == {0, 1}


def test_a_name_that_a_function_binds_is_read_in_order() -> None:
    assert found("n = 1\ndef f():\n    global n\n    n = 2\nm = n") == {2}


def test_a_name_that_is_bound_later_is_not_there() -> None:
    assert found("a = b\nb = 1") == {0}
    assert found("def f(x=b): pass\nb = 1") == {0}
    assert found("from lib import *\na: b = 1") == set()


def test_a_class_that_tells_its_base() -> None:
    base = "class A:\n    def __init_subclass__(cls): pass\n"
    assert found(base + "class B(A): pass") == {1}
    assert found(base + "class B: pass\nclass C(A): pass\nclass D(C): pass") == {2, 3}
    assert found("class A: pass\nclass B(A): pass") == set()


def test_what_reads_a_name_that_an_effect_may_change_runs_before_it() -> None:
    assert found("a = [1]\nb = a\na.append(2)") == {1, 2}
    assert found("a = 1\nb = a\nf()") == {2}  # a number means the same at any time
    assert found("a = [1]\nb = a") == {1}
    assert found("def a(): pass\nb = a\nf()") == {2}


#: modules whose statements say in which order they ran, where that matters
MODULES = (
    "log = []",
    "a = 1",
    "b = a",
    "c = len(log)",
    "log.append(a)",
    "d = log",
    "log = log + [2]",
    "def f(): return a",
    "e = f",
)


def waiting(statements: list[ast.stmt], order: set[int]) -> dict[str, object]:
    """What names a module has if the statements that may wait run as late as possible."""
    place: dict[str, object] = {}
    todo = dict(enumerate(statements))

    def run(position: int) -> None:
        node = todo.pop(position, None)
        if node is None:
            return
        read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for other in sorted(todo):
            if other < position and other not in order and binds(statements[other]) & read:
                run(other)
        exec(compile(ast.Module([node], []), "m", "exec"), place)

    for position in (*sorted(order), *reversed(range(len(statements)))):
        run(position)
    return place


def binds(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    return {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def test_no_program_tells_the_difference() -> None:
    tried = 0
    for chosen in itertools.permutations(MODULES, 4):
        text = "\n".join(chosen)
        place: dict[str, object] = {}
        try:
            exec(text, place)
        except NameError:
            continue
        tried += 1
        late = waiting(ast.parse(text).body, found(text))
        shown = [{k: v for k, v in p.items() if k in "abcd" or k == "log"} for p in (place, late)]
        assert shown[0] == shown[1], text
        if {"d", "log"} <= place.keys():
            assert (place["d"] is place["log"]) == (late["d"] is late["log"]), text
    assert tried > 100
