"""Where the elements of a view lie in their tensor: by strides, or one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import View


class Geometry(NamedTuple):
    """Where the elements of a view lie: ``offset + sum(index * stride)``, in its own elements.

    ``dtype`` is the view's. Positions count from the start of the tensor, row-major. (A named tuple
    because one is made, compared and hashed for most subscripts of a kernel.)
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


class Gather(Struct):
    """Elements by position (in elements of ``dtype``); ``mask`` None: all take part.

    Positions of elements that do not take part are 0. ``outside``: the index that leaves the
    tensor, in words, if one does. ``anywhere``: there are no numbers that say which elements; one
    stands for them, and they may be all.
    """

    positions: NDArray[np.int64]
    mask: NDArray[np.bool_] | None
    dtype: str
    outside: str = ""
    anywhere: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.positions.shape


class Offsets(Struct, frozen=True):
    """An indirect view: positions of its elements with the tiles of indices as they are now."""

    compute: Callable[[View], Gather]

    def positions(self, view: View) -> Gather:
        """Of the view as an operation uses it: a mask may have joined it."""
        return self.compute(view)


#: of indirect views by their axes: where each begins, and how its elements are found
Remembered = dict[tuple[E.Sym, ...], dict[tuple[Expr, ...], Offsets]]


def positions_of(place: Geometry) -> NDArray[np.int64]:
    """The position of every element of an affine view."""
    total = np.full(place.shape, place.offset, np.int64)
    for k, (size, stride) in enumerate(zip(place.shape, place.strides, strict=True)):
        shape = [1] * len(place.shape)
        shape[k] = size
        total += (np.arange(size, dtype=np.int64) * stride).reshape(shape)
    return total
