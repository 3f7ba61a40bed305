"""Statements: binding, branching, assertions, loops, and the ways out of a block.

Executing a block gives its flow: ``normal``, or how every path through it ended (``return``,
``break``, ``continue``, ``raise``). A path that ends while others go on is recorded as an escape
with its guard and state; the rest of the block runs under the opposite condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.interpreter import arithmetic, coercions, frontend, liveness, loops, whiles
from verifier.symbolic.interpreter import heap as H
from verifier.symbolic.interpreter import vm as vm_module
from verifier.symbolic.interpreter.heap import UNBOUND, Item, ListBox, Many, ObjectBox
from verifier.symbolic.interpreter.inputs import LazyShape, Parameter
from verifier.symbolic.interpreter.terms import Renaming, join
from verifier.symbolic.trace import View
from verifier.symbolic.values import (
    Class,
    EnumMember,
    Function,
    Guarded,
    IndexGrid,
    Managed,
    Opaque,
    PendingAdd,
    Range,
    Ref,
)

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM


def execute(vm: VM, body: Sequence[ir.Stmt]) -> str:
    """Run a block; its flow."""
    for stmt in body:
        vm.step(stmt.span)
        try:
            flow = _statement(vm, stmt)
        except vm_module.DeadPathError:
            return "raise"
        if flow != "normal":
            return flow
    return "normal"


def _statement(vm: VM, stmt: ir.Stmt) -> str:
    if isinstance(stmt, ir.Assign):
        _assign_statement(vm, stmt)
    elif isinstance(stmt, ir.ExprStmt):
        if not isinstance(stmt.value, ir.Const):
            vm.eval(stmt.value)
    elif isinstance(stmt, ir.AugAssign):
        _augmented(vm, stmt)
    elif isinstance(stmt, ir.AnnAssign):
        if stmt.value is not None:
            _bind_value(vm, stmt.target, stmt.value)
    elif isinstance(stmt, ir.For):
        return _for(vm, stmt)
    elif isinstance(stmt, ir.If):
        return _if(vm, stmt)
    elif isinstance(stmt, ir.Return):
        value = vm.eval(stmt.value) if stmt.value is not None else None
        _escape(vm, "return", value, stmt.span)
        return "return"
    elif isinstance(stmt, ir.Assert):
        return _assert(vm, stmt)
    elif isinstance(stmt, ir.Raise):
        vm.assume(E.FALSE, _raise_text(vm, stmt), stmt.span, "assert")
        return "raise"
    elif isinstance(stmt, ir.Break):
        _escape(vm, "break", None)
        return "break"
    elif isinstance(stmt, ir.Continue):
        _escape(vm, "continue", None)
        return "continue"
    elif isinstance(stmt, ir.While):
        return whiles.run(vm, stmt, execute)
    elif isinstance(stmt, ir.FunctionDef):
        vm.heap.write(vm.frame.scope)
        made = make_function(vm, stmt)
        bind_name(vm, stmt.name, made)
        if vm.awaited is not None and vm.awaited.definition is stmt:
            enter = vm.awaited.enter
            vm.awaited = None
            enter(made)
            # What the enclosing function does with its kernel is no part of the kernel.
            _escape(vm, "return", None, stmt.span)
            return "return"
    elif isinstance(stmt, ir.ClassDef):
        from verifier.symbolic.interpreter import classes

        bind_name(vm, stmt.name, classes.define(vm, stmt, vm.frame.module))
    elif isinstance(stmt, ir.With):
        return _with(vm, stmt)
    elif isinstance(stmt, ir.Try):
        return _try(vm, stmt)
    elif isinstance(stmt, (ir.Import, ir.ImportFrom)):
        from verifier.symbolic.interpreter import names

        names.local_import(vm, stmt)
    elif isinstance(stmt, ir.Delete):
        for target in stmt.targets:
            if isinstance(target, ir.Name):
                bind_name(vm, target.id, UNBOUND)
            else:
                vm.approximate("skipped", "`del` of a part is not followed", stmt.span)
    elif isinstance(stmt, ir.Pass):
        pass
    elif isinstance(stmt, (ir.Global, ir.Nonlocal)):
        function = vm.frame.function
        if function is not None and function.closure is None:
            vm.approximate("skipped", "rebinding a global is not followed", stmt.span)
    elif isinstance(stmt, ir.UnsupportedStmt):
        vm.approximate("skipped", f"`{stmt.kind}` is not followed", stmt.span)
    elif isinstance(stmt, ir.Match):
        vm.approximate("skipped", "`match` is not followed", stmt.span)
    return "normal"


def make_function(vm: VM, stmt: ir.FunctionDef) -> Function:
    """A nested function: it closes over the current scope; defaults are evaluated now."""
    defaults = tuple((p.name, vm.eval(p.default)) for p in stmt.params if p.default is not None)
    return Function(
        stmt, vm.frame.module, closure=vm.frame.scope, defaults=defaults, qualname=stmt.name
    )


# ------------------------------------------------------------------------ ways out


def _escape(vm: VM, kind: str, value: object, span: Span | None = None) -> None:
    from verifier.symbolic.interpreter.vm import Escape

    frame = vm.frame
    if kind == "return":
        guard = vm.guard_since(frame.path_base)
        frame.returns.append(Escape(guard, vm.heap.fork(), value, span))
    elif kind == "continue" and frame.continues:
        guard = vm.guard_since(frame.loop_bases[-1])
        frame.continues[-1].append(Escape(guard, vm.heap.fork(), None))
    elif kind == "break" and frame.breaks:
        guard = vm.guard_since(frame.loop_bases[-1])
        frame.breaks[-1].append(Escape(guard, vm.heap.fork(), None))


def _raise_text(vm: VM, stmt: ir.Raise) -> str:
    return f"not reached: {vm.text(stmt.span)}"


def _assert(vm: VM, stmt: ir.Assert) -> str:
    value = vm.eval(stmt.test)
    text = vm.text(stmt.test.span)
    if isinstance(value, Opaque):
        if not value.harmless:
            vm.approximate("assumption", f"`{text}` is not followed", stmt.span)
        return "normal"
    condition = coercions.truth(vm, value, stmt.test.span)
    _bit_tests(vm, stmt.test, condition)
    vm.assume(condition, text, stmt.test.span, "assert")
    return "raise" if condition is E.FALSE else "normal"


def _bit_tests(vm: VM, test: ir.Expr, condition: E.Bool) -> None:
    """``n & 128 == 0`` as a precondition: hardly ever what is meant."""
    if isinstance(test, ir.BoolOp):
        for part in test.values:
            _bit_tests(vm, part, condition)
        return
    if not (isinstance(test, ir.Compare) and test.ops == ("==",)):
        return
    left, right = test.left, test.comparators[0]
    if not (isinstance(left, ir.BinOp) and left.op == "&" and isinstance(right, ir.Const)):
        return
    bit = vm.eval(left.right)
    number = coercions.as_int(vm, vm.eval(left.left), left.left.span)
    if right.value != 0 or not isinstance(bit, Expr) or not bit.is_const or number is None:
        return
    size = bit.const
    if size < 2 or size & (size - 1):
        return
    name = vm.text(left.left.span)
    vm.check(
        "bit-test-divisibility",
        E.eq(number % size, 0),
        test.span,
        f"{name} % {size} == 0",
        f"`{vm.text(test.span)}` tests one bit of `{name}`, not whether it is a multiple of {size}",
        given=(condition,),
        values=((name, number),),
        help=(f"write `{name} % {size} == 0`",),
    )


# ------------------------------------------------------------------------ branches


def _if(vm: VM, stmt: ir.If) -> str:
    value = vm.eval(stmt.test)
    test = coercions.truth(vm, value, stmt.test.span)
    if frontend.compiled(vm):
        frontend.guard(vm, stmt, test)
    known = vm.decide(test)
    if known is not None:
        return execute(vm, stmt.body if known else stmt.orelse)
    return branch(vm, test, stmt.body, stmt.orelse)


def branch(vm: VM, test: E.Bool, body: Sequence[ir.Stmt], orelse: Sequence[ir.Stmt]) -> str:
    """Both sides of an undecided condition, joined where they meet."""
    base = vm.path_length()
    start = vm.heap
    then_heap, else_heap = start.fork(), start.fork()
    flows: list[str] = []
    rests: list[E.Bool] = []
    for heap, condition, block in (
        (then_heap, test, body),
        (else_heap, E.not_(test), orelse),
    ):
        vm.heap = heap
        vm.narrow(condition)
        length = vm.path_length()
        flows.append(execute(vm, block))
        rests.append(vm.guard_since(length))
        vm.cut_path(base)
    then_heap_end, else_heap_end = then_heap, else_heap
    vm.heap = start
    if flows[0] == "normal" and flows[1] == "normal":
        H.merge(start, test, then_heap_end, else_heap_end, join)
        vm.narrow(E.and_(E.implies(test, rests[0]), E.implies(E.not_(test), rests[1])))
        return "normal"
    if flows[0] == "normal":
        start.adopt(then_heap_end)
        vm.narrow(test)
        vm.narrow(rests[0])
        return "normal"
    if flows[1] == "normal":
        start.adopt(else_heap_end)
        vm.narrow(E.not_(test))
        vm.narrow(rests[1])
        return "normal"
    return flows[0] if flows[0] == flows[1] or flows[1] == "raise" else flows[1]


def _with(vm: VM, stmt: ir.With) -> str:
    entered: list[Managed] = []
    for item in stmt.items:
        value = vm.eval(item.context)
        if isinstance(value, Managed):
            value.enter()
            entered.append(value)
            value = None
        if coercions.is_object(vm, value):
            vm.approximate("skipped", "what `with` does on this object is not followed", item.span)
        if item.target is not None:
            assign(vm, item.target, value, item.span)
    flow = execute(vm, stmt.body)
    for manager in reversed(entered):
        manager.leave()
    return flow


#: checks of errors that a handler may catch
_CAUGHT = frozenset(
    (
        "call-signature",
        "division-by-zero",
        "list-index",
        "missing-key",
        "unbound-name",
        "unpack-mismatch",
    )
)


def _try(vm: VM, stmt: ir.Try) -> str:
    """The path on which nothing is raised; with handlers, what follows is not judged.

    What the body demands or dies of is no demand and no fault then: a handler may catch it.
    """
    asserted, checked, dies = len(vm.trace.assumptions), len(vm.checks), vm.trace.dies
    flow = execute(vm, stmt.body)
    imports = all(isinstance(s, (ir.Import, ir.ImportFrom)) for s in stmt.body)
    if stmt.handlers and not (imports and vm.frame.function is None):
        vm.approximate("skipped", "the handlers of `try` are not followed", stmt.span)
        vm.trace.assumptions[asserted:] = [
            a for a in vm.trace.assumptions[asserted:] if a.kind != "assert"
        ]
        vm.checks[checked:] = [c for c in vm.checks[checked:] if c.rule not in _CAUGHT]
        vm.trace.dies = dies
        if flow == "raise":
            flow = "normal"
    if flow == "normal":
        flow = execute(vm, stmt.orelse)
    if stmt.finalbody:
        last = execute(vm, stmt.finalbody)
        flow = last if last != "normal" else flow
    return flow


# ------------------------------------------------------------------------ loops


def _target_name(target: ir.Expr) -> str:
    if isinstance(target, ir.Name):
        return target.id if target.id != "_" else "i"
    if isinstance(target, (ir.TupleExpr, ir.ListExpr)) and target.elements:
        return _target_name(target.elements[0])
    return "i"


def _holds_number(vm: VM, name: str) -> bool:
    return isinstance(vm.scope().names.get(name), E.Expr)


def _two_loops(
    vm: VM, stmt: ir.For, rng: Range, inner: tuple[E.Expr, str], exposed: frozenset[str]
) -> str:
    """``for k in range(a * b)`` as a loop over ``k // b`` around one over ``k % b``."""
    count, text = inner
    outer = E.exact_quotient(rng.stop, count)
    assert outer is not None and isinstance(stmt.target, ir.Name)
    name, span = stmt.target.id, stmt.iterable.span
    row: list[E.Expr] = []

    def bind(value: object) -> None:
        assert isinstance(value, E.Expr)
        counter = row[-1] * count + value
        vm.counters[counter] = (count, row[-1], value)
        assign(vm, stmt.target, counter, stmt.target.span)

    def columns() -> str:
        across = Range(E.const(0), count, E.const(1), rng.kind, span)
        return loops.run(
            vm,
            across,
            bind,
            lambda: execute(vm, stmt.body),
            name=f"({name} % {text})",
            span=span,
            exposed=exposed,
        )

    def keep(value: object) -> None:
        assert isinstance(value, E.Expr)
        row.append(value)

    down = Range(E.const(0), outer, E.const(1), rng.kind, span)
    rows = f"({name} // {text})"
    return loops.run(vm, down, keep, columns, name=rows, span=span, exposed=exposed)


