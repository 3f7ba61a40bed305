"""Assignment: to names, attributes, items, and the parts of what is unpacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import names, probes, ranks
from verifier.symbolic.python.heap import UNBOUND, ListBox
from verifier.symbolic.python.inputs import InputKind, LazyShape, Parameter
from verifier.symbolic.python.integers import DIVISIONS
from verifier.symbolic.python.kinds.segments import as_list, segments_of, values_in
from verifier.symbolic.python.vm import VM
from verifier.symbolic.python.words import told
from verifier.symbolic.trace import AssumptionKind
from verifier.symbolic.values import Guarded, Opaque, OpaqueOf

#: items of a generator that are listed for a starred target
_LISTED: Final = 64


def assign(vm: VM, target: ir.Expr, value: object, span: Span) -> None:
    """Bind a target to a value."""
    _TARGETS[type(target)](vm, target, value, span)


def _name(vm: VM, target: ir.Name, value: object, span: Span) -> None:
    names.bind(vm, target.id, value)


def _attribute(vm: VM, target: ir.Attribute, value: object, span: Span) -> None:
    owner = vm.eval(target.value)
    vm.set_attribute(owner, names.mangled(vm, target.attr), value, target.span)


def _subscript(vm: VM, target: ir.Subscript, value: object, span: Span) -> None:
    owner = vm.eval(target.value)
    vm.set_item(owner, vm.eval(target.index), value, target.span)


def _sequence(vm: VM, target: ir.TupleExpr | ir.ListExpr, value: object, span: Span) -> None:
    targets = target.elements
    star = next((k for k, t in enumerate(targets) if isinstance(t, ir.Starred)), None)
    items = unpacked(vm, value, len(targets), star, span)
    for part, item in zip(targets, items, strict=True):
        assign(vm, part.value if isinstance(part, ir.Starred) else part, item, span)


_TARGETS: Final[dict[type[ir.Expr], Callable[[VM, Any, object, Span], None]]] = {
    ir.Name: _name,
    ir.Attribute: _attribute,
    ir.Subscript: _subscript,
    ir.TupleExpr: _sequence,
    ir.ListExpr: _sequence,
}


# ------------------------------------------------------------------------ unpacking


def unpacked(vm: VM, value: object, count: int, star: int | None, span: Span) -> tuple[object, ...]:
    """The items for ``count`` targets, the one at ``star`` a list of what is left over."""
    value = told(vm, vm.settled(value))
    if isinstance(value, Guarded):
        return vm.each(value, lambda v: unpacked(vm, v, count, star, span))
    if isinstance(value, LazyShape) and star is None:
        ranks.learn(vm, value.parameter, count, span)
        return _fitting(vm, ranks.shape(vm, value.parameter, span), count, span)
    if isinstance(value, Parameter) and value.kind in (None, InputKind.TUPLE) and star is None:
        length = vm.inputs.length(value)
        _mismatch_of_input(vm, value, length, count, span)
        return tuple(vm.inputs.item(value, k) for k in range(count))
    if isinstance(value, Opaque):
        probes.refused(vm, iter, (value,), span)
        if value.lost or (isinstance(value, OpaqueOf) and not value.loose):
            vm.unfollowed(f"how many items {value.reason} has is not followed", span)
        if value.given:
            many = f"{count}" if star is None else f"at least {count - 1}"
            vm.caller_gives(span, f"has {many} items")
        return tuple(value for _ in range(count))
    symbolic = _of_list(vm, value, count, star, span)
    if symbolic is not None:
        return symbolic
    segments = segments_of(vm, value, span)
    items = None if segments is None else values_in(segments)
    if segments is not None and items is None:
        made = as_list(vm, segments)
        run = _of_list(vm, made, count, star, span)
        if run is not None:
            return run
        total = vm.length(made, span)
        if isinstance(total, E.Expr) and total.is_const and total.const <= _LISTED:
            items = tuple(vm.item(made, E.const(k), span) for k in range(total.const))
    if items is None:
        unknown = vm.unfollowed(
            f"the items of {vm.kind(value).describe(vm, value)} are not followed", span
        )
        return tuple(unknown for _ in range(count))
    if star is None:
        return _fitting(vm, items, count, span)
    return _starred(vm, items, count, star, span)


def _mismatch_of_input(vm: VM, value: Parameter, length: E.Expr, count: int, span: Span) -> None:
    """An input is as long as it is unpacked, which is listed, or is known to be of other length."""
    fits = E.eq(length, count)
    if vm.decide(fits) is None:
        ranks.caught(vm, f"the length of `{value.name}`", span)
        vm.assume(fits, f"{value.name} has {count} items", span, AssumptionKind.TYPE)
    elif fits is not E.TRUE:
        _mismatch(vm, E.not_(fits), f"{length!r}", count, span)


def _of_list(
    vm: VM, value: object, count: int, star: int | None, span: Span
) -> tuple[object, ...] | None:
    """The items of a list whose length depends on the inputs."""
    box = vm.box(value)
    if not isinstance(box, ListBox) or box.concrete is not None or star is not None:
        return None
    _mismatch(vm, E.ne(box.length, count), f"{box.length!r}", count, span)
    return tuple(vm.item(value, E.const(k), span) for k in range(count))


def _fitting(vm: VM, items: tuple[object, ...], count: int, span: Span) -> tuple[object, ...]:
    if len(items) != count:
        _mismatch(vm, E.TRUE, str(len(items)), count, span)
    return items


def _starred(
    vm: VM, items: tuple[object, ...], count: int, star: int, span: Span
) -> tuple[object, ...]:
    rest = len(items) - (count - 1)
    if rest < 0:
        _mismatch(vm, E.TRUE, str(len(items)), count - 1, span)
    middle = vm.heap.new(ListBox.of(items[star : star + rest]))
    return (*items[:star], middle, *items[star + rest :])


def _mismatch(vm: VM, when: E.Bool, have: str, count: int, span: Span) -> None:
    vm.fault(
        ValueError,
        f"cannot unpack {have} values into {count} names",
        span,
        when=when,
        rule="unpack-mismatch",
        text=f"{count} == {have}",
    )


# ------------------------------------------------------------------------ augmented, deleted


def augmented(vm: VM, stmt: ir.AugAssign) -> None:
    """``target op= value``."""
    target = stmt.target
    if isinstance(target, ir.Name):
        old, value = vm.eval(target), vm.eval(stmt.value)
        if stmt.op in DIVISIONS:
            vm.dialect.divides(vm, stmt, old, value)
        names.bind(vm, target.id, vm.inplace(stmt.op, old, value, stmt.span))
    elif isinstance(target, ir.Attribute):
        owner = vm.eval(target.value)
        attr = names.mangled(vm, target.attr)
        old = vm.attribute(owner, attr, target.span)
        new = vm.inplace(stmt.op, old, vm.eval(stmt.value), stmt.span)
        vm.set_attribute(owner, attr, new, target.span)
    else:
        assert isinstance(target, ir.Subscript)
        owner, index = vm.eval(target.value), vm.eval(target.index)
        vm.each(owner, lambda v: _augmented_item(vm, stmt, v, index))


def _augmented_item(vm: VM, stmt: ir.AugAssign, owner: object, index: object) -> None:
    span = stmt.target.span
    view = vm.kind(owner).as_view(vm, owner, span)
    if view is not None:
        region = vm.dialect.subscript(vm, view, index, span)
        vm.inplace(stmt.op, region, vm.eval(stmt.value), stmt.span)
        return
    old = vm.item(owner, index, span)
    new = vm.inplace(stmt.op, old, vm.eval(stmt.value), stmt.span)
    vm.set_item(owner, index, new, span)


def delete(vm: VM, target: ir.Expr) -> None:
    """``del target``."""
    if isinstance(target, ir.Name):
        vm.eval(target)  # it has to be there
        names.bind(vm, target.id, UNBOUND)
    elif isinstance(target, (ir.TupleExpr, ir.ListExpr)):
        for part in target.elements:
            delete(vm, part)
    else:
        assign(vm, target, UNBOUND, target.span)
