"""Which names a loop body binds, and which it may read before binding them.

Names that are bound before they are read in every iteration belong to the iteration alone; only the
others can carry a value from one iteration to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verifier.source import ir
from verifier.source.scopes import bound_by


def exposed(body: Sequence[ir.Stmt]) -> frozenset[str]:
    """Names that a run of ``body`` may read before it has bound them."""
    out: set[str] = set()
    _block(body, set(), out)
    return frozenset(out)


def kept(body: Sequence[ir.Stmt]) -> frozenset[str]:
    """Names that a run of ``body`` binds under a condition only: else they keep their value."""
    return assigned(body) - _always(body)


def _always(body: Sequence[ir.Stmt]) -> set[str]:
    """Names that every run of ``body`` binds, if the loops inside run at all."""
    out: set[str] = set()
    for stmt in body:
        if isinstance(stmt, ir.If):
            out |= _always(stmt.body) & _always(stmt.orelse)
        elif isinstance(stmt, (ir.For, ir.While)):
            if isinstance(stmt, ir.For):
                _targets(stmt.target, out)
            out |= _always(stmt.body)
        elif isinstance(stmt, (ir.With, ir.Try)):
            out |= _always(stmt.body)
        elif isinstance(stmt, ir.Match):
            continue  # it may match nothing
        else:
            _assigned(stmt, out)
    return out


def breaks(body: Sequence[ir.Stmt]) -> bool:
    """Whether ``body`` may leave its loop with ``break``."""
    for stmt in body:
        if isinstance(stmt, ir.Break):
            return True
        if isinstance(stmt, (ir.For, ir.While)):
            inner: tuple[ir.Stmt, ...] = stmt.orelse
        elif isinstance(stmt, (ir.FunctionDef, ir.ClassDef)):
            continue
        else:
            parts = ("body", "orelse", "finalbody")
            inner = tuple(s for part in parts for s in getattr(stmt, part, ()))
            inner += tuple(s for handler in getattr(stmt, "handlers", ()) for s in handler.body)
            inner += tuple(s for case in getattr(stmt, "cases", ()) for s in case.body)
        if breaks(inner):
            return True
    return False


def assigned(body: Sequence[ir.Stmt]) -> frozenset[str]:
    """Names that ``body`` may bind (nested functions' own names excluded)."""
    out: set[str] = set()
    for stmt in body:
        _assigned(stmt, out)
    return frozenset(out)


def _targets(target: ir.Expr, out: set[str]) -> None:
    if isinstance(target, ir.Name):
        out.add(target.id)
    elif isinstance(target, (ir.TupleExpr, ir.ListExpr)):
        for item in target.elements:
            _targets(item, out)
    elif isinstance(target, ir.Starred):
        _targets(target.value, out)


def _assigned(stmt: ir.Stmt, out: set[str]) -> None:
    if isinstance(stmt, ir.Assign):
        for target in stmt.targets:
            _targets(target, out)
    elif isinstance(stmt, (ir.AnnAssign, ir.AugAssign)):
        _targets(stmt.target, out)
    elif isinstance(stmt, ir.For):
        _targets(stmt.target, out)
        for inner in (*stmt.body, *stmt.orelse):
            _assigned(inner, out)
    elif isinstance(stmt, (ir.While, ir.If)):
        for inner in (*stmt.body, *stmt.orelse):
            _assigned(inner, out)
    elif isinstance(stmt, ir.With):
        for item in stmt.items:
            if item.target is not None:
                _targets(item.target, out)
        for inner in stmt.body:
            _assigned(inner, out)
    elif isinstance(stmt, ir.Try):
        handlers = [s for h in stmt.handlers for s in h.body]
        for inner in (*stmt.body, *handlers, *stmt.orelse, *stmt.finalbody):
            _assigned(inner, out)
    elif isinstance(stmt, ir.Match):
        for case in stmt.cases:
            out |= bound_by(case)
            for inner in case.body:
                _assigned(inner, out)
    elif isinstance(stmt, (ir.FunctionDef, ir.ClassDef)):
        out.add(stmt.name)


def _block(body: Iterable[ir.Stmt], bound: set[str], out: set[str]) -> None:
    """Adds to ``out`` what is read unbound; adds to ``bound`` what is certainly bound after."""
    for stmt in body:
        _statement(stmt, bound, out)


def _statement(stmt: ir.Stmt, bound: set[str], out: set[str]) -> None:
    if isinstance(stmt, ir.Assign):
        _reads(stmt.value, bound, out)
        for target in stmt.targets:
            _target_reads(target, bound, out)
        for target in stmt.targets:
            _targets(target, bound)
    elif isinstance(stmt, ir.AnnAssign):
        if stmt.value is not None:
            _reads(stmt.value, bound, out)
            _target_reads(stmt.target, bound, out)
            _targets(stmt.target, bound)
    elif isinstance(stmt, ir.AugAssign):
        _reads(stmt.target, bound, out)
        _reads(stmt.value, bound, out)
        _targets(stmt.target, bound)
    elif isinstance(stmt, (ir.ExprStmt,)):
        _reads(stmt.value, bound, out)
    elif isinstance(stmt, ir.If):
        _reads(stmt.test, bound, out)
        left, right = set(bound), set(bound)
        _block(stmt.body, left, out)
        _block(stmt.orelse, right, out)
        bound |= left & right
    elif isinstance(stmt, ir.For):
        _reads(stmt.iterable, bound, out)
        inner = set(bound)
        _targets(stmt.target, inner)
        _block(stmt.body, inner, out)
        _block(stmt.orelse, set(bound), out)
    elif isinstance(stmt, ir.While):
        _reads(stmt.test, bound, out)
        _block(stmt.body, set(bound), out)
        _block(stmt.orelse, set(bound), out)
    elif isinstance(stmt, ir.With):
        for item in stmt.items:
            _reads(item.context, bound, out)
            if item.target is not None:
                _targets(item.target, bound)
        _block(stmt.body, bound, out)
    elif isinstance(stmt, ir.Try):
        _block(stmt.body, set(bound), out)
        for handler in stmt.handlers:
            _block(handler.body, set(bound), out)
        _block(stmt.orelse, set(bound), out)
        _block(stmt.finalbody, set(bound), out)
    elif isinstance(stmt, ir.Match):
        _reads(stmt.subject, bound, out)
        for case in stmt.cases:
            inner = set(bound)
            _pattern_reads(case.pattern, inner, out)
            inner |= bound_by(case)
            _reads(case.guard, inner, out)
            _block(case.body, inner, out)
    elif isinstance(stmt, ir.Return):
        if stmt.value is not None:
            _reads(stmt.value, bound, out)
    elif isinstance(stmt, ir.Assert):
        _reads(stmt.test, bound, out)
    elif isinstance(stmt, ir.FunctionDef):
        for param in stmt.params:
            if param.default is not None:
                _reads(param.default, bound, out)
        inner = set(bound) | {p.name for p in stmt.params} | set(assigned(stmt.body))
        _block(stmt.body, inner, out)
        bound.add(stmt.name)
    elif isinstance(stmt, ir.ClassDef):
        bound.add(stmt.name)


def _target_reads(target: ir.Expr, bound: set[str], out: set[str]) -> None:
    if isinstance(target, ir.Name):
        return
    if isinstance(target, (ir.TupleExpr, ir.ListExpr)):
        for item in target.elements:
            _target_reads(item, bound, out)
    else:
        _reads(target, bound, out)


def _pattern_reads(pattern: ir.Node, bound: set[str], out: set[str]) -> None:
    for child in ir.children(pattern):
        if isinstance(child, ir.Expr):
            _reads(child, bound, out)
        else:
            _pattern_reads(child, bound, out)


def _reads(node: ir.Expr | None, bound: set[str], out: set[str]) -> None:
    if node is None:
        return
    if isinstance(node, ir.Name):
        if node.id not in bound:
            out.add(node.id)
    elif isinstance(node, (ir.Attribute, ir.Starred, ir.Yield, ir.YieldFrom)):
        _reads(node.value, bound, out)
    elif isinstance(node, ir.Subscript):
        _reads(node.value, bound, out)
        _reads(node.index, bound, out)
    elif isinstance(node, ir.SliceExpr):
        for part in (node.lower, node.upper, node.step):
            _reads(part, bound, out)
    elif isinstance(node, ir.Call):
        _reads(node.func, bound, out)
        for arg in node.args:
            _reads(arg, bound, out)
        for keyword in node.keywords:
            _reads(keyword.value, bound, out)
    elif isinstance(node, ir.BinOp):
        _reads(node.left, bound, out)
        _reads(node.right, bound, out)
    elif isinstance(node, ir.UnaryOp):
        _reads(node.operand, bound, out)
    elif isinstance(node, ir.BoolOp):
        for value in node.values:
            _reads(value, bound, out)
    elif isinstance(node, ir.Compare):
        for part in (node.left, *node.comparators):
            _reads(part, bound, out)
    elif isinstance(node, ir.IfExpr):
        for part in (node.test, node.body, node.orelse):
            _reads(part, bound, out)
    elif isinstance(node, (ir.TupleExpr, ir.ListExpr, ir.SetExpr)):
        for item in node.elements:
            _reads(item, bound, out)
    elif isinstance(node, ir.DictExpr):
        for key in node.keys:
            _reads(key, bound, out)
        for value in node.values:
            _reads(value, bound, out)
    elif isinstance(node, ir.JoinedStr):
        for piece in node.parts:
            if not isinstance(piece, str):
                _reads(piece.value, bound, out)
                _reads(piece.format_spec, bound, out)
    elif isinstance(node, ir.LambdaExpr):
        inner = set(bound) | {p.name for p in node.params}
        _reads(node.body, inner, out)
    elif isinstance(node, ir.Comprehension):
        inner = set(bound)
        for generator in node.generators:
            _reads(generator.iterable, inner, out)
            _targets(generator.target, inner)
            for condition in generator.conditions:
                _reads(condition, inner, out)
        _reads(node.key, inner, out)
        _reads(node.element, inner, out)
    elif isinstance(node, ir.NamedExpr):
        _reads(node.value, bound, out)
        _targets(node.target, bound)
