from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libcst.metadata import MetadataWrapper, PositionProvider

import verifier
from tests.sweeps import examples
from verifier.source import ir
from verifier.source.expressions import EXPRESSIONS
from verifier.source.lowering import _PATTERNS, _STATEMENTS, lower
from verifier.source.positions import Positions
from verifier.source.text import SourceError

SAMPLE = textwrap.dedent(
    '''\
    import a.b as c, d
    from ..e import (f as g,
                     h,)
    from . import *
    X = Y, *Z = 1_000, 0x1F, -1.5e3, 2j, b"z\\x00", r"\\d", ...


    @c.jit
    @c.opts(mode = "é", **extra)
    async def kernel(p, /, q: int = (3), *rest, k=None, **more) -> int:
        """Doc
        string."""
        "dropped"
        [n, m] = p.shape[0], p . shape [ -1 ]
        t = ((n + m) * 2) ** -1 @ q // 3 % 4 << 1 >> 2 & 3 | 4 ^ ~5
        assert n <= m < 4 and not (a or b or c) and x is not None, f"n={n!r:>{m}} {{é}}"
        v = p[1:n, ..., None, :, ::2, (a, b)][0,][k:=1]
        for i, (j, *_) in zip(range(n), q, *rest, key=lambda z, *w: z[0]):
            if i > 1: continue
            elif not j: break
            else:
                v[i] += g(i)(*rest, a=1, **more).attr
        else:
            pass
        while (y := n) is not m not in q: del v[0], (w)
        with open(t) as fh, (lock): raise ValueError("x") from None
        try: return [e for e in q if e if not e for f in e], {e: f for e, f in q}
        except (A, B) as err :
            global G; nonlocal_ = {*a, 1}; d = {**b, "k": 1, }
        except C :
            await later()
        else: x: int
        finally: w: "T" = (yield)
        match t, *q:
            case None | 1 | {"a": (1.5 as one), **others} if one: yield p
            case K(A.b, [*some, _, *_], f1=("x")): pass
        return a if b else (c)  # tail é
    def outer():
        n = None
        def inner(): nonlocal n; n = yield from f(f"{n = }")
    class K(Base, metaclass = M): f1: int = 1; f2 = "a" 'b' f"{c}"
    '''
)


def nodes(value: object) -> Iterator[ir.Node]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            stack.extend(item)
        elif isinstance(item, ir.Node):
            yield item
            stack.extend(getattr(item, name) for name in item.__struct_fields__)
        elif isinstance(item, ir.Block):
            stack.append(item.statements)


def lowered(text: str) -> tuple[ir.Stmt, ...]:
    return lower("k.py", textwrap.dedent(text), 1)


def expression(text: str) -> ir.Expr:
    (statement,) = lowered(f"_ = {text}\n")
    assert isinstance(statement, ir.Assign)
    return statement.value