def _for(vm: VM, stmt: ir.For) -> str:
    iterable = vm.eval(stmt.iterable)
    length = _list_length(vm, iterable)
    kept = frozenset(n for n in liveness.kept(stmt.body) if _holds_number(vm, n))
    body_exposed = liveness.exposed(stmt.body) | kept
    if frontend.compiled(vm) and isinstance(iterable, Range) and isinstance(stmt.target, ir.Name):
        divisor = frontend.inner_count(vm, stmt, iterable)
        if divisor is not None:
            return _two_loops(vm, stmt, iterable, divisor, body_exposed)
    flow = iterate(
        vm,
        iterable,
        lambda value: assign(vm, stmt.target, value, stmt.target.span),
        lambda: execute(vm, stmt.body),
        name=_target_name(stmt.target),
        span=stmt.iterable.span,
        exposed=body_exposed,
    )
    if _list_length(vm, iterable) is not length:
        vm.approximate("skipped", "the list changes while it is iterated", stmt.iterable.span)
    if flow == "normal" and stmt.orelse:
        return _else(vm, stmt)
    return flow


def _list_length(vm: VM, iterable: object) -> E.Expr | None:
    box = vm.heap.get(iterable.id) if isinstance(iterable, Ref) else None
    return box.length if isinstance(box, ListBox) else None


