"""The compact intermediate representation that the interpreter runs.

Nodes are what is left of Python after formatting is gone: one dataclass per construct, each with
the exact :class:`Span` of the text it came from. Lowering (``lowering.py``) is the only producer.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from msgspec import Struct, field


class Span(Struct, frozen=True):
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


class Node(Struct, frozen=True):
    span: Span


def children(node: Node) -> Sequence[Node]:
    """The nodes right below ``node``, field by field as they are declared.

    That is not always the order of evaluation, nor that of the text: all keys of a
    :class:`DictExpr` come before its values.
    """
    kind = type(node)
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = _FIELDS[kind] = _fields(kind)
    if not fields:  # a name or a constant, as most nodes are
        return ()
    found: list[Node] = []
    for name, holds in fields:
        value = getattr(node, name)
        if holds is _Holds.NODES:
            found += value
        elif holds is _Holds.SOME_NODES:
            found += [item for item in value if isinstance(item, Node)]
        elif value is not None:
            found.append(value)
    return found


class _Holds(Enum):
    """What a field holds that may hold nodes: one or None, many, or many and something else."""

    NODE = 1
    NODES = 2
    SOME_NODES = 3


def _fields(kind: type[Node]) -> tuple[tuple[str, _Holds], ...]:
    """The fields of a class that may hold nodes, by what they are annotated with."""
    annotations: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        annotations.update(inspect.get_annotations(base))
    found = []
    for name in kind.__struct_fields__:
        words = re.findall(r"\w+", annotations[name])
        if "Block" in words:
            found.append(("body", _Holds.NODES))
        elif any(_is_node(word) for word in words):
            tuples = words[0] == "tuple"
            every = all(_is_node(word) for word in words[1:])
            holds = (_Holds.NODES if every else _Holds.SOME_NODES) if tuples else _Holds.NODE
            found.append((name, holds))
    return tuple(found)


def _is_node(word: str) -> bool:
    named = globals().get(word)
    return isinstance(named, type) and issubclass(named, Node)


def own(body: Sequence[Node]) -> Iterator[Node]:
    """Every node below in the order of the text, except inside nested functions."""
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, FunctionDef):
            stack.extend(reversed(children(node)))


def last_name(node: Expr) -> str:
    """The last part of a dotted name; empty if it is none."""
    if isinstance(node, Attribute):
        return node.attr
    return node.id if isinstance(node, Name) else ""


# The fields that may hold nodes, looked up once per class: that costs more than a walk.
_FIELDS: dict[type[Node], tuple[tuple[str, _Holds], ...]] = {}


# --------------------------------------------------------------------------- expressions


class Expr(Node, frozen=True):
    pass


class Name(Expr, frozen=True):
    id: str


class Const(Expr, frozen=True):
    """A literal: int, float, complex, str, bytes, bool, None or Ellipsis."""

    value: object


class FormattedValue(Node, frozen=True):
    """``{value!conversion:format_spec}`` of an f-string.

    ``conversion`` is ``s``, ``r``, ``a`` or empty. ``{value=}`` is a literal part before the value,
    which has the conversion ``r`` if neither a conversion nor a format is given.
    """

    value: Expr
    conversion: str
    format_spec: JoinedStr | None


class JoinedStr(Expr, frozen=True):
    """An f-string: literal parts and embedded expressions, in order.

    Strings next to each other are one part, also those of implicit concatenation; no part is empty.
    """

    parts: tuple[str | FormattedValue, ...]


class TupleExpr(Expr, frozen=True):
    elements: tuple[Expr, ...]


class ListExpr(Expr, frozen=True):
    elements: tuple[Expr, ...]


class SetExpr(Expr, frozen=True):
    elements: tuple[Expr, ...]


class DictExpr(Expr, frozen=True):
    """``keys[i] is None`` marks a ``**mapping`` entry."""

    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


class Starred(Expr, frozen=True):
    value: Expr


class Attribute(Expr, frozen=True):
    value: Expr
    attr: str


class Subscript(Expr, frozen=True):
    """``value[index]``; several indices arrive as one :class:`TupleExpr`."""

    value: Expr
    index: Expr


class SliceExpr(Expr, frozen=True):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


class Keyword(Node, frozen=True):
    """A keyword argument; ``name is None`` marks ``**value``."""

    name: str | None
    value: Expr


class Call(Expr, frozen=True):
    """All of ``args`` are evaluated before ``keywords``, as Python does for ``f(x=1, *a)`` too."""

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


class BinOp(Expr, frozen=True):
    """``op`` is the Python token: ``+ - * / // % ** @ << >> & | ^``."""

    op: str
    left: Expr
    right: Expr


class UnaryOp(Expr, frozen=True):
    """``op`` is ``-``, ``+``, ``~`` or ``not``."""

    op: str
    operand: Expr


class BoolOp(Expr, frozen=True):
    """``op`` is ``and`` or ``or``; two or more values."""

    op: str
    values: tuple[Expr, ...]


class Compare(Expr, frozen=True):
    """``left ops[0] comparators[0] ops[1] ...``; ops are tokens, also ``is not`` and ``not in``."""

    left: Expr
    ops: tuple[str, ...]
    comparators: tuple[Expr, ...]


class IfExpr(Expr, frozen=True):
    test: Expr
    body: Expr
    orelse: Expr


