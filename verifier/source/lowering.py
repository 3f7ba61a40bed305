"""Lowering: LibCST trees to the IR, one piece of a file at a time."""

from __future__ import annotations

import ast
import re
import sys
import threading
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import libcst as cst

from verifier.source import ir
from verifier.source.outline import parse_text
from verifier.source.positions import Positions
from verifier.source.text import SourceError

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
        SourceError: the text does not parse, or is nested deeper than ``MAX_DEPTH``.
    """
    return _kept(path, text, first_line)


def keep(count: int) -> None:
    """How many results of :func:`lower` are kept from now on; those until now are forgotten."""
    global _kept
    _kept = lru_cache(maxsize=count)(_lower)


def _lower(path: str, text: str, first_line: int) -> tuple[ir.Stmt, ...]:
    if not text.endswith("\n"):
        text += "\n"
    statements = parse_text(path, text, first_line)
    deep = _too_deep(statements)
    if deep is not None:
        raise SourceError(path, deep, 0, f"source is nested more than {MAX_DEPTH} levels deep")
    with _deep_recursion():
        module = _parse(path, text, first_line)
        try:
            positions = Positions(module, text)
            return _Lowering(path, first_line - 1, positions).statements(module.body)
        except ValueError as error:
            raise SourceError(path, first_line, 0, f"cannot locate source: {error}") from error
        except RecursionError:  # thousands of adjacent string literals
            raise SourceError(path, first_line, 0, "source is nested too deeply") from None


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


class _Lowering:
    def __init__(self, path: str, line_offset: int, positions: Positions) -> None:
        self._path = path
        self._offset = line_offset
        self._range = positions.range

    # ----------------------------------------------------------------- spans

    def _span(self, first: cst.CSTNode, last: cst.CSTNode | None = None) -> ir.Span:
        line, column, end_line, end_column = self._range(first, first if last is None else last)
        offset = self._offset
        return ir.Span(self._path, line + offset, column, end_line + offset, end_column)

    @staticmethod
    def _join(first: ir.Span, last: ir.Span) -> ir.Span:
        return ir.Span(first.path, first.line, first.column, last.end_line, last.end_column)

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
        if isinstance(node, cst.Expr) and isinstance(
            node.value, (cst.SimpleString, cst.ConcatenatedString)
        ):
            return
        method = _STATEMENTS.get(type(node))
        if method is None:
            kind = "match" if isinstance(node, cst.Match) else type(node).__name__.lower()
            out.append(ir.UnsupportedStmt(self._span(node), kind))
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
        return ir.For(
            self._span(node),
            self.expr(node.target),
            self.expr(node.iter),
            self._block(node.body),
            self._else(node.orelse),
        )

    def _while(self, node: cst.While) -> ir.Stmt:
        return ir.While(
            self._span(node), self.expr(node.test), self._block(node.body), self._else(node.orelse)
        )

    def _return(self, node: cst.Return) -> ir.Stmt:
        return ir.Return(self._span(node), self._optional(node.value))

    def _assert(self, node: cst.Assert) -> ir.Stmt:
        return ir.Assert(self._span(node), self.expr(node.test), self._optional(node.msg))

    def _raise(self, node: cst.Raise) -> ir.Stmt:
        return ir.Raise(self._span(node), self._optional(node.exc))

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

    def _global(self, node: cst.Global | cst.Nonlocal) -> ir.Stmt:
        return ir.GlobalStmt(
            self._span(node), tuple(_identifier(item.name.value) for item in node.names)
        )

    def _with(self, node: cst.With) -> ir.Stmt:
        items = []
        for item in node.items:
            target = None if item.asname is None else self.expr(item.asname.name)
            last: cst.CSTNode = item.item if item.asname is None else item.asname.name
            items.append(ir.WithItem(self._span(item.item, last), self.expr(item.item), target))
        return ir.With(self._span(node), tuple(items), self._block(node.body))

    def _try(self, node: cst.Try | cst.TryStar) -> ir.Stmt:
        handlers = []
        for handler in node.handlers:
            name = None
            if handler.name is not None and isinstance(handler.name.name, cst.Name):
                name = _identifier(handler.name.name.value)
            kind = self._optional(handler.type)
            handlers.append(ir.Handler(self._span(handler), kind, name, self._block(handler.body)))
        final = () if node.finalbody is None else self._block(node.finalbody.body)
        return ir.Try(
            self._span(node),
            self._block(node.body),
            tuple(handlers),
            self._else(node.orelse),
            final,
        )

    def _aliases(self, aliases: Sequence[cst.ImportAlias]) -> tuple[ir.ImportAlias, ...]:
        lowered = []
        for alias in aliases:
            asname = None
            last: cst.CSTNode = alias.name
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                asname = _identifier(alias.asname.name.value)
                last = alias.asname.name
            span = self._span(alias.name, last)
            lowered.append(ir.ImportAlias(span, _dotted(alias.name), asname))
        return tuple(lowered)

    def _import(self, node: cst.Import) -> ir.Stmt:
        return ir.Import(self._span(node), self._aliases(node.names))

    def _import_from(self, node: cst.ImportFrom) -> ir.Stmt:
        if isinstance(node.names, cst.ImportStar):
            names: tuple[ir.ImportAlias, ...] = (ir.ImportAlias(self._span(node.names), "*", None),)
        else:
            names = self._aliases(node.names)
        module = "" if node.module is None else _dotted(node.module)
        return ir.ImportFrom(self._span(node), module, len(node.relative), names)

    def _function(self, node: cst.FunctionDef) -> ir.Stmt:
        body = node.body.body
        docstring = _docstring(body)
        return ir.FunctionDef(
            self._definition_span(node),
            _identifier(node.name.value),
            self._params(node.params),
            self.statements(body),
            tuple(self.expr(d.decorator) for d in node.decorators),
            self._span(node.name),
            node.asynchronous is not None,
            docstring,
        )

    def _class(self, node: cst.ClassDef) -> ir.Stmt:
        bases, keywords = self._arguments([*node.bases, *node.keywords])
        return ir.ClassDef(
            self._definition_span(node),
            _identifier(node.name.value),
            bases,
            keywords,
            self._block(node.body),
            tuple(self.expr(d.decorator) for d in node.decorators),
            self._span(node.name),
        )

    def _definition_span(self, node: cst.FunctionDef | cst.ClassDef) -> ir.Span:
        if not node.decorators:
            return self._span(node)
        # A decorator's own position includes its leading comments: start at the `@`, which is
        # the token before the expression, in the column of the definition.
        own = self._span(node)
        line = self._range(node.decorators[0].decorator, node.decorators[0].decorator)[0]
        return ir.Span(own.path, line + self._offset, own.column, own.end_line, own.end_column)

    def _params(self, node: cst.Parameters) -> tuple[ir.Param, ...]:
        found: list[tuple[cst.Param, str]] = [(p, "positional") for p in node.posonly_params]
        found += [(p, "positional") for p in node.params]
        if isinstance(node.star_arg, cst.Param):
            found.append((node.star_arg, "*"))
        found += [(p, "keyword") for p in node.kwonly_params]
        if node.star_kwarg is not None:
            found.append((node.star_kwarg, "**"))
        lowered = []
        for param, kind in found:
            last: cst.CSTNode = param.name
            annotation = default = None
            if param.annotation is not None:
                last = param.annotation.annotation
                annotation = self.expr(last)
            if param.default is not None:
                last = param.default
                default = self.expr(last)
            span = self._span(param.name, last)
            lowered.append(ir.Param(span, _identifier(param.name.value), default, annotation, kind))
        return tuple(lowered)

    # ----------------------------------------------------------------- expressions

    def expr(self, node: cst.CSTNode) -> ir.Expr:
        method = _EXPRESSIONS.get(type(node))
        if method is None:
            return ir.UnsupportedExpr(self._span(node), type(node).__name__.lower())
        lowered: ir.Expr = method(self, node)
        return lowered

    def _optional(self, node: cst.BaseExpression | None) -> ir.Expr | None:
        return None if node is None else self.expr(node)

    def _name(self, node: cst.Name) -> ir.Expr:
        value = node.value
        if value in _SINGLETONS:
            return ir.Const(self._span(node), _SINGLETONS[value])
        return ir.Name(self._span(node), _identifier(value))

    def _integer(self, node: cst.Integer) -> ir.Expr:
        return ir.Const(self._span(node), int(node.value, 0))

    def _float(self, node: cst.Float) -> ir.Expr:
        return ir.Const(self._span(node), float(node.value))

    def _imaginary(self, node: cst.Imaginary) -> ir.Expr:
        return ir.Const(self._span(node), complex(0.0, float(node.value[:-1])))

    def _ellipsis(self, node: cst.Ellipsis) -> ir.Expr:
        return ir.Const(self._span(node), ...)

    def _string(self, node: cst.SimpleString) -> ir.Expr:
        return ir.Const(self._span(node), _string_value(node.value))

    def _concatenated(self, node: cst.ConcatenatedString) -> ir.Expr:
        pieces: list[cst.BaseExpression] = []
        rest: cst.BaseExpression = node
        while isinstance(rest, cst.ConcatenatedString):
            pieces.append(rest.left)
            rest = rest.right
        pieces.append(rest)
        if all(isinstance(piece, cst.SimpleString) for piece in pieces):
            values = [_string_value(p.value) for p in pieces if isinstance(p, cst.SimpleString)]
            if isinstance(values[0], bytes):
                joined: object = b"".join(v for v in values if isinstance(v, bytes))
            else:
                joined = "".join(v for v in values if isinstance(v, str))
            return ir.Const(self._span(node), joined)
        parts: list[str | ir.Expr] = []
        for piece in pieces:
            if isinstance(piece, cst.SimpleString):
                parts.append(str(_string_value(piece.value)))
            elif isinstance(piece, cst.FormattedString):
                parts.extend(self._format_parts(piece))
            else:
                return ir.UnsupportedExpr(self._span(node), type(piece).__name__.lower())
        return ir.JoinedStr(self._span(node), tuple(parts))

    def _formatted(self, node: cst.FormattedString) -> ir.Expr:
        return ir.JoinedStr(self._span(node), tuple(self._format_parts(node)))

    def _format_parts(self, node: cst.FormattedString) -> Iterator[str | ir.Expr]:
        raw = "r" in node.prefix.lower()
        for part in node.parts:
            if isinstance(part, cst.FormattedStringText):
                text = part.value.replace("{{", "{").replace("}}", "}")
                yield text if raw else _unescape(text)
            elif isinstance(part, cst.FormattedStringExpression):
                yield self.expr(part.expression)

    def _elements(self, elements: Sequence[cst.BaseElement]) -> tuple[ir.Expr, ...]:
        return tuple([self._element(element) for element in elements])

    def _element(self, element: cst.BaseElement) -> ir.Expr:
        value = self.expr(element.value)
        if isinstance(element, cst.StarredElement):
            return ir.Starred(self._span(element), value)
        return value

    def _tuple(self, node: cst.Tuple) -> ir.Expr:
        return ir.TupleExpr(self._span(node), self._elements(node.elements))

    def _list(self, node: cst.List) -> ir.Expr:
        return ir.ListExpr(self._span(node), self._elements(node.elements))

    def _set(self, node: cst.Set) -> ir.Expr:
        return ir.SetExpr(self._span(node), self._elements(node.elements))

    def _dict(self, node: cst.Dict) -> ir.Expr:
        keys: list[ir.Expr | None] = []
        values: list[ir.Expr] = []
        for element in node.elements:
            keys.append(self.expr(element.key) if isinstance(element, cst.DictElement) else None)
            values.append(self.expr(element.value))
        return ir.DictExpr(self._span(node), tuple(keys), tuple(values))

    def _starred(self, node: cst.StarredElement) -> ir.Expr:
        return ir.Starred(self._span(node), self.expr(node.value))

    def _attribute(self, node: cst.Attribute) -> ir.Expr:
        return ir.Attribute(self._span(node), self.expr(node.value), _identifier(node.attr.value))

    def _subscript(self, node: cst.Subscript) -> ir.Expr:
        elements = node.slice
        indices = [self._index(element.slice) for element in elements]
        if len(indices) == 1 and isinstance(elements[0].comma, cst.MaybeSentinel):
            index = indices[0]
            if isinstance(index, ir.Starred):  # `x[*a]` is a tuple
                index = ir.TupleExpr(index.span, (index,))
        else:
            span = self._join(indices[0].span, indices[-1].span)
            index = ir.TupleExpr(span, tuple(indices))
        return ir.Subscript(self._span(node), self.expr(node.value), index)

    def _index(self, node: cst.BaseSlice) -> ir.Expr:
        if isinstance(node, cst.Slice):
            return ir.SliceExpr(
                self._span(node),
                self._optional(node.lower),
                self._optional(node.upper),
                self._optional(node.step),
            )
        assert isinstance(node, cst.Index)
        value = self.expr(node.value)
        return value if node.star is None else ir.Starred(self._span(node), value)

    def _call(self, node: cst.Call) -> ir.Expr:
        args, keywords = self._arguments(node.args)
        return ir.Call(self._span(node), self.expr(node.func), args, keywords)

    def _arguments(
        self, arguments: Sequence[cst.Arg]
    ) -> tuple[tuple[ir.Expr, ...], tuple[ir.Keyword, ...]]:
        args: list[ir.Expr] = []
        keywords: list[ir.Keyword] = []
        for argument in arguments:
            value = self.expr(argument.value)
            if argument.keyword is not None:
                span = self._span(argument.keyword, argument.value)
                keywords.append(ir.Keyword(span, _identifier(argument.keyword.value), value))
            elif argument.star == "**":
                keywords.append(ir.Keyword(self._span(argument), None, value))
            elif argument.star == "*":
                args.append(ir.Starred(self._span(argument), value))
            else:
                args.append(value)
        return tuple(args), tuple(keywords)

    def _binary(self, node: cst.BinaryOperation) -> ir.Expr:
        # A loop down the left operands: `a + b + c + ...` must not nest Python calls.
        spine: list[cst.BinaryOperation] = [node]
        while isinstance(spine[-1].left, cst.BinaryOperation):
            spine.append(spine[-1].left)
        lowered = self.expr(spine[-1].left)
        for operation in reversed(spine):
            op = _BINARY[type(operation.operator)]
            right = self.expr(operation.right)
            lowered = ir.BinOp(self._span(operation), op, lowered, right)
        return lowered

    def _unary(self, node: cst.UnaryOperation) -> ir.Expr:
        op = _UNARY[type(node.operator)]
        return ir.UnaryOp(self._span(node), op, self.expr(node.expression))

    def _boolean(self, node: cst.BooleanOperation) -> ir.Expr:
        kind = type(node.operator)
        values: list[cst.BaseExpression] = []
        pending: list[cst.BaseExpression] = [node.right, node.left]
        while pending:
            value = pending.pop()
            nested = isinstance(value, cst.BooleanOperation) and not value.lpar
            if (
                nested
                and isinstance(value, cst.BooleanOperation)
                and (type(value.operator) is kind)
            ):
                pending += [value.right, value.left]
            else:
                values.append(value)
        op = "and" if kind is cst.And else "or"
        return ir.BoolOp(self._span(node), op, tuple(self.expr(value) for value in values))

    def _comparison(self, node: cst.Comparison) -> ir.Expr:
        return ir.Compare(
            self._span(node),
            self.expr(node.left),
            tuple(_COMPARE[type(c.operator)] for c in node.comparisons),
            tuple(self.expr(c.comparator) for c in node.comparisons),
        )

    def _if_expr(self, node: cst.IfExp) -> ir.Expr:
        return ir.IfExpr(
            self._span(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse)
        )

    def _lambda(self, node: cst.Lambda) -> ir.Expr:
        return ir.LambdaExpr(self._span(node), self._params(node.params), self.expr(node.body))

    def _comprehension(self, node: cst.BaseComp) -> ir.Expr:
        generators = []
        loop: cst.CompFor | None = node.for_in
        while loop is not None:
            conditions = tuple(self.expr(condition.test) for condition in loop.ifs)
            last: cst.CSTNode = loop.ifs[-1].test if loop.ifs else loop.iter
            generators.append(
                ir.Generator(
                    self._span(loop.target, last),
                    self.expr(loop.target),
                    self.expr(loop.iter),
                    conditions,
                )
            )
            loop = loop.inner_for_in
        kind = _COMPREHENSIONS[type(node)]
        if isinstance(node, cst.DictComp):
            key: ir.Expr | None = self.expr(node.key)
            element = self.expr(node.value)
        else:
            assert isinstance(node, cst.BaseSimpleComp)
            key, element = None, self.expr(node.elt)
        return ir.Comprehension(self._span(node), kind, key, element, tuple(generators))

    def _named(self, node: cst.NamedExpr) -> ir.Expr:
        return ir.NamedExpr(self._span(node), self.expr(node.target), self.expr(node.value))


# --------------------------------------------------------------------------- text of literals


def _string_value(token: str) -> object:
    """The value of a string or bytes literal without interpolation."""
    if "\\" not in token:
        quote = token[0]
        if quote in "\"'":
            width = 3 if len(token) >= 6 and token.startswith(quote * 3) else 1
            return token[width:-width]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value: object = ast.literal_eval(token)
    return value


_ESCAPE_OR_QUOTE = re.compile(r"""\\.|["']""", re.DOTALL)


