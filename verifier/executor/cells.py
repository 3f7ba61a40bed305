"""A number per element of a tensor, kept once for elements that are always touched together."""

from __future__ import annotations

from math import gcd
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from verifier.executor.memory import TRACKED, Template
from verifier.executor.regions import Gather, Geometry, positions_of
from verifier.executor.semantics.casts import NUMPY

#: per dimension of a tensor, the first index and the one past the last; None: no box
Box: TypeAlias = "tuple[tuple[int, int], ...] | None"
#: numbers in places; not to be kept: the next access may divide the places further
Values: TypeAlias = NDArray[np.int64]


class TooFineError(Exception):
    """So many parts of a tensor are told apart that it is not worth going on."""


class Cells:
    """Zeros at first. A tensor of a few boxes takes a few numbers, however large the boxes are.

    Once a view of a narrower type was there, elements are told apart in parts of ``unit`` bytes.
    """

    __slots__ = ("blocks", "template", "unit", "values")

    def __init__(self, template: Template) -> None:
        self.template = template
        self.unit = template.itemsize
        #: extent of the blocks along each dimension, in parts along the last; they divide that of
        #: the tensor
        self.blocks = [max(1, extent) for extent in template.shape or (1,)]
        self.values: Values = np.zeros((1,) * len(self.blocks), np.int64)

    def get(self, box: Box, place: Geometry | Gather) -> Values:
        """The numbers of the elements that a view touches.

        Raises:
            TooFineError: too many parts are told apart.
        """
        if box is not None:
            part = self._slices(box)  # which may replace the values by finer ones
            return self.values[part]
        self._part(NUMPY[place.dtype].itemsize)
        out: Values = self._flat()[elements(self.template, place, self.unit)]
        return out

    def put(self, box: Box, place: Geometry | Gather, value: Any) -> None:
        """Set the numbers of the elements that a view touches, to one or to one each.

        Raises:
            TooFineError: as in ``get``.
        """
        if box is not None:
            part = self._slices(box)
            self.values[part] = value
        else:
            self._part(NUMPY[place.dtype].itemsize)
            self._flat()[elements(self.template, place, self.unit)] = value

    def _part(self, size: int) -> None:
        """Tell parts of that many bytes apart from now on."""
        if size < self.unit:
            self.blocks[-1] *= self.unit // size
            self.unit = size

    def align(self, other: Cells) -> None:
        """Have the same blocks as another one of the same tensor, so that numbers go together.

        Raises:
            TooFineError: as in ``get``.
        """
        self._part(other.unit)
        other._part(self.unit)
        for dimension in range(len(self.blocks)):
            block = gcd(self.blocks[dimension], other.blocks[dimension])
            for cells in (self, other):
                if cells.blocks[dimension] != block:
                    cells._divide(dimension, block)

    def _slices(self, box: tuple[tuple[int, int], ...]) -> tuple[slice, ...]:
        out = []
        parts = self.template.itemsize // self.unit
        if parts > 1 and box:
            low, high = box[-1]
            box = (*box[:-1], (low * parts, high * parts))
        for dimension, (low, high) in enumerate(box):
            block = gcd(self.blocks[dimension], low, high)
            if block != self.blocks[dimension]:
                self._divide(dimension, block)
            out.append(slice(low // block, high // block))
        return tuple(out)

    def _flat(self) -> Values:
        for dimension in range(len(self.blocks)):
            if self.blocks[dimension] > 1:
                self._divide(dimension, 1)
        return self.values.reshape(-1)

    def _divide(self, dimension: int, block: int) -> None:
        parts = self.blocks[dimension] // block
        if self.values.size * parts > TRACKED // 8:
            raise TooFineError
        self.values = np.repeat(self.values, parts, axis=dimension)
        self.blocks[dimension] = block


def box_of(template: Template, place: Geometry | Gather) -> Box:
    """A view as a box of its tensor; None if it is none, or not known to be one."""
    if isinstance(place, Gather) or NUMPY[place.dtype].itemsize != template.itemsize:
        return None
    shape = template.shape
    if 0 in place.shape or 0 in shape:
        return None
    low = along(template, place.offset)
    high = list(low)
    for size, stride in zip(place.shape, place.strides, strict=True):
        if size == 1 or stride == 0:
            continue
        steps = along(template, stride)
        dimension = next((d for d, step in enumerate(steps) if step), None)
        if dimension is None or sum(map(abs, steps)) != 1 or high[dimension] != low[dimension]:
            return None
        high[dimension] += (size - 1) * steps[dimension]
    if any(a < 0 or b < a or b >= n for a, b, n in zip(low, high, shape, strict=True)):
        return None
    return tuple((a, b + 1) for a, b in zip(low, high, strict=True))


def along(template: Template, distance: int) -> list[int]:
    """A distance in elements as steps along each dimension."""
    steps = []
    for size, stride in zip(template.shape, template.strides, strict=True):
        step, distance = divmod(distance, stride) if stride and size > 1 else (0, distance)
        steps.append(step)
    return steps


def elements(template: Template, place: Geometry | Gather, unit: int = 0) -> NDArray[np.int64]:
    """The positions of the tensor's own elements that a view touches, in the tensor at least.

    ``unit``: of parts of so many bytes; those of an element of the view along one more axis.
    """
    if isinstance(place, Geometry):
        positions: NDArray[np.int64] = positions_of(place)
    else:
        positions = place.positions if place.mask is None else place.positions[place.mask]
    own, other = unit or template.itemsize, NUMPY[place.dtype].itemsize
    if other > own:
        ratio = other // own
        positions = positions[..., None] * ratio + np.arange(ratio)
    elif other < own:
        positions = positions * other // own
    return np.clip(positions, 0, max(template.elements * template.itemsize // own - 1, 0))