def _else(vm: VM, stmt: ir.For) -> str:
    """What follows a loop that no ``break`` left."""
    if liveness.breaks(stmt.body):
        vm.approximate("skipped", "`else` of a loop with `break` is not followed", stmt.span)
        return "normal"
    return execute(vm, stmt.orelse)


def iterate(
    vm: VM,
    iterable: object,
    bind: Callable[[object], None],
    body: Callable[[], str],
    *,
    name: str,
    span: Span,
    exposed: frozenset[str],
) -> str:
    """Run ``body`` for each item of any iterable value."""
    if isinstance(iterable, Guarded):
        live = arithmetic.live_cases(vm, iterable)
        if len(live) == 1:
            iterable = live[0][1]
    if isinstance(iterable, Range):
        return loops.run(vm, iterable, bind, body, name=name, span=span, exposed=exposed)
    if isinstance(iterable, Ref):
        box = vm.heap.get(iterable.id)
        if isinstance(box, ListBox) and box.concrete is None:
            return _symbolic_items(vm, box, bind, body, name=name, span=span, exposed=exposed)
        if isinstance(box, ObjectBox):
            from verifier.symbolic.interpreter import classes

            sequence = classes.as_sequence(vm, iterable, span)
            if sequence is not None:
                return iterate(vm, sequence, bind, body, name=name, span=span, exposed=exposed)
    items = coercions.as_items(vm, iterable, span)
    if items is not None:
        return loops.unroll(vm, items, bind, body)
    reason = iterable.reason if isinstance(iterable, Opaque) else coercions.kind_name(iterable)
    vm.approximate("havoc", f"a loop over {reason} is not followed", span)
    count = E.fresh("iterations", 0)
    unknown = Range(E.const(0), count, E.const(1), "range", span)
    item = Opaque(f"an item of {reason}")
    return loops.run(vm, unknown, lambda _: bind(item), body, name=name, span=span, exposed=exposed)


