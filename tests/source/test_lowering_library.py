"""Lowering compared with CPython's own parser, on whole files and on odd pieces."""

from __future__ import annotations

import ast
import sys
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.source.shapes import library, parameters, parameters_of, walk
from verifier.source import ir
from verifier.source.lowering import lower
from verifier.source.text import SourceError

Row = tuple[object, ...]


def nfkc(name: str | None) -> str | None:
    return None if name is None else unicodedata.normalize("NFKC", name)


def is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    body = node.body if isinstance(node.body, list) else [node.body]
    stack: list[ast.AST] = list(body)
    while stack:
        inner = stack.pop()
        if isinstance(inner, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stack.extend([*inner.decorator_list, *inner.args.defaults])
            stack.extend(d for d in inner.args.kw_defaults if d is not None)
        elif isinstance(inner, ast.Lambda):
            stack.extend(inner.args.defaults)
        elif isinstance(inner, ast.ClassDef):
            stack.extend([*inner.decorator_list, *inner.bases, *inner.keywords])
        else:
            stack.extend(ast.iter_child_nodes(inner))
    return False


def is_async(node: ast.AST) -> bool:
    return any(g.is_async for g in getattr(node, "generators", ()))


def constant(value: object) -> Row:
    return ("constant", type(value).__name__, repr(value))


_COMPREHENSIONS = {"ListComp": "list", "SetComp": "set", "DictComp": "dict"}

#: What a node of CPython's says of itself; nodes that are not here are not compared.
THEIRS: dict[type[ast.AST], Callable[..., Row]] = {
    ast.FunctionDef: lambda n: (
        "def",
        nfkc(n.name),
        n.lineno,
        parameters_of(n.args),
        len(n.decorator_list),
        is_generator(n),
        n.returns is None,
        ast.get_docstring(n, clean=False),
    ),
    ast.Lambda: lambda n: ("lambda", parameters_of(n.args), is_generator(n)),
    ast.ClassDef: lambda n: (
        "class",
        nfkc(n.name),
        n.lineno,
        len(n.bases),
        tuple(k.arg for k in n.keywords),
    ),
    ast.Call: lambda n: ("call", len(n.args), tuple(nfkc(k.arg) for k in n.keywords)),
    ast.Compare: lambda n: ("compare", len(n.ops)),
    ast.BoolOp: lambda n: ("bool", len(n.values)),
    ast.BinOp: lambda n: ("binary",),
    ast.UnaryOp: lambda n: ("unary",),
    ast.IfExp: lambda n: ("if expression",),
    ast.Attribute: lambda n: ("attribute", nfkc(n.attr)),
    ast.Name: lambda n: ("name", nfkc(n.id)),
    ast.Subscript: lambda n: ("subscript",),
    ast.Slice: lambda n: ("slice", n.lower is None, n.upper is None, n.step is None),
    ast.Starred: lambda n: ("starred",),
    ast.Dict: lambda n: ("dict", tuple(k is None for k in n.keys)),
    ast.Set: lambda n: ("set", len(n.elts)),
    ast.List: lambda n: ("list", len(n.elts)),
    ast.NamedExpr: lambda n: ("walrus",),
    ast.Yield: lambda n: ("yield", n.value is None),
    ast.YieldFrom: lambda n: ("yield from",),
    ast.Await: lambda n: ("await",),
    ast.FormattedValue: lambda n: (
        "formatted",
        chr(n.conversion) if n.conversion > 0 else "",
        n.format_spec is None,
    ),
    ast.JoinedStr: lambda n: (
        "joined",
        tuple(v.value if isinstance(v, ast.Constant) else None for v in n.values),
    ),
    ast.If: lambda n: ("if", bool(n.orelse)),
    ast.For: lambda n: ("for", bool(n.orelse)),
    ast.AsyncFor: lambda n: ("async for",),
    ast.AsyncWith: lambda n: ("async with",),
    ast.While: lambda n: ("while", bool(n.orelse)),
    ast.Return: lambda n: ("return", n.value is None),
    ast.Raise: lambda n: ("raise", n.exc is None, n.cause is None),
    ast.Try: lambda n: ("try", len(n.handlers), bool(n.orelse), bool(n.finalbody), False),
    ast.ExceptHandler: lambda n: ("except", n.type is None, nfkc(n.name)),
    ast.With: lambda n: ("with", len(n.items)),
    ast.Assign: lambda n: ("assign", len(n.targets)),
    ast.AnnAssign: lambda n: ("annotated", n.value is None),
    ast.AugAssign: lambda n: ("augmented",),
    ast.Assert: lambda n: ("assert", n.msg is None),
    ast.Global: lambda n: ("global", *map(nfkc, n.names)),
    ast.Nonlocal: lambda n: ("nonlocal", *map(nfkc, n.names)),
    ast.Import: lambda n: ("import", *((nfkc(a.name), nfkc(a.asname)) for a in n.names)),
    ast.ImportFrom: lambda n: ("from", nfkc(n.module or ""), n.level, len(n.names)),
    ast.Match: lambda n: ("match", len(n.cases)),
    ast.match_case: lambda n: ("case", n.guard is None),
    ast.MatchValue: lambda n: ("match value",),
    ast.MatchSingleton: lambda n: ("match singleton", n.value),
    ast.MatchSequence: lambda n: ("match sequence", len(n.patterns)),
    ast.MatchMapping: lambda n: ("match mapping", len(n.keys), len(n.patterns), nfkc(n.rest)),
    ast.MatchClass: lambda n: (
        "match class",
        len(n.patterns),
        tuple(n.kwd_attrs),
        len(n.kwd_patterns),
    ),
    ast.MatchStar: lambda n: ("match star", nfkc(n.name)),
    ast.MatchAs: lambda n: ("match as", n.pattern is None, nfkc(n.name)),
    ast.MatchOr: lambda n: ("match or", len(n.patterns)),
}
THEIRS[ast.AsyncFunctionDef] = THEIRS[ast.FunctionDef]
if sys.version_info >= (3, 11):
    THEIRS[ast.TryStar] = lambda n: (*THEIRS[ast.Try](n)[:-1], True)

OURS: dict[type[ir.Node], Callable[..., Row]] = {
    ir.FunctionDef: lambda n: (
        "def",
        n.name,
        n.name_span.line,
        parameters(n.params),
        len(n.decorators),
        n.is_generator,
        n.returns is None,
        n.docstring,
    ),
    ir.LambdaExpr: lambda n: ("lambda", parameters(n.params), n.is_generator),
    ir.ClassDef: lambda n: (
        "class",
        n.name,
        n.name_span.line,
        len(n.bases),
        tuple(k.name for k in n.keywords),
    ),
    ir.Call: lambda n: ("call", len(n.args), tuple(k.name for k in n.keywords)),
    ir.Compare: lambda n: ("compare", len(n.ops)),
    ir.BoolOp: lambda n: ("bool", len(n.values)),
    ir.BinOp: lambda n: ("binary",),
    ir.UnaryOp: lambda n: ("unary",),
    ir.IfExpr: lambda n: ("if expression",),
    ir.Attribute: lambda n: ("attribute", n.attr),
    ir.Name: lambda n: ("name", n.id),
    ir.Const: lambda n: constant(n.value),
    ir.Subscript: lambda n: ("subscript",),
    ir.SliceExpr: lambda n: ("slice", n.lower is None, n.upper is None, n.step is None),
    ir.Starred: lambda n: ("starred",),
    ir.DictExpr: lambda n: ("dict", tuple(k is None for k in n.keys)),
    ir.SetExpr: lambda n: ("set", len(n.elements)),
    ir.ListExpr: lambda n: ("list", len(n.elements)),
    ir.Comprehension: lambda n: ("comprehension", n.kind.value, len(n.generators)),
    ir.NamedExpr: lambda n: ("walrus",),
    ir.Yield: lambda n: ("yield", n.value is None),
    ir.YieldFrom: lambda n: ("yield from",),
    ir.FormattedValue: lambda n: ("formatted", n.conversion, n.format_spec is None),
    ir.JoinedStr: lambda n: (
        "joined",
        tuple(p if isinstance(p, str) else None for p in n.parts),
    ),
    ir.If: lambda n: ("if", bool(n.orelse)),
    ir.For: lambda n: ("for", bool(n.orelse)),
    ir.While: lambda n: ("while", bool(n.orelse)),
    ir.Return: lambda n: ("return", n.value is None),
    ir.Raise: lambda n: ("raise", n.exception is None, n.cause is None),
    ir.Try: lambda n: ("try", len(n.handlers), bool(n.orelse), bool(n.finalbody), n.star),
    ir.Handler: lambda n: ("except", n.type is None, n.name),
    ir.With: lambda n: ("with", len(n.items)),
    ir.Assign: lambda n: ("assign", len(n.targets)),
    ir.AnnAssign: lambda n: ("annotated", n.value is None),
    ir.AugAssign: lambda n: ("augmented",),
    ir.Assert: lambda n: ("assert", n.message is None),
    ir.Global: lambda n: ("global", *n.names),
    ir.Nonlocal: lambda n: ("nonlocal", *n.names),
    ir.Import: lambda n: ("import", *((a.name, a.asname) for a in n.names)),
    ir.ImportFrom: lambda n: ("from", n.module, n.level, len(n.names)),
    ir.Match: lambda n: ("match", len(n.cases)),
    ir.MatchCase: lambda n: ("case", n.guard is None),
    ir.MatchValue: lambda n: ("match value",),
    ir.MatchSingleton: lambda n: ("match singleton", n.value),
    ir.MatchSequence: lambda n: ("match sequence", len(n.patterns)),
    ir.MatchMapping: lambda n: ("match mapping", len(n.keys), len(n.patterns), n.rest),
    ir.MatchClass: lambda n: ("match class", len(n.patterns), n.names, len(n.named)),
    ir.MatchStar: lambda n: ("match star", n.name),
    ir.MatchAs: lambda n: ("match as", n.pattern is None, n.name),
    ir.MatchOr: lambda n: ("match or", len(n.patterns)),
}


def theirs(text: str) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = ast.parse(text)
    skipped: set[int] = set()  # string statements, and the literal parts of f-strings
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(v) for v in node.values if isinstance(v, ast.Constant))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, (str, bytes)):
                skipped.add(id(node.value))
        if isinstance(node, ast.Constant):
            if id(node) not in skipped:
                yield constant(node.value)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            kind = _COMPREHENSIONS.get(type(node).__name__, "generator")
            yield ("comprehension", kind, len(node.generators))
            if any(generator.is_async for generator in node.generators):
                yield ("async comprehension",)
        elif type(node) in THEIRS:
            yield THEIRS[type(node)](node)
        if isinstance(node, ast.AsyncFor):
            yield ("for", bool(node.orelse))
        elif isinstance(node, ast.AsyncWith):
            yield ("with", len(node.items))