def text_of(text: str, span: ir.Span) -> str:
    lines = text.split("\n")[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return "\n".join(lines)


# --------------------------------------------------------------------------- positions


def assert_agrees_with_position_provider(text: str) -> None:
    module = cst.parse_module(text)
    if module.code != text:
        return  # LibCST forgot some white space: its own positions are off
    ours = Positions(module, text)
    theirs = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    for node, expected in theirs.items():
        if isinstance(node, cst.Module):
            continue
        span = (expected.start.line, expected.start.column, expected.end.line, expected.end.column)
        assert ours.range(node, node) == span, type(node).__name__


def own_sources() -> list[Path]:
    (folder,) = verifier.__path__
    return sorted((Path(folder) / "source").glob("*.py"))


@pytest.mark.parametrize("path", own_sources(), ids=lambda path: path.name)
def test_positions_agree_with_libcst_on_real_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert_agrees_with_position_provider(text if text.endswith("\n") else text + "\n")


def test_positions_agree_with_libcst_on_odd_syntax() -> None:
    assert_agrees_with_position_provider(SAMPLE.replace(" :\n", ":\n"))


NAMES = st.sampled_from(["a", "bb", "é", "x1"])
SPACES = st.sampled_from(["", " ", "  ", "\t"])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0:
        return draw(NAMES | st.sampled_from(["1", "'é'", "2.5", "..."]))
    inner = expressions(depth=depth - 1)
    one, two, space = draw(inner), draw(inner), draw(SPACES)
    forms = [
        f"({space}{one}{space})",
        f"{one} {space}+{space}{two}",
        f"({one}{space},{space}{two}{space},)",
        f"[{one},\n{space}{two}]",
        f"({one}){space}[{space}{two}:{space}{one}, ...]",
        f"f{space}({one},{space}k{space}={space}{two}, *{one}, **{two})",
        f"({one}).b{space}.c",
        f"({one} and {two}{space} and not {one})",
        f"({one} {space}if {two} else{space} {one})",
        f"({one} <{space}{two}{space} is not {one})",
        f"(lambda q{space}={space}{one}:{space}{two})",
        f"[{one} for q in {two}{space} if {one}]",
        f"{{{one}{space}:{space}{two}, **{one}}}",
    ]
    return draw(st.sampled_from(forms))


@settings(max_examples=examples(60), deadline=None)
@given(expressions(), SPACES)
def test_spans_are_exact(text: str, space: str) -> None:
    source = f"def f():\n    # é\n\n    r{space}={space}{text}{space}\n    return{space} ({text})\n"
    assert_agrees_with_position_provider(source)
    lines = source.split("\n")

    def column(line: int, offset: int) -> int:
        return len(lines[line - 1].encode()[:offset].decode())

    expected = {
        (
            type(n).__name__,
            n.lineno,
            column(n.lineno, n.col_offset),
            n.end_lineno,
            column(n.end_lineno or 0, n.end_col_offset or 0),
        )
        for n in ast.walk(ast.parse(source))
        if isinstance(n, (ast.Name, ast.BinOp, ast.Call, ast.Subscript, ast.Attribute))
    }
    found = {
        (type(n).__name__, s.line, s.column, s.end_line, s.end_column)
        for n in nodes(lower("k.py", source, 1))
        if isinstance(n, (ir.Name, ir.BinOp, ir.Call, ir.Subscript, ir.Attribute))
        for s in [n.span]
    }
    assert found == expected


def test_white_space_that_libcst_forgets_does_not_shift_spans() -> None:
    text = "try:\n    a\nexcept (E, F)   : b = 1; c = 2\nexcept G\t: d = 3\n"
    assert cst.parse_module(text).code != text
    found = {text_of(text, n.span) for n in nodes(lowered(text)) if isinstance(n, ir.Assign)}
    assert found == {"b = 1", "c = 2", "d = 3"}


def test_comment_that_ends_in_a_backslash() -> None:
    (statement,) = lowered("x = 0x1c  # ^\\\n")
    assert statement.span == ir.Span("k.py", 1, 0, 1, 8)


def test_lines_are_those_of_the_file() -> None:
    (statement,) = lower("k.py", "@d\ndef f(x):\n    return x\n", 41)
    assert isinstance(statement, ir.FunctionDef)
    assert statement.span == ir.Span("k.py", 41, 0, 43, 12)
    assert statement.name_span == ir.Span("k.py", 42, 4, 42, 5)


# --------------------------------------------------------------------------- meaning


def test_every_construct_lowers_with_its_text() -> None:
    statements = lower("k.py", SAMPLE, 1)
    kinds = {type(n).__name__ for n in nodes(statements)}
    every = {
        name
        for name, value in vars(ir).items()
        if isinstance(value, type) and issubclass(value, ir.Node)
    }
    missing = every - kinds - {"Node", "Expr", "Stmt", "Pattern", "UnsupportedStmt"}
    assert missing == set()
    for node in nodes(statements):
        if isinstance(node, ir.Name):
            assert text_of(SAMPLE, node.span) == node.id
        if isinstance(node, (ir.Keyword, ir.Param)) and node.name is not None:
            assert text_of(SAMPLE, node.span).startswith(node.name)
        if isinstance(node, ir.Handler):
            assert text_of(SAMPLE, node.span).startswith("except")


def test_function() -> None:
    kernel = next(s for s in lower("k.py", SAMPLE, 1) if isinstance(s, ir.FunctionDef))
    assert kernel.is_async
    assert kernel.is_generator
    assert isinstance(kernel.returns, ir.Name)
    assert kernel.docstring == "Doc\n    string."
    assert [(p.name, p.kind) for p in kernel.params] == [
        ("p", ir.ParamKind.POSITIONAL_ONLY),
        ("q", ir.ParamKind.POSITIONAL),
        ("rest", ir.ParamKind.STAR),
        ("k", ir.ParamKind.KEYWORD),
        ("more", ir.ParamKind.DOUBLE_STAR),
    ]
    assert not any(isinstance(s, ir.ExprStmt) for s in kernel.body)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0b101", 5),
        ("0o17", 15),
        ("1_0", 10),
        ("00", 0),
        ("1e3", 1000.0),
        ("3J", 3j),
        ("'a\\n' \"b\" '''c'''", "a\nbc"),
        ("b'a' b'\\x01'", b"a\x01"),
        ("''", ""),
        ('""""""', ""),
        ("r'\\n'", "\\n"),
        ("u'x'", "x"),
        ("'\\d'", "\\d"),
        ("None", None),
        ("True", True),
        ("...", ...),
        ("'a\\\nb'", "ab"),
    ],
)
def test_constants(text: str, value: object) -> None:
    constant = expression(text)
    assert isinstance(constant, ir.Const)
    assert constant.value == value
    assert type(constant.value) is type(value)


