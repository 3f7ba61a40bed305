"""Lowering: LibCST trees to the IR, one piece of a file at a time."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import libcst as cst

from verifier.source import bodies, ir
from verifier.source.bodies import Body, Outlined
from verifier.source.expressions import SINGLETONS, Expressions
from verifier.source.literals import (
    adjacent,
    docstring,
    dotted,
    identifier,
)
from verifier.source.outline import parse_text
from verifier.source.positions import Positions
from verifier.source.text import NestedTooDeepError, SourceError

MAX_DEPTH = 400
"""Deepest syntax tree that is lowered. LibCST's native parser recurses on the machine stack."""

# LibCST's code generation, which gives positions, takes up to six Python frames per tree level.
_RECURSION_LIMIT = MAX_DEPTH * 12 + 2000


def lower(path: str, text: str, first_line: int) -> tuple[ir.Stmt, ...]:
    """The statements of ``text``, whole lines that start at line ``first_line`` of ``path``.

    ``text`` uses ``\\n`` line ends and starts in column 0. Results are kept per content, so the
    same definition is never lowered twice in a process. String statements other than the
    docstrings of functions are dropped.

    Raises:
        SourceError: the text does not parse.
        NestedTooDeepError: it is nested deeper than ``MAX_DEPTH``.
    """
    return _kept(path, text, first_line)


def keep(count: int) -> None:
    """How many results of :func:`lower` are kept from now on; those until now are forgotten."""
    global _kept
    _kept = lru_cache(maxsize=count)(_lower)


def _lower(path: str, text: str, first_line: int) -> tuple[ir.Stmt, ...]:
    if not text.endswith("\n"):
        text += "\n"
    statements = parse_text(path, text, first_line, own_lines=True)
    deep = _too_deep(statements)
    if deep is not None:
        message = f"source is nested more than {MAX_DEPTH} levels deep"
        raise NestedTooDeepError(path, deep + first_line - 1, 0, message)
    return _lowered(path, text, first_line, bodies.outlined(text, statements))


def _lowered(path: str, text: str, first_line: int, found: Outlined) -> tuple[ir.Stmt, ...]:
    """The statements of a text whose long bodies are left out."""
    with _deep_recursion():
        module = _parse(path, found.text, first_line)
        try:
            positions = Positions(module, found.text)
            lowering = _Lowering(path, first_line - 1, positions)
            lowering.text, lowering.found = text, found
            return lowering.statements(module.body)
        except ValueError as error:
            raise SourceError(path, first_line, 0, f"cannot locate source: {error}") from error
        except RecursionError:  # thousands of adjacent string literals
            message = "source is nested too deeply"
            raise NestedTooDeepError(path, first_line, 0, message) from None


_kept = lru_cache(maxsize=2048)(_lower)  # some 50 kB each


def _parse(path: str, text: str, first_line: int) -> cst.Module:
    message = "valid Python, but LibCST cannot parse this statement"
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        line = min(max(error.raw_line, 1), text.count("\n"))
        raise SourceError(path, first_line - 1 + line, 0, message) from error
    except cst.CSTValidationError as error:
        raise SourceError(path, first_line, 0, message) from error
    except BaseException as error:
        # A panic of the native parser arrives as an exception class of its own, below
        # BaseException, that cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise SourceError(path, first_line, 0, message) from error


_recursion_lock = threading.RLock()


@contextmanager
def _deep_recursion() -> Iterator[None]:
    with _recursion_lock:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


def _too_deep(statements: Sequence[ast.stmt]) -> int | None:
    """The line of the first statement whose concrete syntax nests deeper than ``MAX_DEPTH``."""
    stack: list[tuple[ast.AST, int]] = [(s, 1) for s in statements]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            line: int = getattr(node, "lineno", statements[0].lineno)
            return line
        # `a and b and c` and `a < b < c` are flat here and nested in the concrete syntax.
        if isinstance(node, ast.BoolOp):
            depth += len(node.values)
        elif isinstance(node, ast.Compare):
            depth += len(node.ops)
        depth += 1
        for name in node._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                stack.extend((v, depth) for v in value if isinstance(v, ast.AST))
            elif isinstance(value, ast.AST) and value._fields:
                stack.append((value, depth))
    return None


