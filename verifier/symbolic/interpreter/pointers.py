"""Pointers to global memory: inputs that become tensors when a shape is declared for them (PPL)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import Expr
from verifier.symbolic.interpreter.heap import UNBOUND
from verifier.symbolic.interpreter.inputs import Parameter
from verifier.symbolic.pretty import pretty
from verifier.symbolic.trace import Assumption, Axis, Buffer, DType, Storage, View
from verifier.symbolic.values import Builtin, Guarded, Opaque

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM


def declared(vm: VM, value: object, shape: Sequence[Expr], span: Span) -> View | None:
    """The tensor of that shape at which a pointer points; None if the value is no pointer.

    The first declaration gives the tensor its shape; what a later one says differently counts
    elements row-major from the same start. A pointer points at something: sizes that are inputs
    are positive. A contract's shape is a limit (rule ``ppl-tensor-storage``).
    """
    if isinstance(value, View):
        return views.redeclared(vm, value, shape, span)
    if isinstance(value, Guarded):
        live = [
            item
            for guard, item in value.cases
            if item is not None and item is not UNBOUND and vm.decide(guard) is not False
        ]
        return declared(vm, live[0], shape, span) if len(live) == 1 else None
    if not isinstance(value, Parameter) or value.kind not in (None, "tensor"):
        return None
    if value.view is None:
        _fill(vm, value, shape, span)
    assert value.view is not None
    _bounded(vm, value, shape, span)
    if tuple(shape) == value.view.shape:
        return value.view
    return views.redeclared(vm, value.view, shape, span)


def _fill(vm: VM, p: Parameter, shape: Sequence[Expr], span: Span) -> None:
    p.kind = "tensor"
    p.rank = len(shape)
    for size in shape:
        _positive(vm, size, span)
    storage = Storage(
        id=-1 - len(vm.inputs.storages),
        name=p.name,
        buffer=Buffer.HBM,
        dtype=vm.inputs.dtype(p),
        shape=tuple(shape),
        partition_axis=None,
        span=p.span,
        kind="input",
        initialised=True,
    )
    vm.inputs.storages.append(storage)
    axes = []
    for position, extent in enumerate(shape):
        atom = E.symbol(f"{p.name}@{position}", 0, origin="axis").as_atom()
        assert isinstance(atom, E.Sym)
        axes.append(Axis(atom, extent))
    p.view = View(
        storage=storage,
        instance=(),
        frame=storage.shape,
        frame_partition=None,
        axes=tuple(axes),
        coords=tuple(axis.index for axis in axes),
        dtype=storage.dtype,
        span=p.span,
    )


def _positive(vm: VM, size: Expr, span: Span) -> None:
    """A tensor has elements: a size that is the same on all cores is at least one."""
    if any(symbol.origin not in ("input", "grid") for symbol in size.free()):
        return
    factors = [size]
    if len(size.terms) == 1 and not size.const and size.terms[0][1] == 1:
        factors = [E.from_atom(atom) for atom in size.terms[0][0]]
    for factor in factors:
        condition = E.ge(factor, 1)
        if condition is E.TRUE or any(a.condition is condition for a in vm.trace.assumptions):
            continue
        vm.trace.assumptions.append(Assumption(condition, f"{pretty(factor)} >= 1", span, "type"))


def _bounded(vm: VM, p: Parameter, shape: Sequence[Expr], span: Span) -> None:
    """The declared tensor lies within what a contract says is there (PPL-B05)."""
    if p.pinned is None or p.pinned.shape is None:
        return
    there, wanted = E.const(1), E.const(1)
    for size in p.pinned.shape:
        if size is None:
            return
        there = there * size
    for size in shape:
        wanted = wanted * size
    vm.check(
        "ppl-tensor-storage",
        E.le(wanted, there),
        span,
        f"{pretty(wanted)} <= {pretty(there)}",
        f"the tensor declared for `{p.name}` is larger than what it points at",
        facts=("PPL-B05",),
        values=(("declared elements", wanted), ("elements there", there)),
        help=("a global tensor is not compared with the tensor that is passed",),
    )


def attribute(vm: VM, p: Parameter, attr: str) -> object:
    """``dtype`` and ``set_dtype`` of a pointer."""
    if attr in ("dtype", "type"):
        p.kind = p.kind or "tensor"
        return vm.inputs.dtype(p)
    if attr == "set_dtype":
        p.kind = p.kind or "tensor"
        return Builtin(attr, lambda *given: _retype(p, given[0] if given else None))
    return Opaque(f"`{p.name}.{attr}`")


def _retype(p: Parameter, dtype: object) -> object:
    if isinstance(dtype, DType):
        p.pointee = dtype
    return None


__all__ = ["attribute", "declared"]
