"""What names mean: which ones a block binds, and which ones it says are another block's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct

from verifier.source import ir

Block: TypeAlias = "ir.FunctionDef | ir.LambdaExpr | ir.ClassDef | ir.Comprehension"
"""A node whose names are its own."""


class Names(Struct, frozen=True):
    """What the names of one block mean, as CPython's symbol table has it.

    ``local`` are the names bound in the block, parameters included, without those that are declared
    global or nonlocal. Names are as in the source: ``__x`` in a class is not mangled.
    """

    local: frozenset[str]
    declared_global: frozenset[str]
    declared_nonlocal: frozenset[str]


def names_of(node: Block) -> Names:
    """The names of a function, a lambda, a class or a comprehension.

    A comprehension has the targets of its loops only: ``:=`` in it binds in the block around it.
    Results are kept for the node (not for equal ones), so asking again costs nothing.
    """
    return _names_of(_Same(node))


def names_of_module(body: Sequence[ir.Stmt]) -> Names:
    """The names of a module, or of any other block with this body, nested blocks left out."""
    return _collected(_Collector(), body)


def bound_by(statement: ir.Stmt | ir.MatchCase) -> frozenset[str]:
    """The names that a statement or a case itself binds, not the statements in its body."""
    collector = _Collector(into_bodies=False)
    if not isinstance(statement, ir.Delete):  # what it "binds" is unbound after it
        collector.visit((statement,))
    return frozenset(collector.bound)


class _Same:
    """A node as a key of a cache: equal to itself only, for hashing a tree visits all of it."""

    __slots__ = ("node",)

    def __init__(self, node: Block) -> None:
        self.node = node  # kept alive, so that its id stays its own

    def __hash__(self) -> int:
        return id(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.node is self.node


@lru_cache(maxsize=4096)
def _names_of(key: _Same) -> Names:
    node = key.node
    collector = _Collector()
    if isinstance(node, ir.Comprehension):
        for generator in node.generators:
            collector.target(generator.target)
        return _collected(collector, ())
    if not isinstance(node, ir.ClassDef):
        collector.bound.update(param.name for param in node.params)
    return _collected(collector, (node.body,) if isinstance(node.body, ir.Expr) else node.body)


def _collected(collector: _Collector, body: Iterable[ir.Node]) -> Names:
    collector.visit(body)
    declared = collector.declared_global | collector.declared_nonlocal
    return Names(
        frozenset(collector.bound - declared),
        frozenset(collector.declared_global),
        frozenset(collector.declared_nonlocal),
    )


class _Collector:
    """One walk over a block; ``into_bodies``: also over the statements inside of statements."""

    def __init__(self, *, into_bodies: bool = True) -> None:
        self.bound: set[str] = set()
        self.declared_global: set[str] = set()
        self.declared_nonlocal: set[str] = set()
        self._into_bodies = into_bodies

    def visit(self, nodes: Iterable[ir.Node]) -> None:
        # A stack of its own: sums and `elif` chains nest deeper than Python's.
        stack = list(nodes)
        within, into_bodies = ir.children, self._into_bodies
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind in _LEAVES:
                continue
            binder = _BINDERS.get(kind)
            if binder is not None:
                binder(self, node)
            around = _AROUND.get(kind)
            below = within(node) if around is None else around(node)
            if into_bodies or kind is ir.UnsupportedStmt:
                stack += below
            else:
                stack += [child for child in below if not isinstance(child, ir.Stmt)]

    def target(self, target: ir.Expr) -> None:
        """Bind what an assignment to ``target`` binds; parts of objects are no names."""
        stack = [target]
        while stack:
            node = stack.pop()
            if isinstance(node, ir.Name):
                self.bound.add(node.id)
            elif isinstance(node, (ir.TupleExpr, ir.ListExpr)):
                stack.extend(node.elements)
            elif isinstance(node, ir.Starred):
                stack.append(node.value)

    # ----------------------------------------------------------------- what binds

    def _targets(self, node: ir.Assign | ir.Delete) -> None:
        for target in node.targets:
            self.target(target)

    def _target(self, node: ir.AnnAssign | ir.AugAssign | ir.For | ir.NamedExpr) -> None:
        self.target(node.target)

    def _with(self, node: ir.WithItem) -> None:
        if node.target is not None:
            self.target(node.target)

    def _named(
        self, node: ir.FunctionDef | ir.ClassDef | ir.Handler | ir.MatchAs | ir.MatchStar
    ) -> None:
        if node.name is not None:
            self.bound.add(node.name)

    def _rest(self, node: ir.MatchMapping) -> None:
        if node.rest is not None:
            self.bound.add(node.rest)

    def _import(self, node: ir.Import) -> None:
        self.bound.update(a.asname or a.name.partition(".")[0] for a in node.names)

    def _import_from(self, node: ir.ImportFrom) -> None:
        self.bound.update(a.asname or a.name for a in node.names if a.name != "*")

    def _global(self, node: ir.Global) -> None:
        self.declared_global.update(node.names)

    def _nonlocal(self, node: ir.Nonlocal) -> None:
        self.declared_nonlocal.update(node.names)

    def _unsupported(self, node: ir.UnsupportedStmt) -> None:
        self.bound.update(node.binds)


# --------------------------------------------------- parts of inner blocks evaluated in this one


def _of_params(params: Iterable[ir.Param]) -> Iterator[ir.Node]:
    for param in params:
        yield from ir.children(param)  # the default and the annotation


def _of_function(node: ir.FunctionDef) -> Iterator[ir.Node]:
    yield from node.decorators
    yield from _of_params(node.params)
    if node.returns is not None:
        yield node.returns


def _of_lambda(node: ir.LambdaExpr) -> Iterator[ir.Node]:
    return _of_params(node.params)


def _of_class(node: ir.ClassDef) -> Iterator[ir.Node]:
    yield from node.decorators
    yield from node.bases
    yield from node.keywords


# Each function takes the node type it is filed under; the tables themselves cannot say so. A
# comprehension is walked like any expression: its loops bind in it and are not among the binders,
# its `:=` bind here.
_AROUND: dict[type[ir.Node], Callable[[Any], Iterator[ir.Node]]] = {
    ir.FunctionDef: _of_function,
    ir.LambdaExpr: _of_lambda,
    ir.ClassDef: _of_class,
}

#: most nodes, which bind nothing and have nothing below
_LEAVES = frozenset({ir.Name, ir.Const})

_BINDERS: dict[type[ir.Node], Callable[[_Collector, Any], None]] = {
    ir.Assign: _Collector._targets,
    ir.Delete: _Collector._targets,
    ir.AnnAssign: _Collector._target,
    ir.AugAssign: _Collector._target,
    ir.For: _Collector._target,
    ir.NamedExpr: _Collector._target,
    ir.WithItem: _Collector._with,
    ir.FunctionDef: _Collector._named,
    ir.ClassDef: _Collector._named,
    ir.Handler: _Collector._named,
    ir.MatchAs: _Collector._named,
    ir.MatchStar: _Collector._named,
    ir.MatchMapping: _Collector._rest,
    ir.Import: _Collector._import,
    ir.ImportFrom: _Collector._import_from,
    ir.Global: _Collector._global,
    ir.Nonlocal: _Collector._nonlocal,
    ir.UnsupportedStmt: _Collector._unsupported,
}
