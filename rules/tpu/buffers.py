"""Transfers as parts of the buffers in system memory that they read and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from rules.memory import counted
from rules.memory.counted import Grid, Writing, number
from rules.tpu import kit
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemTensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Axis, Loop, Storage, View
from verifier.symbolic.trace import Operation

_UNFIT: Final = "it is not written in rows of the shape that the contract declares"


class Placed(Struct, frozen=True):
    """A transfer's tensor as a part of its buffer, of which it is a part if ``fits`` holds.

    ``exact``: it does, as far as folding tells.
    """

    view: View
    fits: Bool
    exact: bool


def placed(storage: Storage, tensor: SystemTensor, known: Known, loops: Sequence[Loop]) -> Placed:
    """The part of a buffer that a transfer's tensor is.

    Each axis of the tensor goes along the dimension of the buffer whose stride it has, and the
    offset is taken apart in the same way. That is right where each coordinate stays in the rows of
    its dimension; where it is not clear that it does, what is said to be covered is right under
    that condition, and what is not may be covered nevertheless.
    """
    size = storage.dtype.itemsize
    steps = _row_major(storage.shape)
    coords: list[Expr] = []
    rest = E.floordiv(tensor.address.offset, size)
    for step in steps:
        taken, rest = kit.divided(rest, step)
        coords.append(taken)
    if rest is not E.const(0):
        coords[-1] = coords[-1] + rest
    folding = _Folding(known, tuple(loops))
    _carried(coords, storage.shape, folding)
    reach = [E.const(1) for _ in storage.shape]
    firsts = tuple(coords)
    axes: list[Axis] = []
    facts: list[Bool] = []
    for name, count, stride in zip(kit.AXES, tensor.shape, tensor.strides, strict=True):
        if count is E.const(1):
            continue
        symbol = E.fresh(name, 0, None, E.Origin.AXIS).as_atom()
        assert isinstance(symbol, E.Sym)
        axes.append(Axis(symbol, count))
        dimension, factor = _along(stride, steps)
        coords[dimension] = coords[dimension] + E.from_atom(symbol) * factor
        reach[dimension] = reach[dimension] + (count - 1) * factor
        facts.append(E.ge(factor, 0))
    for extent, first, length in list(zip(storage.shape, firsts, reach, strict=True))[1:]:
        facts += (E.ge(first, 0), E.le(first + length, extent))
    whole = E.mod(tensor.address.offset, size) is E.const(0)
    same = whole and size is tensor.dtype.itemsize
    left = tuple(fact for fact in facts if not folding.holds(fact))
    view = View(
        storage=storage,
        instance=(),
        frame=storage.shape,
        frame_partition=None,
        axes=tuple(axes),
        coords=tuple(coords),
        dtype=storage.dtype,
        exact=same,
        reason="" if same and not left else _UNFIT,
    )
    return Placed(view, E.and_(*left), same and not left)


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


def _row_major(shape: tuple[Expr, ...]) -> list[Expr]:
    steps: list[Expr] = []
    step = E.const(1)
    for extent in reversed(shape):
        steps.append(step)
        step = step * extent
    return steps[::-1]


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
    at = counted.first_missing(
        total,
        (
            Writing(op.loops, tuple(fact for fact in op.path if fact not in path), _bytes(tensor))
            for op, tensor in writes
        ),
    )
    if at is None or at == total:
        return None if at is None else ()
    at //= size.const
    coords: list[int] = []
    for extent in reversed(extents):
        at, coord = divmod(at, extent)
        coords.append(coord)
    return tuple(reversed(coords))


def _bytes(tensor: SystemTensor) -> Callable[[E.Substitution], Grid]:
    """The bytes of a tensor."""

    def grid(put: E.Substitution) -> Grid:
        there = kit.moved_system(tensor, put)
        size = number(there.dtype.itemsize)
        pairs = zip(there.shape, there.strides, strict=True)
        steps = tuple((number(count), number(stride) * size) for count, stride in pairs)
        return Grid(number(there.address.offset), steps, size)

    return grid


__all__ = ["Placed", "first_missing", "placed"]
