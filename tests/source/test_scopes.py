from __future__ import annotations

import symtable
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source.shapes import library
from verifier.source import ir
from verifier.source.lowering import lower
from verifier.source.scopes import Names, bound_by, names_of, names_of_module
from verifier.source.text import SourceError

# Since 3.12 comprehensions of functions have no table of their own.
INLINED = sys.version_info >= (3, 12)

Row = tuple[str, str, int, frozenset[str], frozenset[str], frozenset[str]]

_COMPREHENSIONS = {"list": "listcomp", "set": "setcomp", "dict": "dictcomp", "generator": "genexpr"}

SNIPPETS = [
    """
    def f(a, /, b=(c := 1), *d, e: (g := 2) = 3, **h) -> (i := 4):
        global j, k
        j = l = 1
        m: int
        n: int = 2
        o += 1
        p.q = r[s] = 3
        (t, [u, *v]), w.x = y
        for z, aa in bb: pass
        with cc as dd, ee as (ff, gg): pass
        try: pass
        except E as hh: pass
        except* F as ii: pass
        del jj, (kk, ll[0])
        import mm.nn, oo.pp as qq
        from rr import ss, tt as uu
    """.replace("except* F as ii: pass", "except F as ii: pass"),
    """
    def f():
        def g(): nonlocal x, y; x = 1
        x = y = 0
        class A(B, metaclass=(m := M)):
            nonlocal x
            global z
            x = z = 1
            c: int
            def method(self, __private=1): __other = 2; return __class__
        @(decorator := dec)
        def h(q=lambda r, s=(t := 1): (u := r)): return (v := 1)
        async def w(): pass
    """,
    """
    def f(xs):
        a = [y for x in xs for y in x if (last := y)]
        b = {(k := i): [(inner := j) for j in i] for i in xs}
        c = (lambda: [(m := 1) for _ in xs])
        return any((hit := n) for n in xs)
    def g():
        global total
        return {(total := e) for e in xs}
    """,
    """
    def f(command):
        match command:
            case [a, *b] | {"k": a, **b}: c = 1
            case A(d, e=f2) as g if (h := g): pass
            case B.c | None | -1: pass
            case {"x": i, **rest}: pass
            case [*_, _] | _: j = 1
    match top:
        case x, *y: pass
    """,
    """
    async def f():
        async for a, b in c: d = 1
        async with e as g: h = await (i := j)
        return [k async for k in l]
    while (w := 1): v = 2
    else: u = 3
    if (a := b): pass
    elif (c := d): e = 1
    class C:
        x = [x for y in z]
        def f(self): return super().f()
        del x
        for i in y: pass
    """,
    """
    def f():
        try: pass
        except* E as g: h = 1
    """,
    "def f(): return lambda *a, b=1, **c: (yield (d := a))\n",
]


def mangled(name: str, around: str | None) -> str:
    owner = (around or "").lstrip("_")
    if not owner or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    return f"_{owner}{name}"


def row(kind: str, name: str, line: int, names: Names, around: str | None) -> Row:
    local, declared_global, declared_nonlocal = (
        frozenset(mangled(n, around) for n in part)
        for part in (names.local, names.declared_global, names.declared_nonlocal)
    )
    return (kind, name, line, local, declared_global, declared_nonlocal)


def ours(body: tuple[ir.Stmt, ...]) -> Iterator[Row]:
    """A row per block of a lowered module."""
    yield row("module", "top", 0, names_of_module(body), None)
    stack: list[tuple[ir.Node, str | None]] = [(statement, None) for statement in body]
    while stack:
        node, around = stack.pop()
        inner = around
        if isinstance(node, ir.FunctionDef):
            yield row("function", node.name, node.name_span.line, names_of(node), around)
        elif isinstance(node, ir.ClassDef):
            inner = node.name
            yield row("class", node.name, node.name_span.line, names_of(node), inner)
        elif isinstance(node, ir.LambdaExpr):
            yield row("function", "lambda", 0, names_of(node), around)
        elif isinstance(node, ir.Comprehension) and not INLINED:
            yield row("function", _COMPREHENSIONS[node.kind.value], 0, names_of(node), around)
        within = node.body if isinstance(node, ir.ClassDef) else ()
        stack.extend((c, inner if c in within else around) for c in ir.children(node))


