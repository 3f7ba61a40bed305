"""Tensors, parts of them, and what kernels index them with.

What an operator, an attribute or a method of a tensor means is the dialect's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import absent
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.iteration import Items, Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.external import OpaqueKind
from verifier.symbolic.python.model import TensorMethod
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import StorageKind, View
from verifier.symbolic.values import (
    DeviceData,
    DynamicSlice,
    Guarded,
    HostUse,
    IndexGrid,
    IndexMask,
    IndexTensor,
    Missing,
    OnDevice,
    Opaque,
    ParDim,
    PendingAdd,
    RankGroups,
    Register,
    SliceValue,
    places,
)
from verifier.symbolic.views import (
    grid_part,
    index_binop,
    index_subscript,
    mask_binop,
    redeclared,
)

#: values that no tensor equals, whatever the dialect says of `==`
_OTHER: Final = (str, bytes, tuple)


def _depends(item: object) -> tuple[Guarded, Callable[[object], object]] | None:
    """What of an index depends on the path, and the index with a value of it."""
    if isinstance(item, Guarded):
        return item, lambda value: value
    if not isinstance(item, SliceValue):
        return None
    start, stop, step = item.start, item.stop, item.step
    if isinstance(start, Guarded) and _may_be_left_out(start):
        return start, lambda value: SliceValue(value, stop, step)
    if isinstance(stop, Guarded) and _may_be_left_out(stop):
        return stop, lambda value: SliceValue(start, value, step)
    if isinstance(step, Guarded) and _may_be_left_out(step):
        return step, lambda value: SliceValue(start, stop, value)
    return None


def _may_be_left_out(end: Guarded) -> bool:
    """Whether it is None on some paths: numbers of several paths are one number."""
    return any(case is None for _, case in end.cases)


class TensorKind(Kind[VM]):
    """A tile or tensor."""

    name = "tensor"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return "a tensor"

    # -- attributes and items ----------------------------------------------------------

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        view = self._view(vm, value, span)
        if (
            vm.catching and vm.awaited is None and not name.startswith("_")
        ):  # who asks whether it is there is told
            there = vm.dialect.view_names(vm)
            if there is not None and name not in there:
                return UNBOUND
        found = vm.dialect.view_attribute(vm, view, name, span)
        if found is not None:
            return found
        known = None if name.startswith("_") else vm.dialect.view_names()
        return UNBOUND if known is not None and name not in known else TensorMethod(view, name)

    def no_attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if vm.awaited is not None:  # on the way to the kernel it is an array of a framework
            return vm.unfollowed(f"`.{name}` of an array outside of kernels is not followed", span)
        known = vm.dialect.view_names() or frozenset()
        text = f"{self.describe(vm, value)} has no attribute `{name}`"
        return vm.absent(AttributeError, text, span, name, known)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return self._part(vm, self._view(vm, value, span, index), index, span)

    def _part(self, vm: VM, view: View, index: object, span: Span) -> object:
        """``view[index]``; each item, and each end of a slice, may depend on the path."""
        items = index if isinstance(index, tuple) else (index,)
        found = next(((k, end) for k, item in enumerate(items) if (end := _depends(item))), None)
        if found is not None:
            at, (given, put) = found
            return vm.each(
                given, lambda x: self._part(vm, view, (*items[:at], put(x), *items[at + 1 :]), span)
            )
        if absent.depends(index):
            return Missing(f"a part of `{view.name}`", api=True, part_of=view)
        return vm.dialect.subscript(vm, view, index, span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        if new is UNBOUND:
            vm.unfollowed("`del` of a part of a tensor is not followed", span)
            return
        region = self._part(vm, self._view(vm, value, span, index), index, span)
        vm.each(region, lambda part: self._store(vm, part, new, None, span))

    def _store(self, vm: VM, part: object, new: object, op: str | None, span: Span) -> None:
        if isinstance(part, Missing):
            absent.writes(vm, Call((Arg(part, span),), {}, span, "="))
            return
        if not isinstance(part, View):
            vm.unfollowed("an assignment to a part of a tensor that is not followed", span)
            return
        vm.each(new, lambda item: vm.dialect.store(vm, part, item, op, span, span))

    # -- operators -----------------------------------------------------------------------

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        found = vm.dialect.operator(vm, op, self._view(vm, value, span), None, span)
        return self._known(vm, op, found, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._operator(vm, op, self._view(vm, left, span), self._other(vm, right), span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return self._operator(vm, op, self._other(vm, left), self._view(vm, right, span), span)

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        view = self._view(vm, left, span)
        made = vm.dialect.inplace(vm, op, view, right, span)
        return view if made is None else made

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op in ("==", "!="):
            if right is None or isinstance(right, _OTHER):
                return op == "!="
        return self._operator(vm, op, self._view(vm, left, span), self._other(vm, right), span)

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        if not isinstance(value, View) or not isinstance(other, View):
            return None
        inputs = value.storage.kind is StorageKind.INPUT and other.storage.kind is StorageKind.INPUT
        if value is other or (value.storage is not other.storage and not inputs):
            return E.truth(value is other)
        return vm.unknown_bool("whether two views are one object is not followed", span)

    def _operator(self, vm: VM, op: str, left: object, right: object, span: Span) -> object:
        for side in (left, right):
            if side is None:
                return NotImplemented
            if isinstance(side, Opaque) and not side.harmless:
                return side
        return self._known(vm, op, vm.dialect.operator(vm, op, left, right, span), span)

    def _known(self, vm: VM, op: str, found: object, span: Span) -> object:
        if found is None:
            return vm.unfollowed(f"`{op}` on a tensor is not followed", span)
        return found

    def _other(self, vm: VM, value: object) -> object:
        """The other operand as dialects take it."""
        return value.view if isinstance(value, PendingAdd) else value

    # -- protocols -----------------------------------------------------------------------

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return self._of_tensor(vm, span, False)

    def presence(self, vm: VM, value: Any, span: Span) -> Bool:
        return self._of_tensor(vm, span, True)

    def _of_tensor(self, vm: VM, span: Span, optional: bool) -> Bool:
        if vm.dialect.tensor_truth(vm, span, optional=optional):
            return E.TRUE
        return vm.unknown_bool("a condition depends on a tensor", span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        view = self._view(vm, value, span)
        if not view.axes:
            vm.fault(TypeError, "a tensor of rank 0 has no len()", span)
        return view.shape[0]

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Unknown("a tensor")

    def as_view(self, vm: VM, value: Any, span: Span) -> View | None:
        return self._view(vm, value, span)

    def declared(self, vm: VM, value: Any, shape: Sequence[Expr], span: Span) -> View | None:
        return redeclared(vm, value, shape, span) if isinstance(value, View) else None

    def _view(self, vm: VM, value: Any, span: Span, index: object = None) -> View:
        """The tensor that the value is; ``index`` is about to be taken of it."""
        assert isinstance(value, View)
        return value


class PendingKind(TensorKind):
    """The result of a matrix multiplication that is added to a tile when it is assigned."""

    def _view(self, vm: VM, value: Any, span: Span, index: object = None) -> View:
        assert isinstance(value, PendingAdd)
        return value.view


class MethodKind(Kind[VM]):
    """A method of a tensor."""

    name = "method"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"the method `{value.name}` of a tensor"

    def call(self, vm: VM, value: Any, call: Call) -> object:
        result = vm.dialect.view_method(vm, value.view, value.name, call)
        if result is None:
            vm.unmodelled(f"tensor.{value.name}", call.span)
            return Opaque(f"`.{value.name}()` of a tensor")
        return result


# ------------------------------------------------------------------------ indices


class IndexKind(Kind[VM]):
    """An index array of Beta 1."""

    name = "index tensor"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return "an index tensor"

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        items = index if isinstance(index, tuple) else ()
        at = next((k for k, x in enumerate(items) if isinstance(x, Guarded)), None)
        if at is not None:
            return vm.each(
                items[at],
                lambda x: self.item(vm, value, (*items[:at], x, *items[at + 1 :]), span),
            )
        found = index_subscript(vm, value, index, span)
        if found is None:
            return vm.unfollowed("what an index tensor is indexed with is not followed", span)
        return found

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        if op == "-":
            return self._operator(vm, "*", value, E.const(-1), span)
        if op == "+":
            return value
        return vm.unfollowed(f"`{op}` on an index tensor is not followed", span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._operator(vm, op, left, right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return self._operator(vm, op, left, right, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op in ("==", "!=") and (right is None or isinstance(right, _OTHER)):
            return op == "!="
        return self._operator(vm, op, left, right, span)

    def _operator(self, vm: VM, op: str, left: object, right: object, span: Span) -> object:
        for side in (left, right):
            if isinstance(side, (View, PendingAdd)):
                return NotImplemented
            if isinstance(side, float):
                return Opaque(f"`{op}` on an index tensor and a float")
        # the array keeps its axes whatever number takes part
        left, right = (
            vm.unknown_int(f"an index depends on {side.reason}", span)
            if isinstance(side, Opaque)
            else side
            for side in (left, right)
        )
        found: object
        if isinstance(left, IndexMask) or isinstance(right, IndexMask):
            found = mask_binop(vm, op, left, right, span)
        else:
            found = index_binop(vm, op, left, right, span)
        if found is None:
            return vm.unfollowed(f"`{op}` on an index tensor is not followed", span)
        return found

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        what = self.describe(vm, value)
        vm.check(
            "index-read-only",
            E.FALSE,
            span,
            f"{what} is not assigned to",
            f"{what} does not support assignment to its items",
            facts=("NKI-X65", "NKI-E08"),
            help=("make a tile of it with `nisa.iota`, and assign to that",),
        )

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        what = self.describe(vm, value)
        vm.dialect.on_device(vm, HostUse.CONDITION, DeviceData.ARRAY, what, span)
        return vm.unknown_bool(f"a condition depends on {what}", span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Unknown("an index tensor")

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        if isinstance(value, IndexTensor) and not value.axes:
            return value.expr
        return None


class MaskKind(IndexKind):
    """A condition on index arrays."""

    name = "mask"

    def describe(self, vm: VM, value: Any) -> str:
        return "a mask"

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return vm.unfollowed("an item of a mask is not followed", span)

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        if op == "~":
            return replace(value, condition=E.not_(value.condition))
        return vm.unfollowed(f"`{op}` on a mask is not followed", span)


class GridKind(Kind[VM]):
    """``nl.mgrid[...]``: an index array for each axis."""

    name = "index grid"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return "an index grid"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        part = grid_part(value, name)
        if part is not None:
            return part
        return vm.unfollowed(f"`.{name}` of an index grid is not followed", span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        number = vm.as_int(index, span)
        if number is not None and number.is_const and 0 <= number.const < len(value.parts):
            return value.parts[number.const]
        return vm.unfollowed("an item of an index grid is not followed", span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return E.const(len(value.parts))

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Items(value.parts)

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        parts: tuple[object, ...] = value.parts
        return parts


class MarkKind(Kind[VM]):
    """A piece of an index or a shape: ``nl.ds(start, size)``, ``nl.par_dim(n)``."""

    pure = True

    def __init__(self, text: str) -> None:
        self.name = text

    def describe(self, vm: VM, value: Any) -> str:
        return self.name

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        return value.size if isinstance(value, ParDim) else None


class RegisterKind(Kind[VM]):
    """A scalar that only the device knows: arithmetic on it is no number here either."""

    name = "register"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"the register `{value.name}`"

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        vm.of_device(HostUse.ARITHMETIC, value, span)
        return self._computed(vm, value)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        vm.of_device(HostUse.ARITHMETIC, left, span)
        return self._computed(vm, left, right)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        vm.of_device(HostUse.ARITHMETIC, right, span)
        return self._computed(vm, right, left)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):  # any two objects are equal or not
            vm.of_device(HostUse.ARITHMETIC, left, span)
        return self._computed(vm, left, right)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        what = self.describe(vm, value)
        vm.dialect.on_device(vm, HostUse.CONDITION, DeviceData.REGISTER, what, span)
        return vm.unknown_bool(f"a condition depends on {what}", span)

    def _computed(self, vm: VM, value: Any, *others: object) -> Opaque:
        of = self.describe(vm, value)
        text = f"a value of {of}, which only the device knows"
        return OnDevice(text, of=of, held=places(value, *others))


class OnDeviceKind(OpaqueKind):
    """What is computed with a register: no number for the host."""

    name = "register"

    def describe(self, vm: VM, value: Any) -> str:
        return f"a value of {value.of}"

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        what = self.describe(vm, value)
        vm.dialect.on_device(vm, HostUse.CONDITION, DeviceData.COMPUTED, what, span)
        return super().truth(vm, value, span)


KINDS: Final[dict[type, Kind[VM]]] = {
    View: TensorKind(),
    PendingAdd: PendingKind(),
    TensorMethod: MethodKind(),
    IndexTensor: IndexKind(),
    IndexMask: MaskKind(),
    IndexGrid: GridKind(),
    DynamicSlice: MarkKind("a dynamic slice"),
    ParDim: MarkKind("a partition dimension"),
    Register: RegisterKind(),
    OnDevice: OnDeviceKind(),
    RankGroups: OpaqueKind(),
}

__all__ = ["KINDS", "IndexKind", "TensorKind"]