def test_f_strings_keep_text_and_expressions() -> None:
    joined = expression("'a' f'b{x!r:>{w}}{{c}}\\t' rf'\\d{y}'")
    assert isinstance(joined, ir.JoinedStr)
    first, x, second, y = joined.parts
    assert (first, second) == ("ab", "{c}\t\\d")
    assert isinstance(x, ir.FormattedValue) and isinstance(y, ir.FormattedValue)
    assert isinstance(x.value, ir.Name) and isinstance(y.value, ir.Name)
    assert (x.value.id, x.conversion, y.value.id, y.conversion) == ("x", "r", "y", "")
    assert x.format_spec is not None and y.format_spec is None
    assert x.format_spec.parts[0] == ">"
    assert isinstance(x.format_spec.parts[1], ir.FormattedValue)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ('f"""\\n"\'{x}"""', "\n\"'"),
        ("f'''\\\\\"{x}'''", '\\"'),
        ("f'\\'{x}'", "'"),
        ("f'\\x41{{{x}'", "A{"),
        ("f'\\\\{x}'", "\\"),
    ],
)
def test_quotes_and_escapes_in_f_strings(text: str, first: str) -> None:
    joined = expression(text)
    assert isinstance(joined, ir.JoinedStr)
    assert joined.parts[0] == first


def test_subscripts() -> None:
    for text, shape in [
        ("x[1]", "Const"),
        ("x[1,]", "TupleExpr"),
        ("x[1, 2]", "TupleExpr"),
        ("x[(1, 2)]", "TupleExpr"),
        ("x[a:b]", "SliceExpr"),
        ("x[:, a]", "TupleExpr"),
        *([("x[*a]", "TupleExpr")] if sys.version_info >= (3, 11) else []),
    ]:
        subscript = expression(text)
        assert isinstance(subscript, ir.Subscript)
        assert type(subscript.index).__name__ == shape, text


def test_names_are_normalised_as_python_does() -> None:
    (function,) = lowered("def \uff46(\uff41): return \uff41.\uff42\n")
    assert isinstance(function, ir.FunctionDef)
    assert function.name == "f"
    assert function.params[0].name == "a"
    names = {
        n.attr if isinstance(n, ir.Attribute) else n.id
        for n in nodes(function.body)
        if isinstance(n, (ir.Attribute, ir.Name))
    }
    assert names == {"a", "b"}


