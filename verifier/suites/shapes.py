"""What functions and methods of arrays make of shapes and types, whatever the library."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Final

from verifier.hardware import dtypes as dt
from verifier.suites.counting import counted, total
from verifier.suites.given import Given, array_of, axes_of, items_of, shape_of, whole
from verifier.suites.values import Array
from verifier.symbolic.python.heap import UNBOUND, ListBox
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

#: what a function makes of its first argument, an array, and the others; None: it is not known
Operation = Callable[[Given, Array, int], "object | None"]

#: elements in one of a packed type
_PACKED: Final = 4

#: functions that are methods as well, by all names that they have; the number is the position of
#: the argument after the array (1 in a function, 0 in a method)
FUNCTIONS: Final[dict[str, Operation]] = {}
#: those that are methods alone
METHODS: Final[dict[str, Operation]] = {}


def _named(*names: str, alone: bool = False) -> Callable[[Operation], Operation]:
    def enter(operation: Operation) -> Operation:
        (METHODS if alone else FUNCTIONS).update(dict.fromkeys(names, operation))
        return operation

    return enter


def promoted(first: str | None, second: str | None) -> str | None:
    """The type of what two types meet in; None where it is not certain."""
    if first == second:
        return first
    if first is None or second is None:
        return None
    classes = {name: dt.DTYPES[name][1] for name in (first, second)}
    floats = [name for name in (first, second) if "float" in name]
    if len(floats) == 1:
        return floats[0]
    if len(floats) == 2 and set(classes.values()) <= {"float", "host"}:
        bits = {dt.BITS[name]: name for name in floats}
        return bits[max(bits)] if len(bits) == 2 else "float32"
    return None


def broadcast(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...] | None:
    """The shape of what two shapes are broadcast to; None if they do not fit."""
    out = []
    for a, b in itertools.zip_longest(reversed(first), reversed(second), fillvalue=1):
        if a != b and 1 not in (a, b):
            return None
        out.append(max(a, b) if 0 not in (a, b) else 0)
    return tuple(reversed(out))


@_named(
    "abs", "absolute", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid", "sin",
    "cos", "square", "reciprocal", "negative", "neg", "sign", "round", "rint", "floor", "ceil",
    "clip", "clamp", "tril", "triu", "sort", "flip", "roll", "copy", "clone",
    "nan_to_num", "maximum", "minimum", "softmax",
    "relu", "ascontiguousarray", "cumsum", "cumprod",
    "device_put", "from_numpy",
    "from_dlpack",
)  # fmt: skip
@_named(
    "contiguous", "detach", "cpu", "numpy", "cuda", "requires_grad_", "fill_", "normal_", "zero_",
    "uniform_", "pin_memory", "block_until_ready", "masked_fill", "masked_fill_", "byteswap",
    alone=True,
)  # fmt: skip
def _same(given: Given, array: Array, after: int) -> object:
    other = given.value(after, "min", "other", "dtype")
    if isinstance(other, Array):
        shape = broadcast(array.shape, other.shape)
        return None if shape is None else Array(shape, promoted(array.dtype, other.dtype))
    return array.alike


for _name, _dtype in (
    ("float", "float32"), ("half", "float16"), ("bfloat16", "bfloat16"), ("double", "float64"),
    ("int", "int32"), ("long", "int64"), ("bool", "bool_"), ("short", "int16"), ("char", "int8"),
    ("byte", "uint8"),
):  # fmt: skip

    def _as(given: Given, array: Array, after: int, dtype: str = _dtype) -> object:
        return Array(array.shape, dtype)

    METHODS[_name] = _as


@_named("static_cast")
def _cast(given: Given, array: Array, after: int) -> object:
    """A conversion that packs elements and takes them apart: four along the last axis."""
    dtype = given.dtype(after, None)
    if dtype is None or array.dtype is None or not array.shape:
        return None
    *sizes, last = array.shape
    packed, packs = (dt.DTYPES[name][1] == "packed" for name in (array.dtype, dtype))
    if packs and not packed:
        if last % _PACKED:
            return None
        last //= _PACKED
    elif packed and not packs:
        last *= _PACKED
    return Array((*sizes, last), dtype)


@_named("astype", "asarray", "array", "tensor", "as_tensor")
@_named("to", "type", "cast", alone=True)
def _converted(given: Given, array: Array, after: int) -> object:
    """A conversion, or a move to a device; to what is not known, it may be either."""
    for position in (after, after + 1):
        value = given.value(position, "dtype")
        if isinstance(value, Array):
            return Array(array.shape, value.dtype)
        if value is UNBOUND or value is None:
            continue
        dtype = given.dtype(position, None)
        if dtype is not None or isinstance(value, Opaque):
            return counted(given.vm, Array(array.shape, dtype))
    return array.alike


@_named("type_as", alone=True)
def _type_as(given: Given, array: Array, after: int) -> object:
    other = given.value(after, "other")
    return Array(array.shape, other.dtype) if isinstance(other, Array) else None


@_named("view", alone=True)
def _view(given: Given, array: Array, after: int) -> object:
    """A view as another type, or (torch) of another shape."""
    dtype = given.dtype(after, None)
    if given.value(after) is UNBOUND and dtype is None:
        return array.alike
    if dtype is None or whole(given.vm, given.value(after)) is not None:
        return _reshape(given, array, after)
    if array.dtype is None or not array.shape:
        return None
    bits = array.shape[-1] * dt.BITS[array.dtype]
    if bits % dt.BITS[dtype]:
        return None
    return Array((*array.shape[:-1], bits // dt.BITS[dtype]), dtype)


@_named("reshape", "resize")
def _reshape(given: Given, array: Array, after: int) -> object:
    rest = [arg.value for arg in given.call.args[after:]]
    named = given.value(-1, "shape", "newshape", "size")
    if named is not UNBOUND:
        rest = [named]
    items = items_of(given.vm, rest[0], given.span) if len(rest) == 1 else tuple(rest)
    sizes = [whole(given.vm, item) for item in (rest if items is None else items)]
    known = [size for size in sizes if size is not None]
    if len(known) != len(sizes) or known.count(-1) > 1:
        return None
    total, left = math.prod(array.shape), math.prod(size for size in known if size != -1)
    if -1 in known:
        if not left or total % left:
            return None
        known[known.index(-1)] = total // left
    return Array(tuple(known), array.dtype) if math.prod(known) == total else None


@_named("flatten", "ravel")
def _flat(given: Given, array: Array, after: int) -> object:
    if given.value(after, "start_dim") is not UNBOUND:
        return None
    return Array((math.prod(array.shape),), array.dtype)


@_named("transpose", "permute", "swapaxes", "movedim", "moveaxis")
@_named("t", alone=True)
def _transpose(given: Given, array: Array, after: int) -> object:
    rank, vm = len(array.shape), given.vm
    rest = [arg.value for arg in given.call.args[after:]]
    named = given.value(-1, "axes", "dims")
    if named is not UNBOUND:
        rest = [named]
    if not rest or rest == [None]:
        return Array(array.shape[::-1], array.dtype)
    items = items_of(vm, rest[0], given.span) if len(rest) == 1 else tuple(rest)
    axes = None if items is None else axes_of(vm, items, rank, given.span)
    if axes is None:
        return None
    if sorted(axes) == list(range(rank)) and (len(rest) == 1 or rank != 2):
        return Array(tuple(array.shape[axis] for axis in axes), array.dtype)
    if len(axes) == 2:  # two axes are exchanged
        sizes = list(array.shape)
        first, second = axes
        sizes[first], sizes[second] = sizes[second], sizes[first]
        return Array(tuple(sizes), array.dtype)
    return None


@_named("expand_dims", "unsqueeze")
def _expand(given: Given, array: Array, after: int) -> object:
    rank = len(array.shape) + 1
    axes = axes_of(given.vm, given.value(after, "axis", "dim"), rank, given.span)
    if axes is None or len(axes) != 1:
        return None
    sizes = list(array.shape)
    sizes.insert(axes[0], 1)
    return Array(tuple(sizes), array.dtype)


@_named("squeeze")
def _squeeze(given: Given, array: Array, after: int) -> object:
    value = given.value(after, "axis", "dim")
    if value is UNBOUND or value is None:
        return Array(tuple(size for size in array.shape if size != 1), array.dtype)
    axes = axes_of(given.vm, value, len(array.shape), given.span)
    if axes is None:
        return None
    sizes = [s for k, s in enumerate(array.shape) if k not in axes or s != 1]
    return Array(tuple(sizes), array.dtype)


@_named("sum")
def _summed(given: Given, array: Array, after: int) -> object:
    value = given.value(after, "axis", "dim")
    if value is UNBOUND or value is None:
        return total(given.vm, array, given.span)
    return _reduced(given, array, after)


@_named(
    "mean", "max", "min", "amax", "amin", "prod", "std", "var", "any", "all", "argmax",
    "argmin", "norm", "logsumexp",
)  # fmt: skip
def _reduced(given: Given, array: Array, after: int) -> object:
    value = given.value(after, "axis", "dim")
    keep = given.value(-1, "keepdims", "keepdim")
    if value is UNBOUND or value is None:
        return None  # a number, which is not known
    axes = axes_of(given.vm, value, len(array.shape), given.span)
    if axes is None:
        return None
    kept = keep is not UNBOUND and keep is not False
    sizes = [1 if k in axes else s for k, s in enumerate(array.shape) if kept or k not in axes]
    return Array(tuple(sizes), None)


@_named("repeat", "repeat_interleave")
def _repeat(given: Given, array: Array, after: int) -> object:
    times = given.number(after, "repeats")
    each = given.value(after, "repeats")
    if isinstance(each, Array) and len(array.shape) == 1 and array.shape == each.shape:
        count = total(given.vm, each, given.span)
        known = count is not None and count.is_const and count.const >= 0
        return Array((count.const,), array.dtype) if count is not None and known else None
    axis = given.value(after + 1, "axis", "dim")
    if times is None:
        return None
    if axis is UNBOUND or axis is None:
        return Array((math.prod(array.shape) * times,), array.dtype)
    axes = axes_of(given.vm, axis, len(array.shape), given.span)
    if axes is None or len(axes) != 1:
        return None
    sizes = list(array.shape)
    sizes[axes[0]] *= times
    return Array(tuple(sizes), array.dtype)


@_named("tile")
def _tile(given: Given, array: Array, after: int) -> object:
    times = given.shape(after, "reps", "dims")
    if times is None:
        return None
    pairs = itertools.zip_longest(reversed(array.shape), reversed(times), fillvalue=1)
    return Array(tuple(a * b for a, b in reversed(list(pairs))), array.dtype)


@_named("broadcast_to", "expand")
def _broadcast(given: Given, array: Array, after: int) -> object:
    rest = tuple(arg.value for arg in given.call.args[after:])
    value = rest[0] if len(rest) == 1 else rest or given.value(-1, "shape", "size")
    items = items_of(given.vm, value, given.span)
    sizes = [whole(given.vm, item) for item in items or ()]
    if not sizes or any(size is None for size in sizes) or len(sizes) < len(array.shape):
        return None
    old = (1,) * (len(sizes) - len(array.shape)) + array.shape
    shape = tuple(a if b in (-1, None) else b for a, b in zip(old, sizes, strict=True))
    return Array(shape, array.dtype)


@_named("pad")
def _pad(given: Given, array: Array, after: int) -> object:
    """``numpy.pad``: a pair of widths for each axis, or one for all."""
    value = given.value(after, "pad_width")
    number = whole(given.vm, value)
    pairs: list[tuple[int, ...] | None]
    if number is not None:
        pairs = [(number, number)] * len(array.shape)
    else:
        items = items_of(given.vm, value, given.span) or ()
        pairs = [shape_of(given.vm, item, given.span) for item in items]
    if len(pairs) != len(array.shape) or any(p is None or len(p) != 2 for p in pairs):
        return None
    sizes = [s + sum(p) for s, p in zip(array.shape, pairs, strict=True) if p is not None]
    return Array(tuple(sizes), array.dtype)


@_named("matmul", "dot", "mm", "bmm")
def _matmul(given: Given, array: Array, after: int) -> object:
    other = given.value(after, "other", "b", "mat2")
    return product(array, other) if isinstance(other, Array) else None


def product(first: Array, second: Array) -> Array | None:
    """``first @ second``"""
    if len(first.shape) < 2 or len(second.shape) < 2 or first.shape[-1] != second.shape[-2]:
        return None
    batch = broadcast(first.shape[:-2], second.shape[:-2])
    if batch is None:
        return None
    return Array((*batch, first.shape[-2], second.shape[-1]), promoted(first.dtype, second.dtype))


@_named("split", "chunk", "array_split")
def _split(given: Given, array: Array, after: int) -> object:
    count = given.number(after, "indices_or_sections", "chunks")
    axis = given.value(after + 1, "axis", "dim")
    axes = (0,) if axis is UNBOUND else axes_of(given.vm, axis, len(array.shape), given.span)
    if not count or axes is None or not array.shape or array.shape[axes[0]] % count:
        return None
    sizes = list(array.shape)
    sizes[axes[0]] //= count
    return listed(given.vm, [Array(tuple(sizes), array.dtype)] * count)


@_named("where")
def _where(given: Given, array: Array, after: int) -> object:
    then = array_of(given.vm, given.value(after), given.span)
    other = array_of(given.vm, given.value(after + 1), given.span)
    if then is None or other is None:
        return None
    shape = broadcast(array.shape, then.shape)
    shape = None if shape is None else broadcast(shape, other.shape)
    chosen = [one for one in (then, other) if one.shape] or [then, other]
    name = chosen[0].dtype if len({one.dtype for one in chosen}) == 1 else None
    return None if shape is None else Array(shape, name)


def joined(given: Given, arrays: Sequence[Array], *, new: bool) -> Array | None:
    """``concatenate`` of arrays along an axis, or ``stack`` along a new one."""
    value = given.value(1, "axis", "dim")
    rank = len(arrays[0].shape) + new
    axes = (0,) if value is UNBOUND else axes_of(given.vm, value, rank, given.span)
    if axes is None or len(axes) != 1 or any(len(a.shape) + new != rank for a in arrays):
        return None
    axis, name = axes[0], arrays[0].dtype
    for one in arrays[1:]:
        name = promoted(name, one.dtype)
    if new:
        if any(one.shape != arrays[0].shape for one in arrays):
            return None
        shape = arrays[0].shape
        return Array((*shape[:axis], len(arrays), *shape[axis:]), name)
    rests = {(*one.shape[:axis], *one.shape[axis + 1 :]) for one in arrays}
    if len(rests) != 1 or not rank:
        return None
    sizes = list(arrays[0].shape)
    sizes[axis] = sum(one.shape[axis] for one in arrays)
    return Array(tuple(sizes), name)


def listed(vm: VM, arrays: Sequence[Array]) -> Ref:
    """Arrays as a list."""
    return vm.heap.new(ListBox.of(list(arrays)))


__all__ = ["FUNCTIONS", "METHODS", "broadcast", "joined", "listed", "product", "promoted"]