def ours(statements: tuple[ir.Stmt, ...]) -> Iterator[Row]:
    for statement in statements:
        for node in walk(statement):
            if isinstance(node, (ir.UnsupportedStmt, ir.UnsupportedExpr)):
                yield (node.kind,)
            elif type(node) in OURS:
                yield OURS[type(node)](node)


def assert_agrees(text: str, where: str) -> int:
    found, expected = Counter(ours(lower(where, text, 1))), Counter(theirs(text))
    assert found == expected, f"{where}: {found - expected} {expected - found}"
    return sum(found.values())


def test_the_standard_library_lowers_to_what_python_parses() -> None:
    count = files = 0
    for path in library(4, 60_000):
        try:
            count += assert_agrees(path.read_text(encoding="utf-8"), str(path))
        except SourceError:
            continue  # what LibCST cannot parse
        files += 1
    assert files >= 30
    assert count > 30_000


@pytest.mark.parametrize(
    "text",
    [
        "del a, (b, [c, d.e]), f[0]; del (g); del (h, i)",
        "x[*a, b]; x[1:2, ::3]; x[a,]; x[()]; x[b:=1]",
        "def f(): return *a, b",
        "def f(): return (yield), [(yield b) for c in d]",
        "def f(): return lambda: (yield)",
        "def f(a=lambda: (yield)): pass",
        "def f():\n    def g(a=(yield)): pass",
        "def f():\n    @(yield)\n    class A: pass",
        "def f():\n    class A: x = lambda: (yield from y)",
        "async def f(): yield 1; await a; return",
        "async def f():\n    async for a in b:\n        yield a\n    else: pass",
        "async def f():\n    async with a as b, c: return [d async for d in e if await g]",
        "f(x=1, *a, **b, y=2); class_ = {**a, 1: 2, **b}; {*a, b}",
        "a < b <= c is not d not in e; not a in b; a if b else c if d else e",
        "1_000; 0x_ff; 0b1; 0o7; 1_0.5e1_0; .5; 1j; 1_0J; 00; 5.",
        "b'a' b\"\\x00\"; x = b'a' rb'\\x' b''; y = 'a' r'\\n' u'b' ''; ...; None",
        "x = f'', f'a' 'b', 'a' f'{b}' 'c' f'd{e}', rf'\\{x}', f'{{}}', F'{x}' f''",
        "f'{x=}'; f'{ x + 1 = }'; f'{x=!s}'; f'{x=:>3}'; f'{x = !r:^{w}.{p!a}}'; f'{(a,b)=}'",
        "f'{x!r}{y!s:}{z:}{w=:}'; f'{lambda_}{d[\"k\"]}'; f'{ {1: 2}[1] }'; f'{x:{{y}}}'",
        'f\'\\N{BULLET}{x}\\x41\'; f"""a\n{\nx\n=}"""',
        "@a.b[0](c)\n@(lambda f: f)\n@d if e else g\nclass A(B, *C, metaclass=M, **k): pass",
        "lambda a, /, b=1, *c, d, e=2, **g: 0; lambda *, a: a; lambda: (b := 1)",
        "def f(a: int, /, b: (c := 1) = 2, *d: e, g, **h) -> 'i': pass",
        "x: int; x: int = 1; a.b: c; d[0]: e = f; g: h = *i, j",
        "global a, b; import a.b.c as d, e; from . import f; from ..g import (h as i, j,)",
        "for a, *b in *c, d:\n    break\nelse:\n    pass\nwhile a: continue\nelse: pass",
        "with (a as b, c as (d, e),): pass\nwith (a): pass\nwith (a, b): pass\nwith a as b.c: pass",
        "try: pass\nexcept (A, B): pass\nexcept C as d: raise\nelse: raise a from b\nfinally: pass",
        "if a: import b\nelif c: b = None\nelse: from d import b",
        "a = b = c, *d = e; a @= b; a //= c; a **= d; a <<= e; a >>= f",
        "match a, *b:\n    case 1 | -1 | 1+2j | 'a' 'b' | b'c' | A.b.c: pass\n    case None: pass\n"
        "    case [] | () | [a, *_] | (b, c) | (d,) | (1): pass\n    case e, *g: pass",
        "match a:\n    case {} | {'k': x, 1: _, None: y, A.b: z, **rest}: pass\n"
        "    case A() | a.B(x, y=z, w=1,) as q if (r := q): pass\n    case (s as t): pass\n"
        "    case _: pass",
        "match = case = type = _ = 1; match(a); type(x); match[case]",
        "assert a, b; assert (a, b); pass; a; (yield_)",
        "[b for c in d if e if g for h in i], {j: k for l in m}, {n for o in p}, (q for r in s)",
        "print(*a, **k); print(*a, b, c=1, *d, **e)",
        "def f():\n    'doc' 'string'\n    'dropped'\ndef g(): b'no'\ndef h(): f'no'",
        "'a' f'{b}'",
    ],
)
def test_odd_pieces_lower_to_what_python_parses(text: str) -> None:
    assert_agrees(text + "\n", "k.py")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="syntax of Python 3.11")
def test_what_python_3_11_added() -> None:
    assert_agrees("try: pass\nexcept* A as b: pass\nx[*a]\ndef f(*args: *Ts): pass\n", "k.py")
