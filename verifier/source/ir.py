"""The compact intermediate representation that the interpreter runs.

Nodes are what is left of Python after formatting is gone: one dataclass per construct, each with
the exact :class:`Span` of the text it came from. Lowering (``lowering.py``) is the only producer.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """A region of a source file. Lines are 1-based, columns 0-based code points, end exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Node:
    span: Span


# --------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Expr(Node):
    pass


@dataclass(frozen=True, slots=True)
class Name(Expr):
    id: str


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A literal: int, float, complex, str, bytes, bool, None or Ellipsis."""

    value: object


@dataclass(frozen=True, slots=True)
class JoinedStr(Expr):
    """An f-string: literal parts and embedded expressions, in order."""

    parts: tuple[str | Expr, ...]


@dataclass(frozen=True, slots=True)
class TupleExpr(Expr):
    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListExpr(Expr):
    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class SetExpr(Expr):
    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class DictExpr(Expr):
    """``keys[i] is None`` marks a ``**mapping`` entry."""

    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Starred(Expr):
    value: Expr


@dataclass(frozen=True, slots=True)
class Attribute(Expr):
    value: Expr
    attr: str


@dataclass(frozen=True, slots=True)
class Subscript(Expr):
    """``value[index]``; several indices arrive as one :class:`TupleExpr`."""

    value: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class SliceExpr(Expr):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Keyword(Node):
    """A keyword argument; ``name is None`` marks ``**value``."""

    name: str | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class BinOp(Expr):
    """``op`` is the Python token: ``+ - * / // % ** @ << >> & | ^``."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class UnaryOp(Expr):
    """``op`` is ``-``, ``+``, ``~`` or ``not``."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class BoolOp(Expr):
    """``op`` is ``and`` or ``or``; two or more values."""

    op: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """``left ops[0] comparators[0] ops[1] ...``; ops are tokens, also ``is not`` and ``not in``."""

    left: Expr
    ops: tuple[str, ...]
    comparators: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class IfExpr(Expr):
    test: Expr
    body: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class LambdaExpr(Expr):
    params: tuple[Param, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Generator(Node):
    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Expr):
    """``kind`` is ``list``, ``set``, ``dict`` or ``generator``; only ``dict`` has a ``key``."""

    kind: str
    key: Expr | None
    element: Expr
    generators: tuple[Generator, ...]


@dataclass(frozen=True, slots=True)
class NamedExpr(Expr):
    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class UnsupportedExpr(Expr):
    """A construct with no meaning for kernels (``await``, ``yield``); ``kind`` names it."""

    kind: str


# --------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Stmt(Node):
    pass


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    targets: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class AnnAssign(Stmt):
    target: Expr
    annotation: Expr
    value: Expr | None


@dataclass(frozen=True, slots=True)
class AugAssign(Stmt):
    """``op`` without the ``=``: ``+`` for ``+=``."""

    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, slots=True)
class ExprStmt(Stmt):
    value: Expr


@dataclass(frozen=True, slots=True)
class If(Stmt):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class For(Stmt):
    target: Expr
    iterable: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class While(Stmt):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Return(Stmt):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Assert(Stmt):
    test: Expr
    message: Expr | None


@dataclass(frozen=True, slots=True)
class Raise(Stmt):
    exception: Expr | None


@dataclass(frozen=True, slots=True)
class Pass(Stmt):
    pass


@dataclass(frozen=True, slots=True)
class Break(Stmt):
    pass


@dataclass(frozen=True, slots=True)
class Continue(Stmt):
    pass


@dataclass(frozen=True, slots=True)
class Delete(Stmt):
    targets: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class GlobalStmt(Stmt):
    """``global`` or ``nonlocal``."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WithItem(Node):
    context: Expr
    target: Expr | None


@dataclass(frozen=True, slots=True)
class With(Stmt):
    items: tuple[WithItem, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Handler(Node):
    type: Expr | None
    name: str | None
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Try(Stmt):
    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    finalbody: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class ImportAlias(Node):
    """One imported name. ``name == "*"`` for a star import."""

    name: str
    asname: str | None


@dataclass(frozen=True, slots=True)
class Import(Stmt):
    """``import a.b as c, d``."""

    names: tuple[ImportAlias, ...]


@dataclass(frozen=True, slots=True)
class ImportFrom(Stmt):
    """``from <level dots><module> import names``."""

    module: str
    level: int
    names: tuple[ImportAlias, ...]


@dataclass(frozen=True, slots=True)
class Param(Node):
    """``kind``: ``positional`` (or by name), ``keyword`` (after ``*``), ``*`` or ``**``."""

    name: str
    default: Expr | None
    annotation: Expr | None
    kind: str


@dataclass(frozen=True, slots=True)
class FunctionDef(Stmt):
    """``name_span`` covers the identifier alone, ``span`` the whole definition with decorators."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]
    name_span: Span
    is_async: bool = False
    docstring: str | None = field(default=None)


@dataclass(frozen=True, slots=True)
class ClassDef(Stmt):
    name: str
    bases: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]
    name_span: Span


@dataclass(frozen=True, slots=True)
class UnsupportedStmt(Stmt):
    """A statement with no meaning for kernels (``match`` on soft patterns); ``kind`` names it."""

    kind: str
