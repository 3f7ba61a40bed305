"""How arrays behave, and what makes them."""

from __future__ import annotations

import math
from typing import Any, Final

from verifier.hardware import dtypes as dt
from verifier.source.ir import Span
from verifier.suites import counting, creation
from verifier.suites.given import NUMBER, Given, array_of, because, whole
from verifier.suites.shapes import FUNCTIONS, METHODS, broadcast, product, promoted
from verifier.suites.values import Array, ArrayFunction, ArrayMethod, RandomSource
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python.iteration import Items, Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import Opaque, SliceValue

#: rows of an array that a loop runs through one by one
_ROWS: Final = 256


class ArrayKind(Kind[VM]):
    """An array of which the elements are not known."""

    name = "array"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "shape":
            return tuple(map(E.const, value.shape))
        if name == "dtype":
            return Opaque("a dtype") if value.dtype is None else DType.named(value.dtype)
        if name in ("ndim", "size", "nbytes", "itemsize"):
            return self._number(value, name)
        if name in ("T", "mT") and len(value.shape) == 2:
            return Array(value.shape[::-1], value.dtype)
        if name == "device":
            return Opaque("a device", harmless=True)
        return ArrayMethod(value, name)

    def _number(self, value: Array, name: str) -> object:
        size = math.prod(value.shape)
        if name == "ndim":
            return E.const(len(value.shape))
        if name == "size":
            return E.const(size)
        if value.dtype is None:
            return Opaque(f"`.{name}` of an array")
        bytes_ = dt.BITS[value.dtype] // dt.BYTE
        return E.const(bytes_ if name == "itemsize" else bytes_ * size)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        """It stays what it is as far as it is known."""

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        found = _indexed(vm, value, index if isinstance(index, tuple) else (index,))
        if found is None:
            return Opaque("a part of an array")
        if found.shape:
            counting.lose(vm, value, span, shared=True)
            return found
        known = counting.element(vm, value, index, span)
        return NUMBER if known is None else known

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        """Its elements are not known, before and after, but for what they come to."""
        counting.store(vm, value, index, new, span)

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        return value.alike

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return _combined(vm, op, left, right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return _combined(vm, op, right, left, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if right is None:
            return op == "!="
        found = _combined(vm, op, left, right, span)
        return Array(found.shape, "bool_") if isinstance(found, Array) else found

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return Opaque("whether an array holds a number")

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return vm.unknown_bool("what an array holds", span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return E.const(value.shape[0]) if value.shape else Opaque("the length of a number")

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        if not value.shape or value.shape[0] > _ROWS:
            return Unknown("the rows of an array")
        part = Array(value.shape[1:], value.dtype) if value.shape[1:] else NUMBER
        return Items((part,) * value.shape[0])


def _combined(vm: VM, op: str, array: Array, other: object, span: Span) -> object:
    """An operator between an array and another value."""
    if isinstance(other, Opaque):
        scalar = other.harmless
        return array.alike if scalar else Opaque(f"what `{op}` makes of an array")
    number = isinstance(other, Expr) and not other.is_const
    second = Array((), "int64") if number else array_of(vm, other, span)
    if second is None:
        return NotImplemented if other is None else Opaque(f"what `{op}` makes of an array")
    if op == "@":
        return product(array, second) or Opaque("a product of arrays")
    shape = broadcast(array.shape, second.shape)
    if shape is None:
        return Opaque("arrays that do not fit")
    if not second.shape and not isinstance(other, Array):
        integer = array.dtype is not None and "float" not in array.dtype
        divided = op == "/" or second.dtype == "float64"
        return Array(shape, None if integer and divided else array.dtype)
    return Array(shape, promoted(array.dtype, second.dtype))


def _indexed(vm: VM, array: Array, index: tuple[object, ...]) -> Array | None:
    """A part of an array by integers, slices, None and an ellipsis."""
    used = sum(1 for item in index if item is not None and item is not ...)
    sizes = list(array.shape)
    if used > len(sizes):
        return None
    out: list[int] = []
    for item in index:
        if item is None:
            out.append(1)
        elif item is ...:
            count = len(sizes) - used
            out += sizes[:count]
            del sizes[:count]
        else:
            size = sizes.pop(0)
            used -= 1
            if isinstance(item, SliceValue):
                kept = _sliced(vm, item, size)
                if kept is None:
                    return None
                out.append(kept)
            elif whole(vm, item) is None:
                return None
    return Array((*out, *sizes), array.dtype)


def _sliced(vm: VM, item: SliceValue, size: int) -> int | None:
    """How many of ``size`` a slice takes."""
    ends: list[int | None] = []
    for part in (item.start, item.stop, item.step):
        ends.append(None if part is None else whole(vm, part))
        if part is not None and ends[-1] is None:
            return None
    return None if ends[2] == 0 else len(range(*slice(*ends).indices(size)))


class ArrayMethodKind(Kind[VM]):
    """A method of an array."""

    name = "method"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return Opaque(f"`.{name}` of `.{value.name}` of an array")

    def call(self, vm: VM, value: Any, call: Call) -> object:
        array: Array = value.array
        given = Given(vm, call)
        if value.name == "size":  # torch
            axis = given.number(0, "dim")
            sizes = tuple(map(E.const, array.shape))
            return sizes if axis is None else sizes[axis]
        if value.name in ("numel", "nelement"):
            return E.const(math.prod(array.shape))
        if value.name == "dim":
            return E.const(len(array.shape))
        if value.name in ("item", "tolist"):
            return NUMBER
        if value.name.startswith("new_"):
            made = creation.made(vm, ArrayFunction("torch", value.name[4:]), call)
            if isinstance(made, Array):
                return Array(made.shape, given.dtype(-1, array.dtype))
        if value.name not in counting.READING:
            counting.lose(vm, array, call.span, shared=True)
        operation = METHODS.get(value.name) or FUNCTIONS.get(value.name)
        found = None if operation is None else operation(given, array, 0)
        if found is None and value.name in _NUMBERS and not call.args:
            return NUMBER
        said = f"what `.{value.name}()` makes of an array"
        return Opaque(because(vm, call) or said) if found is None else found


#: methods and functions that give a number where no axis is said
_NUMBERS: Final = frozenset({"sum", "mean", "max", "min", "amax", "amin", "prod", "std", "var"})


class ArrayFunctionKind(Kind[VM]):
    """A function of an array library."""

    name = "function"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"`{value.library}.{value.name}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return value.name if name == "__name__" else Opaque(f"`.{name}` of `{value.name}`")

    def call(self, vm: VM, value: Any, call: Call) -> object:
        model = vm.language.modules.get(value.library, {}).get(value.name)
        first = call.args[0].value if call.args else None
        if model is not None and not isinstance(first, Array):
            return vm.invoke(model, call)
        if value.name not in counting.READING:
            for arg in (*call.args, *call.keywords.values()):
                counting.lose(vm, arg.value, call.span, shared=True)
        found = creation.made(vm, value, call)
        if found is None and value.name in _NUMBERS and len(call.args) == 1:
            return NUMBER
        said = f"the result of `{call.text or value.name}`"
        return Opaque(because(vm, call) or said) if found is None else found


class RandomKind(Kind[VM]):
    """What numbers are drawn from."""

    name = "random source"
    pure = True

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = creation.function_of(f"numpy.random.{name}")
        return Opaque(f"`.{name}` of a random source") if found is None else found

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(object)


KINDS: Final[dict[type, Kind[VM]]] = {
    Array: ArrayKind(),
    ArrayMethod: ArrayMethodKind(),
    ArrayFunction: ArrayFunctionKind(),
    RandomSource: RandomKind(),
}

__all__ = ["KINDS"]
