"""Pointers to global memory: inputs that become tensors when a shape is declared for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import Expr
from verifier.symbolic.pretty import operand
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.kinds.inputs import ParameterKind
from verifier.symbolic.python.model import Builtin
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.trace import Assumption, AssumptionKind
from verifier.symbolic.values import Opaque


def first(p: Parameter) -> View | None:
    """The tensor that a pointer was declared to be first."""
    return next(iter(p.views.values()), None)


def _positive(vm: VM, size: Expr, span: Span) -> None:
    """A tensor has elements: a size that is the same on all cores is at least one."""
    if any(symbol.origin not in E.GIVEN for symbol in size.free()):
        return
    factors = [size]
    if len(size.terms) == 1 and not size.const and size.terms[0][1] == 1:
        factors = [E.from_atom(atom) for atom in size.terms[0][0]]
    assumptions = vm.trace.assumptions
    for factor in factors:
        condition = E.ge(factor, 1)
        if condition is E.TRUE or any(a.condition is condition for a in assumptions):
            continue
        assumptions.append(
            Assumption(condition, f"{operand(factor)} >= 1", span, AssumptionKind.TYPE)
        )


def _bounded(vm: VM, p: Parameter, shape: Sequence[Expr], span: Span) -> None:
    """The declared tensor lies within what a contract says is there (PPL-B05)."""
    if p.declared_shape is None:
        return
    there, wanted = E.const(1), E.const(1)
    for size in p.declared_shape:
        if size is None:
            return
        there = there * size
    for size in shape:
        wanted = wanted * size
    vm.check(
        "ppl-tensor-storage",
        E.le(wanted, there),
        span,
        f"{operand(wanted)} <= {operand(there)}",
        f"the tensor declared for `{p.name}` is larger than what it points at",
        facts=("PPL-B05",),
        values=(("declared elements", wanted), ("elements there", there)),
        help=("a global tensor is not compared with the tensor that is passed",),
    )


class PointerKind(ParameterKind):
    """An input of a kernel: a pointer, a number or a flag."""

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        p: Parameter = value
        if name in ("dtype", "type"):
            p.kind = p.kind or InputKind.TENSOR
            return vm.inputs.dtype(p)
        if name == "set_dtype":
            p.kind = p.kind or InputKind.TENSOR
            return Builtin.of(name, lambda vm, span, dtype, /: _retype(p, dtype))
        if name == "value" and p.constant:
            return p
        return Opaque(f"`{p.name}.{name}`")

    def declared(self, vm: VM, value: Any, shape: Sequence[Expr], span: Span) -> View | None:
        """The tensor of that shape at which a pointer points; None if the value is no pointer.

        The first declaration gives the tensor its shape; what a later one says differently counts
        elements row-major from the same start. A pointer points at something: sizes that are
        inputs are positive. A contract's shape is a limit (rule ``ppl-tensor-storage``).
        """
        p: Parameter = value
        if p.kind not in (None, InputKind.TENSOR):
            return None
        whole = first(p)
        for size in shape if whole is None or tuple(shape) == whole.shape else ():
            _positive(vm, size, span)
        if whole is None:
            p.kind, p.rank = InputKind.TENSOR, len(shape)
            whole = p.views[len(shape)] = vm.inputs.declare(p, tuple(shape))
        _bounded(vm, p, shape, span)
        if tuple(shape) == whole.shape:
            return whole
        return views.redeclared(vm, whole, shape, span)

    def _view(self, vm: VM, value: Any, span: Span, index: object = None) -> View:
        return first(value) or super()._view(vm, value, span, index)


def _retype(p: Parameter, dtype: object) -> None:
    if isinstance(dtype, DType):
        p.pointee = dtype


__all__ = ["PointerKind", "first"]