def _symbolic_items(
    vm: VM,
    box: ListBox,
    bind: Callable[[object], None],
    body: Callable[[], str],
    *,
    name: str,
    span: Span,
    exposed: frozenset[str],
) -> str:
    """Items of a list with symbolic runs: a run is a loop of its own."""
    for segment in box.segments:
        if isinstance(segment, Item):
            flow = loops.unroll(vm, (segment.value,), bind, body)
        else:
            flow = "normal"
            for value in segment.values:

                def bind_item(index: object, value: object = value, run: Many = segment) -> None:
                    assert isinstance(index, Expr)
                    bind(Renaming(vm.heap, {run.index: index}).value(value))

                rng = Range(E.const(0), segment.count, E.const(1), "range", span)
                flow = loops.run(vm, rng, bind_item, body, name=name, span=span, exposed=exposed)
        if flow != "normal":
            return flow
    return "normal"


# ------------------------------------------------------------------------ binding


def bind_name(vm: VM, name: str, value: object) -> None:
    scope = vm.heap.write(vm.frame.scope)
    assert isinstance(scope, H.Scope)
    scope.names[name] = value


def _assign_statement(vm: VM, stmt: ir.Assign) -> None:
    first = stmt.targets[0]
    if len(stmt.targets) == 1:
        _bind_value(vm, first, stmt.value)
        return
    value = vm.eval(stmt.value)
    for target in stmt.targets:
        assign(vm, target, value, stmt.value.span)