class LambdaExpr(Expr, frozen=True):
    params: tuple[Param, ...]
    body: Expr
    is_generator: bool = False


class Generator(Node, frozen=True):
    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


class ComprehensionKind(Enum):
    LIST = "list"
    SET = "set"
    DICT = "dict"
    GENERATOR = "generator"


class Comprehension(Expr, frozen=True):
    """Only that of a dict has a ``key``."""

    kind: ComprehensionKind
    key: Expr | None
    element: Expr
    generators: tuple[Generator, ...]


class NamedExpr(Expr, frozen=True):
    target: Expr
    value: Expr


class Yield(Expr, frozen=True):
    value: Expr | None


class YieldFrom(Expr, frozen=True):
    value: Expr


class UnsupportedExpr(Expr, frozen=True):
    """A construct with no meaning for kernels (``await``); ``kind`` names it.

    ``inner`` is what it is made of, for those who look for names. It is not to be evaluated.
    """

    kind: str
    inner: tuple[Node, ...] = ()


# --------------------------------------------------------------------------- statements


class Stmt(Node, frozen=True):
    pass


class Assign(Stmt, frozen=True):
    targets: tuple[Expr, ...]
    value: Expr


class AnnAssign(Stmt, frozen=True):
    target: Expr
    annotation: Expr
    value: Expr | None


class AugAssign(Stmt, frozen=True):
    """``op`` without the ``=``: ``+`` for ``+=``."""

    target: Expr
    op: str
    value: Expr


class ExprStmt(Stmt, frozen=True):
    value: Expr


class If(Stmt, frozen=True):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


class For(Stmt, frozen=True):
    target: Expr
    iterable: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


class While(Stmt, frozen=True):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


class Return(Stmt, frozen=True):
    value: Expr | None


class Assert(Stmt, frozen=True):
    test: Expr
    message: Expr | None


class Raise(Stmt, frozen=True):
    """``raise exception from cause``."""

    exception: Expr | None
    cause: Expr | None = None


class Pass(Stmt, frozen=True):
    pass


class Break(Stmt, frozen=True):
    pass


class Continue(Stmt, frozen=True):
    pass


class Delete(Stmt, frozen=True):
    targets: tuple[Expr, ...]


class Global(Stmt, frozen=True):
    names: tuple[str, ...]


class Nonlocal(Stmt, frozen=True):
    names: tuple[str, ...]


class WithItem(Node, frozen=True):
    context: Expr
    target: Expr | None


class With(Stmt, frozen=True):
    items: tuple[WithItem, ...]
    body: tuple[Stmt, ...]


class Handler(Node, frozen=True):
    type: Expr | None
    name: str | None
    body: tuple[Stmt, ...]


class Try(Stmt, frozen=True):
    """``star``: the handlers are ``except*``."""

    body: tuple[Stmt, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Stmt, ...]
    finalbody: tuple[Stmt, ...]
    star: bool = False


class Pattern(Node, frozen=True):
    """A pattern of ``case``, each of the shape that it has in :mod:`ast`."""


class MatchValue(Pattern, frozen=True):
    """A literal or a dotted name that the subject must equal."""

    value: Expr


class MatchSingleton(Pattern, frozen=True):
    """``None``, ``True`` or ``False``."""

    value: object


class MatchSequence(Pattern, frozen=True):
    patterns: tuple[Pattern, ...]


class MatchMapping(Pattern, frozen=True):
    """``{keys[0]: patterns[0], ..., **rest}``."""

    keys: tuple[Expr, ...]
    patterns: tuple[Pattern, ...]
    rest: str | None


class MatchClass(Pattern, frozen=True):
    """``cls(*patterns, names[0]=named[0], ...)``."""

    cls: Expr
    patterns: tuple[Pattern, ...]
    names: tuple[str, ...]
    named: tuple[Pattern, ...]


class MatchStar(Pattern, frozen=True):
    """``*name`` in a sequence; ``name is None`` for ``*_``."""

    name: str | None


class MatchAs(Pattern, frozen=True):
    """``pattern as name``; a capture has no pattern, the wildcard ``_`` neither of the two."""

    pattern: Pattern | None
    name: str | None


class MatchOr(Pattern, frozen=True):
    patterns: tuple[Pattern, ...]


class MatchCase(Node, frozen=True):
    pattern: Pattern
    guard: Expr | None
    body: tuple[Stmt, ...]


class Match(Stmt, frozen=True):
    subject: Expr
    cases: tuple[MatchCase, ...]


class ImportAlias(Node, frozen=True):
    """One imported name. ``name == "*"`` for a star import."""

    name: str
    asname: str | None


class Import(Stmt, frozen=True):
    """``import a.b as c, d``."""

    names: tuple[ImportAlias, ...]


class ImportFrom(Stmt, frozen=True):
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


class Param(Node, frozen=True):
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


class FunctionDef(Stmt, frozen=True):
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


class ClassDef(Stmt, frozen=True):
    name: str
    bases: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...]
    name_span: Span
    docstring: str | None = None


class UnsupportedStmt(Stmt, frozen=True):
    """A statement with no meaning for kernels (``async for``); ``kind`` names it.

    ``inner`` is what it is made of, for those who look for names: ``async for`` has the loop
    there. It is not to be run. ``binds`` are names that it binds without a node in ``inner``.
    """

    kind: str
    inner: tuple[Node, ...] = ()
    binds: tuple[str, ...] = ()
