"""The compact intermediate representation that the interpreter runs.

Nodes are what is left of Python after formatting is gone: one dataclass per construct, each with
the exact :class:`Span` of the text it came from. Lowering (``lowering.py``) is the only producer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from verifier.records import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class Span:
    """A region of a source file. Lines are 1-based, columns 0-based code points, end exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    def holds(self, other: Span) -> bool:
        """Whether another region lies inside of this one."""
        first, last = (self.line, self.column), (self.end_line, self.end_column)
        starts, ends = (other.line, other.column), (other.end_line, other.end_column)
        return self.path == other.path and first <= starts and ends <= last


@dataclass(frozen=True, slots=True)
class Node:
    span: Span


def children(node: Node) -> Iterator[Node]:
    """The nodes right below ``node``, field by field as they are declared.

    That is not always the order of evaluation, nor that of the text: all keys of a
    :class:`DictExpr` come before its values.
    """
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        names = tuple(f.name for f in fields(kind) if f.name not in ("span", "name_span"))
        names = tuple("body" if name == "block" else name for name in names)
        _FIELDS[kind] = names
    for name in names:
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif type(value) is tuple:
            for item in value:
                if isinstance(item, Node):
                    yield item


def own(body: Sequence[Node]) -> Iterator[Node]:
    """Every node below in the order of the text, except inside nested functions."""
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, FunctionDef):
            stack.extend(reversed(list(children(node))))


def last_name(node: Expr) -> str:
    """The last part of a dotted name; empty if it is none."""
    if isinstance(node, Attribute):
        return node.attr
    return node.id if isinstance(node, Name) else ""


# The fields that may hold nodes, looked up once per class: `fields` costs more than a walk.
_FIELDS: dict[type[Node], tuple[str, ...]] = {}


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
class FormattedValue(Node):
    """``{value!conversion:format_spec}`` of an f-string.

    ``conversion`` is ``s``, ``r``, ``a`` or empty. ``{value=}`` is a literal part before the value,
    which has the conversion ``r`` if neither a conversion nor a format is given.
    """

    value: Expr
    conversion: str
    format_spec: JoinedStr | None


@dataclass(frozen=True, slots=True)
class JoinedStr(Expr):
    """An f-string: literal parts and embedded expressions, in order.

    Strings next to each other are one part, also those of implicit concatenation; no part is empty.
    """

    parts: tuple[str | FormattedValue, ...]


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
    """All of ``args`` are evaluated before ``keywords``, as Python does for ``f(x=1, *a)`` too."""

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
    is_generator: bool = False


@dataclass(frozen=True, slots=True)
class Generator(Node):
    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


class ComprehensionKind(Enum):
    LIST = "list"
    SET = "set"
    DICT = "dict"
    GENERATOR = "generator"


@dataclass(frozen=True, slots=True)
class Comprehension(Expr):
    """Only that of a dict has a ``key``."""

    kind: ComprehensionKind
    key: Expr | None
    element: Expr
    generators: tuple[Generator, ...]


@dataclass(frozen=True, slots=True)
class NamedExpr(Expr):
    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Yield(Expr):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class YieldFrom(Expr):
    value: Expr


@dataclass(frozen=True, slots=True)
class UnsupportedExpr(Expr):
    """A construct with no meaning for kernels (``await``); ``kind`` names it.

    ``inner`` is what it is made of, for those who look for names. It is not to be evaluated.
    """

    kind: str
    inner: tuple[Node, ...] = ()


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
    """``raise exception from cause``."""

    exception: Expr | None
    cause: Expr | None = None


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
class Global(Stmt):
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Nonlocal(Stmt):
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
    """``star``: the handlers are ``except*``."""

    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    finalbody: tuple[Stmt, ...]
    star: bool = False


@dataclass(frozen=True, slots=True)
class Pattern(Node):
    """A pattern of ``case``, each of the shape that it has in :mod:`ast`."""