def _statements_of(path: str, text: str, first_line: int, body: Body) -> tuple[ir.Stmt, ...]:
    """The statements of a body that was left out."""
    line = first_line + body.line - 1
    own = bodies.text_of(text, body)
    try:
        (function,) = _lowered(path, own + "\n", line - 1, Outlined(own + "\n", {}, {}))
    except SourceError as error:
        place = ir.Span(path, error.line, error.column, error.line, error.column)
        return (ir.UnsupportedStmt(place, f"statement that cannot be read ({error.message})"),)
    assert isinstance(function, ir.FunctionDef)
    return function.body


class _Lowering(Expressions):
    #: the whole text, and what is left out of the one that was parsed
    text = ""
    found = Outlined("", {}, {})

    # ----------------------------------------------------------------- statements

    def statements(
        self, body: Sequence[cst.BaseStatement | cst.BaseSmallStatement]
    ) -> tuple[ir.Stmt, ...]:
        lowered: list[ir.Stmt] = []
        for statement in body:
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self._append(small, lowered)
            else:
                self._append(statement, lowered)
        return tuple(lowered)

    def _append(self, node: cst.CSTNode, out: list[ir.Stmt]) -> None:
        if isinstance(node, cst.Expr):
            if all(isinstance(piece, cst.SimpleString) for piece in adjacent(node.value)):
                return
        method = _STATEMENTS.get(type(node))
        if method is None:
            out.append(ir.UnsupportedStmt(self._span(node), type(node).__name__.lower()))
        else:
            out.append(method(self, node))

    def _block(self, suite: cst.BaseSuite) -> tuple[ir.Stmt, ...]:
        return self.statements(suite.body)

    def _else(self, node: cst.Else | None) -> tuple[ir.Stmt, ...]:
        return () if node is None else self._block(node.body)

    def _expr_stmt(self, node: cst.Expr) -> ir.Stmt:
        return ir.ExprStmt(self._span(node), self.expr(node.value))

    def _assign(self, node: cst.Assign) -> ir.Stmt:
        targets = tuple(self.expr(target.target) for target in node.targets)
        return ir.Assign(self._span(node), targets, self.expr(node.value))

    def _ann_assign(self, node: cst.AnnAssign) -> ir.Stmt:
        value = None if node.value is None else self.expr(node.value)
        annotation = self.expr(node.annotation.annotation)
        return ir.AnnAssign(self._span(node), self.expr(node.target), annotation, value)

    def _aug_assign(self, node: cst.AugAssign) -> ir.Stmt:
        op = _AUGMENTED[type(node.operator)]
        return ir.AugAssign(self._span(node), self.expr(node.target), op, self.expr(node.value))

    def _if(self, node: cst.If) -> ir.Stmt:
        # A loop over the `elif` branches: long chains must not nest Python calls.
        branches: list[cst.If] = [node]
        tail = node.orelse
        while isinstance(tail, cst.If):
            branches.append(tail)
            tail = tail.orelse
        orelse = self._else(tail)
        lowered: ir.Stmt | None = None
        for branch in reversed(branches):
            test, body = self.expr(branch.test), self._block(branch.body)
            lowered = ir.If(self._span(branch), test, body, orelse)
            orelse = (lowered,)
        assert lowered is not None
        return lowered

    def _for(self, node: cst.For) -> ir.Stmt:
        lowered = ir.For(
            self._span(node),
            self.expr(node.target),
            self.expr(node.iter),
            self._block(node.body),
            self._else(node.orelse),
        )
        if node.asynchronous is not None:
            return ir.UnsupportedStmt(lowered.span, "async for", (lowered,))
        return lowered

    def _while(self, node: cst.While) -> ir.Stmt:
        return ir.While(
            self._span(node), self.expr(node.test), self._block(node.body), self._else(node.orelse)
        )

    def _return(self, node: cst.Return) -> ir.Stmt:
        return ir.Return(self._span(node), self._optional(node.value))

    def _assert(self, node: cst.Assert) -> ir.Stmt:
        return ir.Assert(self._span(node), self.expr(node.test), self._optional(node.msg))

    def _raise(self, node: cst.Raise) -> ir.Stmt:
        cause = None if node.cause is None else self.expr(node.cause.item)
        return ir.Raise(self._span(node), self._optional(node.exc), cause)

    def _pass(self, node: cst.Pass) -> ir.Stmt:
        return ir.Pass(self._span(node))

    def _break(self, node: cst.Break) -> ir.Stmt:
        return ir.Break(self._span(node))

    def _continue(self, node: cst.Continue) -> ir.Stmt:
        return ir.Continue(self._span(node))

    def _del(self, node: cst.Del) -> ir.Stmt:
        target = self.expr(node.target)
        if isinstance(target, (ir.TupleExpr, ir.ListExpr)):
            return ir.Delete(self._span(node), target.elements)
        return ir.Delete(self._span(node), (target,))

    def _global(self, node: cst.Global) -> ir.Stmt:
        names = tuple(identifier(item.name.value) for item in node.names)
        return ir.Global(self._span(node), names)

    def _nonlocal(self, node: cst.Nonlocal) -> ir.Stmt:
        names = tuple(identifier(item.name.value) for item in node.names)
        return ir.Nonlocal(self._span(node), names)

    def _type_alias(self, node: cst.TypeAlias) -> ir.Stmt:
        # The value is evaluated lazily, in a scope of its own: only the name is left.
        name = identifier(node.name.value)
        return ir.UnsupportedStmt(self._span(node), "type", binds=(name,))

    def _with(self, node: cst.With) -> ir.Stmt:
        items = []
        for item in node.items:
            target = None if item.asname is None else self.expr(item.asname.name)
            last: cst.CSTNode = item.item if item.asname is None else item.asname.name
            items.append(ir.WithItem(self._span(item.item, last), self.expr(item.item), target))
        lowered = ir.With(self._span(node), tuple(items), self._block(node.body))
        if node.asynchronous is not None:
            return ir.UnsupportedStmt(lowered.span, "async with", (lowered,))
        return lowered

    def _try(self, node: cst.Try | cst.TryStar) -> ir.Stmt:
        handlers = []
        for handler in node.handlers:
            name = None
            if handler.name is not None and isinstance(handler.name.name, cst.Name):
                name = identifier(handler.name.name.value)
            kind = self._optional(handler.type)
            handlers.append(ir.Handler(self._span(handler), kind, name, self._block(handler.body)))
        final = () if node.finalbody is None else self._block(node.finalbody.body)
        return ir.Try(
            self._span(node),
            self._block(node.body),
            tuple(handlers),
            self._else(node.orelse),
            final,
            isinstance(node, cst.TryStar),
        )

    def _aliases(self, aliases: Sequence[cst.ImportAlias]) -> tuple[ir.ImportAlias, ...]:
        lowered = []
        for alias in aliases:
            asname = None
            last: cst.CSTNode = alias.name
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                asname = identifier(alias.asname.name.value)
                last = alias.asname.name
            span = self._span(alias.name, last)
            lowered.append(ir.ImportAlias(span, dotted(alias.name), asname))
        return tuple(lowered)

    def _import(self, node: cst.Import) -> ir.Stmt:
        return ir.Import(self._span(node), self._aliases(node.names))

    def _import_from(self, node: cst.ImportFrom) -> ir.Stmt:
        if isinstance(node.names, cst.ImportStar):
            names: tuple[ir.ImportAlias, ...] = (ir.ImportAlias(self._span(node.names), "*", None),)
        else:
            names = self._aliases(node.names)
        module = "" if node.module is None else dotted(node.module)
        return ir.ImportFrom(self._span(node), module, len(node.relative), names)

    def _function(self, node: cst.FunctionDef) -> ir.Stmt:
        # Decorators, defaults and annotations belong to the block around: a `yield` there too.
        params = self._params(node.params)
        decorators = tuple(self.expr(d.decorator) for d in node.decorators)
        returns = None if node.returns is None else self.expr(node.returns.annotation)
        own = self._span(node.name)
        body = self.found.bodies.get(own.line - self._offset)
        if body is None:
            self._yields.append(False)
            block, text = ir.Block.of(self._block(node.body)), docstring(node.body.body)
            is_generator = self._yields.pop()
        else:
            path, whole, line = self._path, self.text, self._offset + 1
            block = ir.Block(lambda: _statements_of(path, whole, line, body))
            text, is_generator = body.docstring, body.is_generator
        lowered = ir.FunctionDef(
            self._definition_span(node),
            identifier(node.name.value),
            params,
            block,
            decorators,
            own,
            node.asynchronous is not None,
            text,
            is_generator,
            returns,
        )
        return self._generic(lowered, node.type_parameters)

    def _class(self, node: cst.ClassDef) -> ir.Stmt:
        bases, keywords = self._arguments([*node.bases, *node.keywords])
        decorators = tuple(self.expr(d.decorator) for d in node.decorators)
        lowered = ir.ClassDef(
            self._definition_span(node),
            identifier(node.name.value),
            bases,
            keywords,
            self._block(node.body),
            decorators,
            self._span(node.name),
            docstring(node.body.body),
        )
        return self._generic(lowered, node.type_parameters)

    @staticmethod
    def _generic(definition: ir.Stmt, parameters: cst.TypeParameters | None) -> ir.Stmt:
        if parameters is None:
            return definition
        return ir.UnsupportedStmt(definition.span, "type parameters", (definition,))

    def _definition_span(self, node: cst.FunctionDef | cst.ClassDef) -> ir.Span:
        own = self._span(node)
        end = self.found.ends.get(self._range(node.name, node.name)[0])
        if end is not None:  # what is left out may be at the end
            own = ir.Span(own.path, own.line, own.column, end[0] + self._offset, end[1])
        if not node.decorators:
            return own
        # A decorator's own position includes its leading comments: start at the `@`, which is
        # the token before the expression, in the column of the definition.
        line = self._range(node.decorators[0].decorator, node.decorators[0].decorator)[0]
        return ir.Span(own.path, line + self._offset, own.column, own.end_line, own.end_column)

    # ----------------------------------------------------------------- match

    def _match(self, node: cst.Match) -> ir.Stmt:
        subject = self.expr(node.subject)
        cases = []
        for case in node.cases:
            pattern, guard = self._pattern(case.pattern), self._optional(case.guard)
            cases.append(ir.MatchCase(self._span(case), pattern, guard, self._block(case.body)))
        return ir.Match(self._span(node), subject, tuple(cases))

    def _pattern(self, node: cst.CSTNode) -> ir.Pattern:
        # LibCST has no other patterns, and CPython none that the IR lacks.
        lowered: ir.Pattern = _PATTERNS[type(node)](self, node)
        return lowered

    def _match_value(self, node: cst.MatchValue) -> ir.Pattern:
        return ir.MatchValue(self._span(node.value), self.expr(node.value))

    def _match_singleton(self, node: cst.MatchSingleton) -> ir.Pattern:
        return ir.MatchSingleton(self._span(node.value), SINGLETONS[node.value.value])

    def _match_sequence(self, node: cst.MatchSequence) -> ir.Pattern:
        patterns = tuple(
            self._pattern(item.value if isinstance(item, cst.MatchSequenceElement) else item)
            for item in node.patterns
        )
        return ir.MatchSequence(self._span(node), patterns)

    def _match_star(self, node: cst.MatchStar) -> ir.Pattern:
        return ir.MatchStar(self._span(node), _name_of(node.name))

    def _match_mapping(self, node: cst.MatchMapping) -> ir.Pattern:
        keys = tuple(self.expr(item.key) for item in node.elements)
        patterns = tuple(self._pattern(item.pattern) for item in node.elements)
        return ir.MatchMapping(self._span(node), keys, patterns, _name_of(node.rest))

    def _match_class(self, node: cst.MatchClass) -> ir.Pattern:
        return ir.MatchClass(
            self._span(node),
            self.expr(node.cls),
            tuple(self._pattern(item.value) for item in node.patterns),
            tuple(identifier(item.key.value) for item in node.kwds),
            tuple(self._pattern(item.pattern) for item in node.kwds),
        )

    def _match_as(self, node: cst.MatchAs) -> ir.Pattern:
        pattern = None if node.pattern is None else self._pattern(node.pattern)
        return ir.MatchAs(self._span(node), pattern, _name_of(node.name))

    def _match_or(self, node: cst.MatchOr) -> ir.Pattern:
        patterns = tuple(self._pattern(item.pattern) for item in node.patterns)
        return ir.MatchOr(self._span(node), patterns)


