"""``while`` loops: followed iteration by iteration where the facts decide how they go on.

Where they do not, the loop is a generic one with an unknown number of full iterations, and after
them comes the iteration that ends it: the condition is false there, or it is left with ``break``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from verifier.source import ir
from verifier.symbolic import expr as E
from verifier.symbolic.interpreter import coercions, liveness, loops
from verifier.symbolic.interpreter.vm import DeadPathError, Escape
from verifier.symbolic.values import Range

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM

#: iterations that are followed one by one
LIMIT = 512
#: iterations with a way out that the facts do not decide, before the loop is a generic one
UNDECIDED = 3

_Execute = Callable[["VM", tuple[ir.Stmt, ...]], str]


def run(vm: VM, stmt: ir.While, execute: _Execute) -> str:
    """Run the loop; the flow it ends with, ``else`` part included."""
    mark, names = vm.mark(), dict(vm._names)
    returns, base = len(vm.frame.returns), vm.path_length()
    exits: list[Escape] = []
    undecided, flow = 0, "normal"
    for _ in range(LIMIT):
        test = _test(vm, stmt)
        known = vm.decide(test)
        if known is False:
            if not exits:
                return _else(vm, stmt, execute)
            exits.append(Escape(vm.guard_since(base), vm.heap.fork(), None))
            break
        if known is None and not exits:
            return _generic(vm, stmt, execute)
        if known is None or undecided >= UNDECIDED:
            vm.back_to(mark)
            vm._names = names
            del vm.frame.returns[returns:]
            return _generic(vm, stmt, execute)
        ways, flow = _iteration(vm, stmt, execute, base)
        exits.extend(ways)
        undecided += bool(ways)
        if flow not in ("normal", "continue"):
            break
    else:
        vm.approximate("cap", f"a while loop runs more than {LIMIT} times", stmt.span)
        exits.append(Escape(vm.guard_since(base), vm.heap.fork(), None))
    lost = len(vm.frame.returns) > returns or flow in ("return", "raise")
    return _leave(vm, exits, base, narrowed=lost, otherwise=flow)


def _test(vm: VM, stmt: ir.While) -> E.Bool:
    return coercions.truth(vm, vm.eval(stmt.test), stmt.test.span)


def _else(vm: VM, stmt: ir.While, execute: _Execute) -> str:
    """What follows a loop that no ``break`` left."""
    if stmt.orelse and liveness.breaks(stmt.body):
        vm.approximate("skipped", "`else` of a loop with `break` is not followed", stmt.span)
        return "normal"
    return execute(vm, stmt.orelse)


def _iteration(
    vm: VM, stmt: ir.While, execute: _Execute, base: int
) -> tuple[tuple[Escape, ...], str]:
    """One pass: the paths that ``break`` takes out, guarded since ``base``, and the flow."""
    before = vm.guard_since(base)
    vm.frame.breaks.append([])
    flow = loops.iteration(vm, lambda: execute(vm, stmt.body))
    ways = vm.frame.breaks.pop()
    return tuple(Escape(E.and_(before, way.guard), way.heap, None) for way in ways), flow


def _leave(vm: VM, exits: list[Escape], base: int, *, narrowed: bool, otherwise: str) -> str:
    """Join the ways out of the loop."""
    if not exits:
        return "normal" if otherwise in ("break", "continue") else otherwise
    loops.rejoin(vm, exits, False)
    vm.cut_path(base)
    if narrowed:
        vm.narrow(E.or_(*(way.guard for way in exits)))
    return "normal"


def _generic(vm: VM, stmt: ir.While, execute: _Execute) -> str:
    count = E.fresh("iterations", 0)
    if _goes_round(vm, stmt, execute):
        mark, names, ledger = vm.mark(), dict(vm._names), len(vm.trace.ledger)
        index, test = _repeat(vm, stmt, execute, count)
        followed = len(vm.trace.ledger) == ledger and not liveness.breaks(stmt.body)
        trips = _trips(vm, index, test) if followed else None
        if trips is not None:
            vm.back_to(mark)
            vm._names = names
            _repeat(vm, stmt, execute, trips)
            _test(vm, stmt)  # false now
            return _else(vm, stmt, execute)
        for place in (E.const(0), count - 1):
            there = E.Substitution({index: place}).bool(test)
            vm.narrow(E.implies(E.ge(count, 1), there))
    vm.approximate(
        "havoc", "a while loop with a symbolic condition is not followed", stmt.span, [repr(count)]
    )
    base = vm.path_length()
    test = _test(vm, stmt)
    if not liveness.breaks(stmt.body):
        vm.narrow(E.not_(test))
        return _else(vm, stmt, execute)
    exits = [] if test is E.TRUE else [Escape(E.not_(test), vm.heap.fork(), None)]
    vm.narrow(test)
    ways, flow = _iteration(vm, stmt, execute, base)
    exits.extend(ways)
    if flow in ("normal", "continue") and not exits:
        flow = "raise"  # it never ends
    return _leave(vm, exits, base, narrowed=True, otherwise=flow)


def _repeat(vm: VM, stmt: ir.While, execute: _Execute, count: E.Expr) -> tuple[E.Sym, E.Bool]:
    """Run ``count`` full iterations; the condition that holds when iteration ``index`` starts."""
    condition = ir.ExprStmt(stmt.test.span, stmt.test)
    held: list[tuple[E.Sym, E.Bool]] = []
    loops.run(
        vm,
        Range(E.const(0), count, E.const(1), "range", stmt.span),
        lambda _: None,
        lambda: _full_iteration(vm, stmt, execute, held),
        name="while",
        span=stmt.span,
        exposed=liveness.exposed((condition, *stmt.body)),
    )
    return held[-1] if held else (vm.loop_symbol("while"), E.FALSE)


def _trips(vm: VM, index: E.Sym, test: E.Bool) -> E.Expr | None:
    """How often a loop runs whose condition, in the iteration's index, is a bound on it.

    The condition is ``start + step * index <= 0`` with ``step >= 1``, or says that a rest is left.
    """
    expr = test.expr
    if test.kind != "le" or expr is None:
        return None
    rest = (E.const(1) - expr).as_atom() if expr.const == 1 else None
    if isinstance(rest, E.Extremum) and rest.kind == "max" and rest.args[1:] == (E.const(0),):
        expr = E.const(1) - rest.args[0]  # max(x, 0) >= 1 is x >= 1
    start = E.Substitution({index: E.const(0)}).expr(expr)
    step = E.Substitution({index: E.from_atom(index) + 1}).expr(expr) - expr
    if index in step.free() or vm.decide(E.ge(step, 1)) is not True:
        return None
    return E.maximum((-start) // step + 1, 0)


def _goes_round(vm: VM, stmt: ir.While, execute: _Execute) -> bool:
    """Whether an iteration may come to its end at all."""
    mark, names, returns = vm.mark(), dict(vm._names), len(vm.frame.returns)
    flow = "raise"
    try:
        vm.narrow(_test(vm, stmt))
        _, flow = _iteration(vm, stmt, execute, vm.path_length())
    except DeadPathError:
        pass
    finally:
        vm.back_to(mark)
        vm._names = names
        del vm.frame.returns[returns:]
    return flow in ("normal", "continue")


def _full_iteration(
    vm: VM, stmt: ir.While, execute: _Execute, held: list[tuple[E.Sym, E.Bool]]
) -> str:
    """An iteration that another one follows: ``break`` is not taken.

    The condition that held when it started is noted in ``held``, with the index of the iteration.
    """
    test = _test(vm, stmt)
    held.append((vm.loops[-1].symbol, test))
    if vm.decide(test) is not True:
        vm.narrow(test)
    vm.frame.breaks.append([])
    flow = execute(vm, stmt.body)
    vm.frame.breaks.pop()
    return flow