def _bind_value(vm: VM, target: ir.Expr, node: ir.Expr) -> None:
    previous = vm.target_name
    vm.target_name = target.id if isinstance(target, ir.Name) else None
    value = vm.eval(node)
    vm.target_name = previous
    assign(vm, target, value, node.span)


def assign(vm: VM, target: ir.Expr, value: object, span: Span) -> None:
    """Bind a target to a value."""
    if isinstance(target, ir.Name):
        if isinstance(value, PendingAdd):
            value = value.view
        bind_name(vm, target.id, value)
    elif isinstance(target, (ir.TupleExpr, ir.ListExpr)):
        _unpack(vm, target.elements, value, span)
    elif isinstance(target, ir.Attribute):
        _set_attribute(vm, vm.eval(target.value), target.attr, value, target.span)
    elif isinstance(target, ir.Subscript):
        _set_item(vm, target, value, None, span)


def _unpack(vm: VM, targets: tuple[ir.Expr, ...], value: object, span: Span) -> None:
    items = _unpacked(
        vm, value, len(targets), span, any(isinstance(t, ir.Starred) for t in targets)
    )
    star = next((k for k, t in enumerate(targets) if isinstance(t, ir.Starred)), None)
    if star is not None:
        rest = len(items) - (len(targets) - 1)
        middle = vm.heap.new(ListBox(tuple(Item(x) for x in items[star : star + rest])))
        items = (*items[:star], middle, *items[star + rest :])
    if len(items) != len(targets):
        vm.check(
            "unpack-mismatch",
            E.FALSE,
            span,
            f"{len(targets)} == {len(items)}",
            f"cannot unpack {len(items)} values into {len(targets)} names",
        )
        vm.dies()
    for target, item in zip(targets, items, strict=True):
        inner = target.value if isinstance(target, ir.Starred) else target
        assign(vm, inner, item, span)