def test_flat_boolean_chains_and_deep_sums() -> None:
    flat = expression("a and b and (c and d) and e")
    assert isinstance(flat, ir.BoolOp)
    assert len(flat.values) == 4
    total = expression(" + ".join(["a"] * 300))
    assert isinstance(total, ir.BinOp)


def test_unsupported_constructs_are_named() -> None:
    (function,) = lowered(
        """\
        async def f():
            x = await g()
            async for y in x: pass
            async with x as z: pass
            return [a async for a in z], {b for b in c async for d in b}
        """
    )
    unsupported = [
        n for n in nodes(function) if isinstance(n, (ir.UnsupportedExpr, ir.UnsupportedStmt))
    ]
    assert sorted((n.kind, *(type(i).__name__ for i in n.inner)) for n in unsupported) == [
        ("async comprehension", "Comprehension"),
        ("async comprehension", "Comprehension"),
        ("async for", "For"),
        ("async with", "With"),
        ("await", "Call"),
    ]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_statements_and_parameters_are_unsupported() -> None:
    found = lowered("type X[T] = list[T]\ndef f[T](x: T): pass\nclass A[T]: pass\n")
    assert all(isinstance(statement, ir.UnsupportedStmt) for statement in found)
    kinds = [s.kind for s in found if isinstance(s, ir.UnsupportedStmt)]
    assert kinds == ["type", "type parameters", "type parameters"]


def test_every_node_of_the_grammar_is_handled() -> None:
    def concrete(base: object) -> set[str]:
        assert isinstance(base, type)
        return {
            name
            for name, kind in vars(cst).items()
            if isinstance(kind, type) and issubclass(kind, base) and not name.startswith("Base")
        }

    # What is not in the tables becomes an unsupported node of its name: newer than Python 3.13.
    statements = concrete(cst.BaseStatement) | concrete(cst.BaseSmallStatement)
    assert statements - {kind.__name__ for kind in _STATEMENTS} <= {
        "SimpleStatementLine",
        "LazyImport",
        "LazyImportFrom",
    }
    assert concrete(cst.BaseExpression) - {kind.__name__ for kind in EXPRESSIONS} <= {
        "TemplatedString",
        "StarredDictComp",
    }
    abstract = {"MatchPattern", "MatchSequence"}
    patterns = concrete(cst.MatchPattern) - abstract | {"MatchStar"}
    assert patterns == {kind.__name__ for kind in _PATTERNS}


def test_strings_that_do_something_are_no_docstrings() -> None:
    assert lowered('"a" "b"\nb"c"\n') == ()
    (statement,) = lowered('"a" f"{g()}"\n')
    assert isinstance(statement, ir.ExprStmt)


def test_same_text_is_lowered_once() -> None:
    text = "def once(a):\n    return a\n"
    assert lower("k.py", text, 3) is lower("k.py", text, 3)
    assert lower("other.py", text, 3) is not lower("k.py", text, 3)


@pytest.mark.parametrize(
    "text",
    [
        "x = a" + " and a" * 60_000 + "\n",
        "x = a" + " < a" * 60_000 + "\n",
        "x = a" + ".b" * 900 + "\n",
        "x = a" + "()" * 900 + "\n",
        "x = (" + "'a'\n" * 4500 + ")\n",
        "if a: pass\n" + "elif b: pass\n" * 900,
        "(x): int = 1\n",  # valid Python that LibCST's grammar lacks
        "x = (a if b else c)if d else e\n",  # parsed, then refused by LibCST's validation
    ],
)
def test_what_cannot_be_lowered_is_a_source_error(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        lower("k.py", text, 7)
    assert caught.value.path == "k.py"
    assert caught.value.line >= 7


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 150 + "1" + ")" * 150 + "\n",
        "x = " + "f(" * 150 + "1" + ")" * 150 + "\n",
        "x = (" + "'a'\n" * 900 + ")\n",
        "if a: pass\n" + "elif b: pass\n" * 300,
        "x = " + "lambda: " * 150 + "1\n",
    ],
)
def test_deep_but_human_nesting_is_lowered(text: str) -> None:
    assert len(lower("k.py", text, 1)) == 1
