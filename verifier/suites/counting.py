"""What is known of the integers in an array whose elements are not: how many they are together.

``counts[k] += n - counts.sum()`` leaves an array that has ``n`` in all, whatever was drawn, so that
``x.repeat(counts)`` has ``n`` elements. What is known stands in a box of the heap, under
:data:`_SUM` and by place; it is asked for by arrays whose sum has been taken alone.
"""

from __future__ import annotations

from typing import Final

from verifier.source.ir import Span
from verifier.suites.given import whole
from verifier.suites.values import Array
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.heap import DictBox
from verifier.symbolic.python.vm import VM

_SUM: Final = "sum"
#: what an array holds that another one may be a part of: its elements may change unseen
_SHARED: Final = "shared"
_UNKNOWN: Final = "what an array holds"
#: methods and functions that neither change an array nor give a part of it
READING: Final = frozenset(
    {
        "sum",
        "cumsum",
        "repeat",
        "astype",
        "copy",
        "max",
        "min",
        "mean",
        "any",
        "all",
        "item",
        "where",
    }
)


def counted(vm: VM, array: Array) -> Array:
    """A new array; if it holds integers in a row, with a place for what is known of them."""
    integers = array.dtype is not None and array.dtype.startswith(("int", "uint"))
    if len(array.shape) != 1 or not integers:
        return array
    return Array(array.shape, array.dtype, vm.heap.new(DictBox()))


def total(vm: VM, array: Array, span: Span) -> Expr | None:
    """The sum of an array; None: there is no place for it."""
    held = _held(vm, array)
    if held is None or _SHARED in held:
        return None
    return _kept(vm, array, held, _SUM, span)


def element(vm: VM, array: Array, index: object, span: Span) -> Expr | None:
    """An element of an array whose sum has been asked for; None: of another one."""
    held, place = _held(vm, array), _place(vm, array, index)
    if held is None or place is None or _SUM not in held:
        return None
    return _kept(vm, array, held, place, span)


def store(vm: VM, array: Array, index: object, new: object, span: Span) -> None:
    """An element becomes another one."""
    held, place = _held(vm, array), _place(vm, array, index)
    if held is None or _SUM not in held:
        return
    if place is None or not isinstance(new, Expr):
        lose(vm, array, span)
        return
    rest = _kept(vm, array, held, _SUM, span) - _kept(vm, array, held, place, span)
    _written(vm, array, span).update({_SUM: rest + new, place: new})


def lose(vm: VM, value: object, span: Span, *, shared: bool = False) -> None:
    """The elements may have become others; ``shared``: at any time from now on."""
    held = _held(vm, value)
    if not isinstance(value, Array) or held is None or not (held or shared):
        return
    shared = shared or _SHARED in held
    items = _written(vm, value, span)
    items.clear()
    if shared:
        items[_SHARED] = True


def _held(vm: VM, value: object) -> dict[object, object] | None:
    if not isinstance(value, Array) or value.counts is None:
        return None
    box = vm.heap.find(value.counts.id)
    return box.items if isinstance(box, DictBox) else None


def _written(vm: VM, array: Array, span: Span) -> dict[object, object]:
    assert array.counts is not None
    box = vm.write(array.counts, span)
    assert isinstance(box, DictBox)
    return box.items


def _kept(vm: VM, array: Array, held: dict[object, object], key: object, span: Span) -> Expr:
    """What stands under a key; if nothing does that is one value, a name for it."""
    found = held.get(key)
    if isinstance(found, Expr):
        return found
    found = vm.unknown_int(_UNKNOWN, span)
    _written(vm, array, span)[key] = found
    return found


def _place(vm: VM, array: Array, index: object) -> int | None:
    place, size = whole(vm, index), array.shape[0] if array.shape else 0
    if place is None or not -size <= place < size:
        return None
    return place % size


__all__ = ["READING", "counted", "element", "lose", "store", "total"]