def _unpacked(vm: VM, value: object, count: int, span: Span, starred: bool) -> tuple[object, ...]:
    if isinstance(value, LazyShape) and not starred:
        vm.inputs.settle_rank(value.parameter, count)
        return vm.inputs.shape(value.parameter)
    if isinstance(value, Parameter) and value.kind in (None, "tuple"):
        return tuple(vm.inputs.item(value, k) for k in range(count))
    if isinstance(value, Guarded):
        cases = arithmetic.live_cases(vm, value)
        if len(cases) == 1:
            return _unpacked(vm, cases[0][1], count, span, starred)
        parts = [(g, _unpacked(vm, v, count, span, starred)) for g, v in cases]
        if all(len(p) == len(parts[0][1]) for _, p in parts):
            joined: tuple[object, ...] = parts[-1][1]
            for guard, items in reversed(parts[:-1]):
                joined = tuple(join(guard, a, b) for a, b in zip(items, joined, strict=True))
            return joined
    if isinstance(value, Ref):
        box = vm.heap.get(value.id)
        if isinstance(box, ListBox) and box.concrete is None:
            from verifier.symbolic.interpreter import attributes

            return tuple(attributes.list_item(vm, box, E.const(k), span) for k in range(count))
    known = coercions.as_items(vm, value, span)
    if known is not None:
        return known
    if isinstance(value, Opaque):
        return tuple(value for _ in range(count))
    return tuple(Opaque(f"an item of {coercions.kind_name(value)}") for _ in range(count))


def _set_attribute(vm: VM, owner: object, attr: str, value: object, span: Span) -> None:
    for guard, item in arithmetic.live_cases(vm, owner):
        if isinstance(item, Ref):
            box = vm.heap.write(item.id)
            if isinstance(box, ObjectBox):
                old = box.attributes.get(attr, UNBOUND)
                box.attributes[attr] = value if guard is E.TRUE else join(guard, value, old)
        elif isinstance(item, Class):
            vm.approximate("skipped", f"assignment to `{attr}` of a class is not followed", span)


def _set_item(vm: VM, target: ir.Subscript, value: object, op: str | None, span: Span) -> None:
    from verifier.symbolic.interpreter import attributes, expressions

    owner = vm.eval(target.value)
    for guard, item in arithmetic.live_cases(vm, owner):
        with vm.guarded(guard):
            index = expressions.index_value(vm, target.index)
            if isinstance(item, Ref):
                attributes.store_item(vm, item, index, value, op, target.span)
                continue
            view = coercions.as_view(vm, item, target.span)
            if view is None:
                if not isinstance(item, (Opaque, IndexGrid, EnumMember)):
                    vm.approximate(
                        "opaque", f"assignment to an item of {coercions.kind_name(item)}", span
                    )
                continue
            region = vm.dialect.subscript(vm, view, index, target.span)
            if isinstance(region, View):
                _store(vm, region, value, op, target.span, span)


def _store(
    vm: VM, region: View, value: object, op: str | None, span: Span, value_span: Span
) -> None:
    for guard, item in arithmetic.live_cases(vm, value):
        with vm.guarded(guard):
            if isinstance(item, Parameter) and item.kind == "tensor":
                item = vm.inputs.tensor(item)
            vm.dialect.store(vm, region, item, op, span, value_span)


def _augmented(vm: VM, stmt: ir.AugAssign) -> None:
    if isinstance(stmt.target, ir.Subscript):
        value = vm.eval(stmt.value)
        _set_item(vm, stmt.target, value, stmt.op, stmt.value.span)
        return
    old = vm.eval(stmt.target)
    if isinstance(old, View):
        value = vm.eval(stmt.value)
        _store(vm, old, value, stmt.op, stmt.target.span, stmt.value.span)
        return
    value = vm.eval(stmt.value)
    if stmt.op == "+" and isinstance(old, Ref):
        from verifier.symbolic.interpreter import attributes

        attributes.extend_list(vm, old, value, stmt.span)
        return
    assign(vm, stmt.target, arithmetic.binary(vm, stmt.op, old, value, stmt.span), stmt.span)
