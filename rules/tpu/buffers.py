"""Transfers as parts of the buffers in system memory that they read and write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd
from typing import Final

from msgspec import Struct

from rules.memory import counted
from rules.memory.counted import Grid, Writing, number
from rules.memory.samples import missed_by
from rules.tpu import kit
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import AXES, SystemTensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Axis, Loop, Storage, View
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.views.common import product

_UNFIT: Final = "it is not written in rows of the shape that the contract declares"


class Frame(Struct, frozen=True):
    """A buffer as rows of rows of so many units, outermost first; ``unit``: bytes."""

    shape: tuple[Expr, ...]
    unit: Expr

    @property
    def steps(self) -> list[Expr]:
        """The units from one to the next along each dimension."""
        steps: list[Expr] = []
        step = E.const(1)
        for extent in reversed(self.shape):
            steps.append(step)
            step = step * extent
        return steps[::-1]


def frames(storage: Storage, moved: Sequence[tuple[Operation, SystemTensor]]) -> Iterator[Frame]:
    """The ways to see a buffer: in the rows that are declared, in rows that tensors of it go along,
    and as one row."""
    unit = _unit(storage.dtype.itemsize, [tensor for _, tensor in moved])
    ratio = kit.quotient(storage.dtype.itemsize, unit)
    shape = storage.shape if ratio is None else (*storage.shape[:-1], storage.shape[-1] * ratio)
    told = {shape}
    yield Frame(shape, unit)
    each = [_strides(tensor, op.loops, unit) for op, tensor in moved]
    total = product(shape)
    together = [stride for strides in each for stride in strides]
    for strides in (together, *each, []):
        found = _in_rows(strides, total)
        if found is not None and found not in told:
            told.add(found)
            yield Frame(found, unit)


def _unit(size: Expr, tensors: Sequence[SystemTensor]) -> Expr:
    """The bytes of which elements of a buffer and of tensors in it consist, and which their
    addresses count."""
    for tensor in tensors:
        for length in (tensor.dtype.itemsize, tensor.address.offset):
            if size.is_const and E.mod(length, size) is not E.const(0):
                size = E.const(gcd(size.const, length.const, *(coef for _, coef in length.terms)))
    return size


def _strides(tensor: SystemTensor, loops: Sequence[Loop], unit: Expr) -> list[Expr]:
    """The units from one run of a tensor to the next, in all iterations; what goes on without a gap
    is one run."""
    ratio = kit.quotient(tensor.dtype.itemsize, unit)
    if ratio is None:
        return []
    runs = [
        (ratio * stride, count) for stride, count in zip(tensor.strides, tensor.shape, strict=True)
    ]
    runs.append((E.const(1), ratio))
    offset = tensor.address.offset
    for loop in loops:
        step = E.Substitution({loop.symbol: loop.index + 1}).expr(offset) - offset
        if loop.symbol not in step.free() and (units := kit.quotient(step, unit)) is not None:
            runs.append((units, loop.trips))
    runs = [run for run in runs if E.const(0) is not run[0] and run[1] is not E.const(1)]
    joined = True
    while joined:
        pairs = ((a, b) for a in runs for b in runs if a[0] is b[0] * b[1])
        joined = (pair := next(pairs, None)) is not None
        if pair is not None:
            outer, inner = pair
            runs.remove(outer)
            runs[runs.index(inner)] = inner[0], outer[1] * inner[1]
    return [stride for stride, _ in runs]


def _in_rows(strides: Sequence[Expr], total: Expr) -> tuple[Expr, ...] | None:
    """The extents of rows that begin every so many units; None: not each goes into the next."""
    shape: list[Expr] = []
    for stride in sorted(dict.fromkeys((*strides, E.const(1))), key=kit.length, reverse=True):
        extent = kit.quotient(total, stride)
        if extent is None:
            return None
        shape.append(extent)
        total = stride
    return tuple(shape)


class Placed(Struct, frozen=True):
    """A transfer's tensor as a part of its buffer, of which it is a part if ``fits`` holds.

    ``exact``: it does, as far as folding tells.
    """

    view: View
    fits: Bool
    exact: bool


def placed(
    storage: Storage, frame: Frame, tensor: SystemTensor, known: Known, loops: Sequence[Loop]
) -> Placed:
    """The part of a buffer that a transfer's tensor is.

    Each axis of the tensor goes along the dimension of the buffer whose stride it has, and the
    offset is taken apart in the same way. That is right where each coordinate stays in the rows of
    its dimension; where it is not clear that it does, what is said to be covered is right under
    that condition, and what is not may be covered nevertheless.
    """
    steps = frame.steps
    coords: list[Expr] = []
    rest = E.floordiv(tensor.address.offset, frame.unit)
    for step in steps:
        taken, rest = kit.divided(rest, step)
        coords.append(taken)
    if rest is not E.const(0):
        coords[-1] = coords[-1] + rest
    folding = _Folding(known, tuple(loops))
    _carried(coords, frame.shape, folding)
    reach = [E.const(1) for _ in frame.shape]
    firsts = tuple(coords)
    axes: list[Axis] = []
    facts: list[Bool] = []
    ratio = kit.quotient(tensor.dtype.itemsize, frame.unit)
    for name, count, stride in _axes(tensor, E.const(1) if ratio is None else ratio):
        if count is E.const(1):
            continue
        symbol = E.fresh(name, 0, None, E.Origin.AXIS).as_atom()
        assert isinstance(symbol, E.Sym)
        axes.append(Axis(symbol, count))
        dimension, factor = _along(stride, steps)
        coords[dimension] = coords[dimension] + E.from_atom(symbol) * factor
        reach[dimension] = reach[dimension] + (count - 1) * factor
        facts.append(E.ge(factor, 0))
    for extent, first, length in list(zip(frame.shape, firsts, reach, strict=True))[1:]:
        facts += (E.ge(first, 0), E.le(first + length, extent))
    whole = E.mod(tensor.address.offset, frame.unit) is E.const(0) and ratio is not None
    left = tuple(fact for fact in facts if not folding.holds(fact))
    view = View(
        storage=storage,
        instance=(),
        frame=frame.shape,
        frame_partition=None,
        axes=tuple(axes),
        coords=tuple(coords),
        dtype=storage.dtype,
        exact=whole,
        reason="" if whole and not left else _UNFIT,
    )
    return Placed(view, E.and_(*left), whole and not left)


def _axes(tensor: SystemTensor, ratio: Expr) -> Iterator[tuple[str, Expr, Expr]]:
    """Name, extent and stride of each axis, in units of which an element has so many."""
    strides = (stride * ratio for stride in tensor.strides)
    yield from zip(AXES, tensor.shape, strides, strict=True)
    yield "part", ratio, E.const(1)


def element(storage: Storage, frame: Frame, point: Sequence[Expr]) -> View:
    """One unit of a buffer."""
    return View(
        storage=storage,
        instance=(),
        frame=frame.shape,
        frame_partition=None,
        axes=(),
        coords=tuple(point),
        dtype=storage.dtype,
    )


def indices(storage: Storage, frame: Frame, point: Sequence[Expr]) -> tuple[Expr, ...]:
    """The indices of the element of a buffer that a unit of it belongs to."""
    ratio = kit.quotient(storage.dtype.itemsize, frame.unit)
    if frame.shape == storage.shape or ratio is None:
        return tuple(point)
    at = E.const(0)
    for place, step in zip(point, frame.steps, strict=True):
        at = at + place * step
    at = E.floordiv(at, ratio)
    found: list[Expr] = []
    for extent in reversed(storage.shape[1:]):
        found.append(E.mod(at, extent))
        at = E.floordiv(at, extent)
    return at, *reversed(found)


class _Folding(Struct, frozen=True):
    """What folds, also where indices of loops are put at their ends: such facts hold for sure."""

    known: Known
    loops: tuple[Loop, ...]

    def holds(self, fact: Bool) -> bool:
        if self.known.decide(fact) is True:
            return True
        if fact.kind is not E.BoolKind.LE or fact.expr is None:
            return False
        stricter = E.le(fact.expr + 1, 0)  # `if n > 0` is held as it stands
        return self.known.decide(stricter) is True or self._at_most(fact.expr, 4)

    def _at_most(self, value: Expr, depth: int) -> bool:
        """Whether ``value <= 0`` folds; a minimum is at most each of its parts, ``depth`` deep."""
        value = self._furthest(value)
        if self.known.decide(E.le(value, 0)) is True:
            return True
        for atom in value.atoms() if depth else ():
            if isinstance(atom, E.Extremum) and atom.kind == "min":
                factor = value.coefficient(atom)
                rest = value - E.from_atom(atom) * factor
                if factor > 0 and any(
                    self._at_most(rest + part * factor, depth - 1) for part in atom.args
                ):
                    return True
        return False

    def _furthest(self, value: Expr) -> Expr:
        """The value with each index of a loop, innermost first, where it is largest."""
        for loop in reversed(self.loops):
            at = loop.symbol
            zero = E.Substitution({at: E.const(0)}).expr(value)
            slope = E.Substitution({at: E.const(1)}).expr(value) - zero
            if at in value.free() and value is zero + slope * loop.index:
                if self.known.decide(E.ge(slope, 0)) is True:
                    value = zero + slope * (loop.trips - 1)
                elif self.known.decide(E.le(slope, 0)) is True:
                    value = zero
        return value


def _carried(coords: list[Expr], shape: Sequence[Expr], folding: _Folding) -> None:
    """Coordinates that lie a row before or behind their dimension are of the row beside it."""
    for dimension in range(len(coords) - 1, 0, -1):
        extent, at = shape[dimension], coords[dimension]
        for turn in (1, -1):
            other = at + turn * extent
            inside = E.ge(other, 0), E.lt(other, extent)
            stays = folding.holds(E.ge(at, 0)) and folding.holds(E.lt(at, extent))
            if not stays and all(folding.holds(fact) for fact in inside):
                coords[dimension] = other
                coords[dimension - 1] = coords[dimension - 1] - turn
                break


def _along(stride: Expr, steps: list[Expr]) -> tuple[int, Expr]:
    """The outermost dimension whose stride divides a stride, and the quotient."""
    for dimension, step in enumerate(steps):
        quotient = kit.quotient(stride, step)
        if quotient is not None and quotient is not E.const(0):
            return dimension, quotient
    return len(steps) - 1, stride


# ----------------------------------------------------------------------------- on numbers


def first_missing(
    storage: Storage,
    writes: Sequence[tuple[Operation, SystemTensor]],
    path: Sequence[Bool],
) -> tuple[int, ...] | None:
    """The first element of a buffer that none of the writes has, where all sizes are numbers.

    Empty: all are written; None: it cannot be told so. ``path``: what holds at the end.
    """
    extents = [extent.const for extent in storage.shape if extent.is_const]
    size = storage.dtype.itemsize
    if len(extents) < len(storage.shape) or not size.is_const:
        return None
    total = size.const
    for extent in extents:
        total *= extent
    at = counted.first_missing(total, _writings(writes, path))
    if at is None or at == total:
        return None if at is None else ()
    at //= size.const
    coords: list[int] = []
    for extent in reversed(extents):
        at, coord = divmod(at, extent)
        coords.append(coord)
    return tuple(reversed(coords))


def _writings(
    writes: Sequence[tuple[Operation, SystemTensor]], path: Sequence[Bool]
) -> Iterator[Writing]:
    for op, tensor in writes:
        facts = tuple(fact for fact in op.path if fact not in path)
        yield Writing(op.loops, facts, _bytes(tensor))


def missed(
    trace: Trace,
    storage: Storage,
    writes: Sequence[tuple[Operation, SystemTensor]],
    path: Sequence[Bool],
) -> Bool:
    """That the input is not a certain one, for which a count of bytes shows that some are not
    written; TRUE: none is found."""
    named: dict[E.Sym, None] = {}
    for op, tensor in writes:
        own = {loop.symbol for loop in op.loops}
        terms: list[Expr | Bool] = [tensor.address.offset, *tensor.shape, *tensor.strides, *op.path]
        terms += [loop.trips for loop in op.loops]
        named.update(
            (symbol, None) for term in terms for symbol in term.free() if symbol not in own
        )
    every = list(_writings(writes, path))
    return missed_by(trace, (*storage.shape, storage.dtype.itemsize), every, named, path)


def _bytes(tensor: SystemTensor) -> Callable[[E.Substitution], Grid]:
    """The bytes of a tensor."""

    def grid(put: E.Substitution) -> Grid:
        there = tensor.at(put)
        size = number(there.dtype.itemsize)
        pairs = zip(there.shape, there.strides, strict=True)
        steps = tuple((number(count), number(stride) * size) for count, stride in pairs)
        return Grid(number(there.address.offset), steps, size)

    return grid


__all__ = ["Frame", "Placed", "element", "first_missing", "frames", "indices", "missed", "placed"]
