"""Lowering of expressions: LibCST trees to the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import libcst as cst

from verifier.source import ir
from verifier.source.literals import adjacent, identifier, string_value, unescape
from verifier.source.positions import Positions


class Expressions:
    """What lowers the expressions of one piece of a file."""

    def __init__(self, path: str, line_offset: int, positions: Positions) -> None:
        self._path = path
        self._offset = line_offset
        self._range = positions.range
        # One entry per block around: whether a `yield` has been met in it.
        self._yields = [False]

    # ----------------------------------------------------------------- spans

    def _span(self, first: cst.CSTNode, last: cst.CSTNode | None = None) -> ir.Span:
        line, column, end_line, end_column = self._range(first, first if last is None else last)
        offset = self._offset
        return ir.Span(self._path, line + offset, column, end_line + offset, end_column)

    @staticmethod
    def _join(first: ir.Span, last: ir.Span) -> ir.Span:
        return ir.Span(first.path, first.line, first.column, last.end_line, last.end_column)

    def _params(self, node: cst.Parameters) -> tuple[ir.Param, ...]:
        found: list[tuple[cst.Param, ir.ParamKind]] = [
            (p, ir.ParamKind.POSITIONAL_ONLY) for p in node.posonly_params
        ]
        found += [(p, ir.ParamKind.POSITIONAL) for p in node.params]
        if isinstance(node.star_arg, cst.Param):
            found.append((node.star_arg, ir.ParamKind.STAR))
        found += [(p, ir.ParamKind.KEYWORD) for p in node.kwonly_params]
        if node.star_kwarg is not None:
            found.append((node.star_kwarg, ir.ParamKind.DOUBLE_STAR))
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
            lowered.append(ir.Param(span, identifier(param.name.value), default, annotation, kind))
        return tuple(lowered)

    # ----------------------------------------------------------------- expressions

    def expr(self, node: cst.CSTNode) -> ir.Expr:
        method = EXPRESSIONS.get(type(node))
        if method is None:
            return self._unsupported(node)
        lowered: ir.Expr = method(self, node)
        return lowered

    def _unsupported(self, node: cst.CSTNode) -> ir.Expr:
        return ir.UnsupportedExpr(self._span(node), type(node).__name__.lower())

    def _optional(self, node: cst.BaseExpression | None) -> ir.Expr | None:
        return None if node is None else self.expr(node)

    def _name(self, node: cst.Name) -> ir.Expr:
        value = node.value
        if value in SINGLETONS:
            return ir.Const(self._span(node), SINGLETONS[value])
        return ir.Name(self._span(node), identifier(value))

    def _integer(self, node: cst.Integer) -> ir.Expr:
        return ir.Const(self._span(node), int(node.value, 0))

    def _float(self, node: cst.Float) -> ir.Expr:
        return ir.Const(self._span(node), float(node.value))

    def _imaginary(self, node: cst.Imaginary) -> ir.Expr:
        return ir.Const(self._span(node), complex(0.0, float(node.value[:-1])))

    def _ellipsis(self, node: cst.Ellipsis) -> ir.Expr:
        return ir.Const(self._span(node), ...)

    def _string(self, node: cst.SimpleString) -> ir.Expr:
        return ir.Const(self._span(node), string_value(node.value))

    def _concatenated(self, node: cst.ConcatenatedString) -> ir.Expr:
        pieces = adjacent(node)
        if all(isinstance(piece, cst.SimpleString) for piece in pieces):
            values = [string_value(p.value) for p in pieces if isinstance(p, cst.SimpleString)]
            if isinstance(values[0], bytes):
                joined: object = b"".join(v for v in values if isinstance(v, bytes))
            else:
                joined = "".join(v for v in values if isinstance(v, str))
            return ir.Const(self._span(node), joined)
        parts: list[str | ir.FormattedValue] = []
        for piece in pieces:
            if isinstance(piece, cst.SimpleString):
                parts.append(str(string_value(piece.value)))
            elif isinstance(piece, cst.FormattedString):
                parts.extend(self._format_parts(piece.parts, _is_raw(piece)))
            else:
                return self._unsupported(piece)
        return ir.JoinedStr(self._span(node), _merged(parts))

    def _formatted(self, node: cst.FormattedString) -> ir.Expr:
        parts = self._format_parts(node.parts, _is_raw(node))
        return ir.JoinedStr(self._span(node), _merged(parts))

    def _format_parts(
        self, parts: Sequence[cst.BaseFormattedStringContent], raw: bool
    ) -> Iterator[str | ir.FormattedValue]:
        for part in parts:
            if isinstance(part, cst.FormattedStringText):
                text = part.value.replace("{{", "{").replace("}}", "}")
                yield text if raw else unescape(text)
            elif isinstance(part, cst.FormattedStringExpression):
                if part.equal is not None:
                    yield _said(part, part.equal)
                yield self._format_value(part, raw)

    def _format_value(self, node: cst.FormattedStringExpression, raw: bool) -> ir.FormattedValue:
        span = self._span(node)
        spec = None
        if node.format_spec is not None:
            parts = node.format_spec
            where = self._span(parts[0], parts[-1]) if parts else span
            spec = ir.JoinedStr(where, _merged(self._format_parts(parts, raw)))
        conversion = node.conversion or ""
        if node.equal is not None and not conversion and spec is None:
            conversion = "r"
        return ir.FormattedValue(span, self.expr(node.expression), conversion, spec)

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
        return ir.Attribute(self._span(node), self.expr(node.value), identifier(node.attr.value))

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
                keywords.append(ir.Keyword(span, identifier(argument.keyword.value), value))
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
        params = self._params(node.params)
        self._yields.append(False)
        body = self.expr(node.body)
        return ir.LambdaExpr(self._span(node), params, body, self._yields.pop())

    def _comprehension(self, node: cst.BaseComp) -> ir.Expr:
        generators = []
        is_async = False
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
            is_async = is_async or loop.asynchronous is not None
            loop = loop.inner_for_in
        kind = _COMPREHENSIONS[type(node)]
        if isinstance(node, cst.DictComp):
            key: ir.Expr | None = self.expr(node.key)
            element = self.expr(node.value)
        else:
            assert isinstance(node, cst.BaseSimpleComp)
            key, element = None, self.expr(node.elt)
        lowered = ir.Comprehension(self._span(node), kind, key, element, tuple(generators))
        if is_async:
            return ir.UnsupportedExpr(lowered.span, "async comprehension", (lowered,))
        return lowered

    def _named(self, node: cst.NamedExpr) -> ir.Expr:
        return ir.NamedExpr(self._span(node), self.expr(node.target), self.expr(node.value))

    def _yield(self, node: cst.Yield) -> ir.Expr:
        self._yields[-1] = True
        if isinstance(node.value, cst.From):
            return ir.YieldFrom(self._span(node), self.expr(node.value.item))
        return ir.Yield(self._span(node), self._optional(node.value))

    def _await(self, node: cst.Await) -> ir.Expr:
        return ir.UnsupportedExpr(self._span(node), "await", (self.expr(node.expression),))


# --------------------------------------------------------------------------- pieces


def _is_raw(node: cst.FormattedString) -> bool:
    return "r" in node.prefix.lower()


def _said(node: cst.FormattedStringExpression, equal: cst.AssignEqual) -> str:
    """The text that ``{x=}`` shows before the value: all of it, with the space and the sign."""
    code = cst.Module(body=()).code_for_node
    before, after = node.whitespace_before_expression, node.whitespace_after_expression
    return "".join(code(part) for part in (before, node.expression, equal, after))


def _merged(parts: Iterable[str | ir.FormattedValue]) -> tuple[str | ir.FormattedValue, ...]:
    """Texts next to each other as one, as CPython has them; empty ones are left out."""
    merged: list[str | ir.FormattedValue] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, str) and isinstance(last, str):
            merged[-1] = last + part
        elif part != "":
            merged.append(part)
    return tuple(merged)


# --------------------------------------------------------------------------- tables

SINGLETONS: dict[str, object] = {"True": True, "False": False, "None": None}

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

_COMPREHENSIONS: dict[type[cst.CSTNode], ir.ComprehensionKind] = {
    cst.ListComp: ir.ComprehensionKind.LIST,
    cst.SetComp: ir.ComprehensionKind.SET,
    cst.DictComp: ir.ComprehensionKind.DICT,
    cst.GeneratorExp: ir.ComprehensionKind.GENERATOR,
}

# Each method takes the node type it is filed under; the table itself cannot say so.
EXPRESSIONS: dict[type[cst.CSTNode], Callable[[Expressions, Any], ir.Expr]] = {
    cst.Name: Expressions._name,
    cst.Integer: Expressions._integer,
    cst.Float: Expressions._float,
    cst.Imaginary: Expressions._imaginary,
    cst.Ellipsis: Expressions._ellipsis,
    cst.SimpleString: Expressions._string,
    cst.ConcatenatedString: Expressions._concatenated,
    cst.FormattedString: Expressions._formatted,
    cst.Tuple: Expressions._tuple,
    cst.List: Expressions._list,
    cst.Set: Expressions._set,
    cst.Dict: Expressions._dict,
    cst.StarredElement: Expressions._starred,
    cst.Attribute: Expressions._attribute,
    cst.Subscript: Expressions._subscript,
    cst.Call: Expressions._call,
    cst.BinaryOperation: Expressions._binary,
    cst.UnaryOperation: Expressions._unary,
    cst.BooleanOperation: Expressions._boolean,
    cst.Comparison: Expressions._comparison,
    cst.IfExp: Expressions._if_expr,
    cst.Lambda: Expressions._lambda,
    cst.ListComp: Expressions._comprehension,
    cst.SetComp: Expressions._comprehension,
    cst.DictComp: Expressions._comprehension,
    cst.GeneratorExp: Expressions._comprehension,
    cst.NamedExpr: Expressions._named,
    cst.Yield: Expressions._yield,
    cst.Await: Expressions._await,
}