def theirs(text: str) -> Iterator[Row]:
    """The same, from CPython's symbol table."""
    stack = [symtable.symtable(text, "k.py", "exec")]
    while stack:
        table = stack.pop()
        stack.extend(table.get_children())
        name = table.get_name()
        inlined = name in _COMPREHENSIONS.values()
        kind = getattr(table.get_type(), "value", table.get_type())
        if (inlined and INLINED) or kind not in ("module", "class", "function"):
            continue
        symbols = [s for s in table.get_symbols() if not s.get_name().startswith(".")]
        declared = frozenset(s.get_name() for s in symbols if s.is_declared_global())
        free = frozenset(s.get_name() for s in symbols if getattr(s, "is_nonlocal", bool)())
        local = frozenset(s.get_name() for s in symbols if s.is_local()) - declared - free
        if kind == "module":  # what functions declare global counts as declared here too
            local = frozenset(s.get_name() for s in symbols if s.is_local())
            declared = frozenset()
        if kind == "class":
            local -= {"__class__", "__classdict__", "__conditional_annotations__"}
        if inlined:
            declared = free = frozenset()  # where its walruses bind
        line = table.get_lineno() if kind != "module" and not inlined and name != "lambda" else 0
        yield (kind, name, line, local, declared, free)


def assert_agrees(text: str, where: str) -> int:
    found, expected = Counter(ours(lower(where, text, 1))), Counter(theirs(text))
    if INLINED:  # the targets of comprehensions are among the locals of the block around
        keys = {r[:3] + r[4:] for r in found}
        assert keys == {r[:3] + r[4:] for r in expected}, where
    else:
        assert found == expected, f"{where}: {found - expected} {expected - found}"
    return sum(found.values())


@pytest.mark.parametrize("text", SNIPPETS)
def test_names_are_those_of_the_symbol_table(text: str) -> None:
    text = textwrap.dedent(text)
    if "except*" in text and sys.version_info < (3, 11):
        pytest.skip("syntax of Python 3.11")
    assert assert_agrees(text, "k.py") > 1


def test_names_of_the_standard_library() -> None:
    blocks = files = 0
    for path in library(4, 60_000):
        text = path.read_text(encoding="utf-8")
        try:
            blocks += assert_agrees(text, str(path))
        except SourceError:
            continue  # what LibCST cannot parse
        files += 1
    assert files >= 30
    assert blocks > 1000


def test_a_walrus_in_a_comprehension_binds_in_the_module() -> None:
    # CPython's table says "global" there, as it does in a function that declares the name so.
    names = names_of_module(lower("k.py", "[(a := [(b := c) for c in d]) for d in e]\n", 1))
    assert names.local == {"a", "b"}


def test_results_are_kept_for_the_node() -> None:
    (one,) = lower("k.py", "def f(a): b = a\n", 1)
    (other,) = lower("k.py", "def f(a): b  = a\n", 1)
    assert isinstance(one, ir.FunctionDef) and isinstance(other, ir.FunctionDef)
    assert names_of(one) is names_of(one)
    assert names_of(one) is not names_of(other)
    assert names_of(one) == names_of(other)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a = b, *c = d, (e := 1)", "a b c e"),
        ("a: int", "a"),
        ("a.b += 1", ""),
        ("if (a := 1) and (b := 2): c = 3", "a b"),
        ("for a in b: c = 1", "a"),
        ("with a as b: c = 1", "b"),
        ("try: a = 1\nexcept E as b: c = 1\nfinally: d = 2", "b"),
        ("match a:\n    case [b, *c] if (d := b): e = 1", "b c d"),
        ("def f(a): b = 1", "f"),
        ("@(a := b)\nclass C: d = 1", "a C"),
        ("import a.b, c.d as e", "a e"),
        ("from a import b, c as d", "b d"),
        ("from a import *", ""),
        ("del a", ""),
        ("[(a := b) for b in c]", "a"),
    ],
)
def test_names_that_a_statement_itself_binds(text: str, names: str) -> None:
    (statement,) = lower("k.py", text + "\n", 1)
    assert bound_by(statement) == frozenset(names.split())


def test_library_files_are_the_same_in_every_run() -> None:
    assert library(4, 60_000) == library(4, 60_000)
    assert all(isinstance(path, Path) for path in library(4, 60_000))