# --------------------------------------------------------------------------- pieces


def _name_of(node: cst.Name | None) -> str | None:
    return None if node is None else identifier(node.value)


# --------------------------------------------------------------------------- tables

_AUGMENTED: dict[type[cst.CSTNode], str] = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//",
    cst.ModuloAssign: "%",
    cst.PowerAssign: "**",
    cst.MatrixMultiplyAssign: "@",
    cst.LeftShiftAssign: "<<",
    cst.RightShiftAssign: ">>",
    cst.BitAndAssign: "&",
    cst.BitOrAssign: "|",
    cst.BitXorAssign: "^",
}

# Each method takes the node type it is filed under; the table itself cannot say so.
_STATEMENTS: dict[type[cst.CSTNode], Callable[[_Lowering, Any], ir.Stmt]] = {
    cst.Expr: _Lowering._expr_stmt,
    cst.Assign: _Lowering._assign,
    cst.AnnAssign: _Lowering._ann_assign,
    cst.AugAssign: _Lowering._aug_assign,
    cst.If: _Lowering._if,
    cst.For: _Lowering._for,
    cst.While: _Lowering._while,
    cst.Return: _Lowering._return,
    cst.Assert: _Lowering._assert,
    cst.Raise: _Lowering._raise,
    cst.Pass: _Lowering._pass,
    cst.Break: _Lowering._break,
    cst.Continue: _Lowering._continue,
    cst.Del: _Lowering._del,
    cst.Global: _Lowering._global,
    cst.Nonlocal: _Lowering._nonlocal,
    cst.Match: _Lowering._match,
    cst.TypeAlias: _Lowering._type_alias,
    cst.With: _Lowering._with,
    cst.Try: _Lowering._try,
    cst.TryStar: _Lowering._try,
    cst.Import: _Lowering._import,
    cst.ImportFrom: _Lowering._import_from,
    cst.FunctionDef: _Lowering._function,
    cst.ClassDef: _Lowering._class,
}

_PATTERNS: dict[type[cst.CSTNode], Callable[[_Lowering, Any], ir.Pattern]] = {
    cst.MatchValue: _Lowering._match_value,
    cst.MatchSingleton: _Lowering._match_singleton,
    cst.MatchList: _Lowering._match_sequence,
    cst.MatchTuple: _Lowering._match_sequence,
    cst.MatchStar: _Lowering._match_star,
    cst.MatchMapping: _Lowering._match_mapping,
    cst.MatchClass: _Lowering._match_class,
    cst.MatchAs: _Lowering._match_as,
    cst.MatchOr: _Lowering._match_or,
}