def _unescape(text: str) -> str:
    """The value of a literal part of an f-string, which may contain or touch any quotes."""
    if "\\" not in text:
        return text
    quoted = _ESCAPE_OR_QUOTE.sub(lambda m: m[0] if m[0][0] == "\\" else f"\\{m[0]}", text)
    try:
        return str(_string_value(f'"""{quoted}"""'))
    except (SyntaxError, ValueError):
        return text  # an escape that LibCST has cut in two


def _docstring(body: Sequence[cst.CSTNode]) -> str | None:
    if not body:
        return None
    first: cst.CSTNode = body[0]
    if isinstance(first, cst.SimpleStatementLine):
        first = first.body[0]
    if not isinstance(first, cst.Expr):
        return None
    tokens: list[object] = []
    rest: cst.BaseExpression = first.value
    while isinstance(rest, cst.ConcatenatedString):
        tokens.append(rest.left)
        rest = rest.right
    tokens.append(rest)
    values = [_string_value(t.value) for t in tokens if isinstance(t, cst.SimpleString)]
    texts = [value for value in values if isinstance(value, str)]
    return "".join(texts) if len(texts) == len(tokens) else None


def _identifier(text: str) -> str:
    """A name as Python compares it: normalised, which matters outside ASCII only."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _dotted(node: cst.BaseExpression) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(_identifier(node.attr.value))
        node = node.value
    if isinstance(node, cst.Name):
        parts.append(_identifier(node.value))
    return ".".join(reversed(parts))


# --------------------------------------------------------------------------- tables

_SINGLETONS: dict[str, object] = {"True": True, "False": False, "None": None}

_BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
}

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

_UNARY: dict[type[cst.CSTNode], str] = {
    cst.Minus: "-",
    cst.Plus: "+",
    cst.BitInvert: "~",
    cst.Not: "not",
}

_COMPARE: dict[type[cst.CSTNode], str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.Is: "is",
    cst.IsNot: "is not",
    cst.In: "in",
    cst.NotIn: "not in",
}

_COMPREHENSIONS: dict[type[cst.CSTNode], str] = {
    cst.ListComp: "list",
    cst.SetComp: "set",
    cst.DictComp: "dict",
    cst.GeneratorExp: "generator",
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
    cst.Nonlocal: _Lowering._global,
    cst.With: _Lowering._with,
    cst.Try: _Lowering._try,
    cst.TryStar: _Lowering._try,
    cst.Import: _Lowering._import,
    cst.ImportFrom: _Lowering._import_from,
    cst.FunctionDef: _Lowering._function,
    cst.ClassDef: _Lowering._class,
}

_EXPRESSIONS: dict[type[cst.CSTNode], Callable[[_Lowering, Any], ir.Expr]] = {
    cst.Name: _Lowering._name,
    cst.Integer: _Lowering._integer,
    cst.Float: _Lowering._float,
    cst.Imaginary: _Lowering._imaginary,
    cst.Ellipsis: _Lowering._ellipsis,
    cst.SimpleString: _Lowering._string,
    cst.ConcatenatedString: _Lowering._concatenated,
    cst.FormattedString: _Lowering._formatted,
    cst.Tuple: _Lowering._tuple,
    cst.List: _Lowering._list,
    cst.Set: _Lowering._set,
    cst.Dict: _Lowering._dict,
    cst.StarredElement: _Lowering._starred,
    cst.Attribute: _Lowering._attribute,
    cst.Subscript: _Lowering._subscript,
    cst.Call: _Lowering._call,
    cst.BinaryOperation: _Lowering._binary,
    cst.UnaryOperation: _Lowering._unary,
    cst.BooleanOperation: _Lowering._boolean,
    cst.Comparison: _Lowering._comparison,
    cst.IfExp: _Lowering._if_expr,
    cst.Lambda: _Lowering._lambda,
    cst.ListComp: _Lowering._comprehension,
    cst.SetComp: _Lowering._comprehension,
    cst.DictComp: _Lowering._comprehension,
    cst.GeneratorExp: _Lowering._comprehension,
    cst.NamedExpr: _Lowering._named,
}