@dataclass(frozen=True, slots=True)
class MatchValue(Pattern):
    """A literal or a dotted name that the subject must equal."""

    value: Expr


@dataclass(frozen=True, slots=True)
class MatchSingleton(Pattern):
    """``None``, ``True`` or ``False``."""

    value: object


@dataclass(frozen=True, slots=True)
class MatchSequence(Pattern):
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class MatchMapping(Pattern):
    """``{keys[0]: patterns[0], ..., **rest}``."""

    keys: tuple[Expr, ...]
    patterns: tuple[Pattern, ...]
    rest: str | None


@dataclass(frozen=True, slots=True)
class MatchClass(Pattern):
    """``cls(*patterns, names[0]=named[0], ...)``."""

    cls: Expr
    patterns: tuple[Pattern, ...]
    names: tuple[str, ...]
    named: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class MatchStar(Pattern):
    """``*name`` in a sequence; ``name is None`` for ``*_``."""

    name: str | None


@dataclass(frozen=True, slots=True)
class MatchAs(Pattern):
    """``pattern as name``; a capture has no pattern, the wildcard ``_`` neither of the two."""

    pattern: Pattern | None
    name: str | None


@dataclass(frozen=True, slots=True)
class MatchOr(Pattern):
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class MatchCase(Node):
    pattern: Pattern
    guard: Expr | None
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Match(Stmt):
    subject: Expr
    cases: tuple[MatchCase, ...]


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


class ParamKind(Enum):
    """How a parameter is given."""

    #: before ``/``
    POSITIONAL_ONLY = "positional-only"
    #: or by name
    POSITIONAL = "positional"
    #: after ``*``
    KEYWORD = "keyword"
    STAR = "*"
    DOUBLE_STAR = "**"


@dataclass(frozen=True, slots=True)
class Param(Node):
    """A parameter, in the order of the text."""

    name: str
    default: Expr | None
    annotation: Expr | None
    kind: ParamKind


class Block:
    """The statements of a function, which are not made before somebody asks for them."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], tuple[Stmt, ...]]) -> None:
        self._make: Callable[[], tuple[Stmt, ...]] | None = make
        self._made: tuple[Stmt, ...] = ()

    @staticmethod
    def of(statements: tuple[Stmt, ...]) -> Block:
        """Statements that are there."""
        block = Block(tuple)
        block._make, block._made = None, statements
        return block

    @property
    def is_open(self) -> bool:
        """Whether nobody has asked for them."""
        return self._make is not None

    @property
    def statements(self) -> tuple[Stmt, ...]:
        make = self._make
        if make is not None:
            self._made = make()
            self._make = None
        return self._made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self.statements == other.statements

    def __hash__(self) -> int:
        return hash(self.statements)

    def __repr__(self) -> str:
        return repr(self.statements)


@dataclass(frozen=True, slots=True)
class FunctionDef(Stmt):
    """``name_span`` covers the identifier alone, ``span`` the whole definition with decorators.

    ``is_generator``: the function's own body has a ``yield``. ``returns`` is the annotation.
    """

    name: str
    params: tuple[Param, ...]
    block: Block
    decorators: tuple[Expr, ...]
    name_span: Span
    is_async: bool = False
    docstring: str | None = field(default=None)
    is_generator: bool = False
    returns: Expr | None = None

    @property
    def body(self) -> tuple[Stmt, ...]:
        return self.block.statements


@dataclass(frozen=True, slots=True)
class ClassDef(Stmt):
    name: str
    bases: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]
    name_span: Span
    docstring: str | None = None


@dataclass(frozen=True, slots=True)
class UnsupportedStmt(Stmt):
    """A statement with no meaning for kernels (``async for``); ``kind`` names it.

    ``inner`` is what it is made of, for those who look for names: ``async for`` has the loop
    there. It is not to be run. ``binds`` are names that it binds without a node in ``inner``.
    """

    kind: str
    inner: tuple[Node, ...] = ()
    binds: tuple[str, ...] = ()
