"""Which statements of a module must run in order, and which may wait."""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections import Counter

import pytest

from verifier.source.effects import effects


def found(text: str, foreign: str = "lib") -> set[int]:
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
    return effects(tree.body, bound, foreign.split())


QUIET = [
    "import a",
    "from a import b",
    "def f(x=1): return x",
    "def f(x=len('a')): return x",
    "class A: x = 1",
    "class A(B): pass",
    "class A(B, metaclass=M): pass",
    "a = 1",
    "a = [1, 2]",
    "a = b.c[0] + 1",
    "a = lib.make(1)",
    "a = len(b)",
    "a: int",
    "a: int = 1",
    "'text'",
    "a",
    "pass",
    "if TYPE_CHECKING: import a",
    "if typing.TYPE_CHECKING: import a",
    "if __name__ == '__main__': f()",
    "@lib.kernel\ndef f(): pass",
    "@lib.kernel(1)\ndef f(): pass",
    "@property\ndef f(): pass",
]
LOUD = [
    "f()",
    "a.b = 1",
    "a[0] = 1",
    "a = b = 1",
    "a, b = 1, 2",
    "a += 1",
    "a = f()",
    "a = b.f()",
    "a = [f(x) for x in b]",
    "a = (b := 1)",
    "del a",
    "for a in b: pass",
    "while a: pass",
    "if a: b = 1",
    "if TYPE_CHECKING: pass\nelse: f()",
    "try: import a\nexcept ImportError: a = None",
    "with a: pass",
    "assert a",
    "raise a",
    "def f(x=g()): pass",
    "def f(*, x=g()): pass",
    "@mine\ndef f(): pass",
    "@lib.kernel(g())\ndef f(): pass",
    "class A: x = g()",
    "class A:\n    x.y = 1",
    "class A:\n    print(1)",
    "class A(B, key=1): pass",
    "a: int = f()",
]


@pytest.mark.parametrize("text", QUIET)
def test_what_only_binds_may_wait(text: str) -> None:
    assert found(text) == set()


@pytest.mark.parametrize("text", LOUD)
def test_what_does_more_must_run(text: str) -> None:
    assert found(text) == {0}


def test_a_name_that_is_bound_twice_is_bound_in_order() -> None:
    assert found("a = 1\na = 2") == {0, 1}
    assert found("def f(): pass\ndef f(): pass") == {0, 1}
    assert found("import a\nimport a as b\na = 1") == {0, 2}
    assert found("import a\nx = a.y\na = 1") == {0, 1, 2}
    assert found("import a.b\nimport a.c") == set()
    assert found("import a\nfrom b import a") == {0, 1}


def test_a_class_that_tells_its_base() -> None:
    base = "class A:\n    def __init_subclass__(cls): pass\n"
    assert found(base + "class B(A): pass") == {1}
    assert found(base + "class B: pass\nclass C(A): pass\nclass D(C): pass") == {2, 3}
    assert found("class A: pass\nclass B(A): pass") == set()


def test_what_reads_a_name_that_an_effect_may_change_runs_before_it() -> None:
    assert found("a = [1]\nb = a\na.append(2)") == {1, 2}
    assert found("a = 1\nb = a\nf()") == {2}  # a number means the same at any time
    assert found("a = [1]\nb = a") == set()
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
