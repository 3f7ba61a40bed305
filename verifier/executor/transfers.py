"""Whether a transfer writes elements that it reads, and that go somewhere else."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from verifier.executor.cells import elements
from verifier.executor.memory import Bound
from verifier.executor.semantics.casts import NUMPY
from verifier.symbolic import expr as E
from verifier.symbolic.memory.transfers import sources, taken_from
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def overlapping(operation: Operation, bounds: Mapping[str, Bound]) -> str | None:
    """The role of which a transfer writes elements that go somewhere else; None: of none."""
    for role in sources(operation):
        for target, _ in operation.writes:
            found, written = bounds.get(role), bounds.get(target)
            if found is not None and written is not None and found.memory is written.memory:
                if _meet(operation, role, target, found, written):
                    return role
    return None


def _meet(operation: Operation, role: str, target: str, found: Bound, written: Bound) -> bool:
    template = found.memory.template
    unit = min(template.itemsize, *(NUMPY[x.place.dtype].itemsize for x in (found, written)))
    reads, writes = (elements(template, each.place, unit) for each in (found, written))
    if not np.isin(writes, reads).any():
        return False
    own, other = _shape(dict(operation.reads)[role]), _shape(dict(operation.writes)[target])
    if prod(own) != reads.size or prod(other) != writes.size:
        return False  # nothing is said of what goes where
    reads, writes = reads.reshape(own), writes.reshape(other)
    mine = _moved(operation, role, reads, writes)
    if mine is None:
        return False
    times = np.bincount(reads.reshape(-1), minlength=int(writes.max()) + 1)
    hit = times[writes] > (mine == writes)
    return bool(hit.any())


def _shape(view: View) -> tuple[int, ...]:
    """The extents of a view, those of one element too."""
    return tuple(extent.const for extent in view.shape)


def _moved(
    operation: Operation, role: str, reads: NDArray[np.int64], writes: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """What goes to each element that is written, if it is read in some order of the axes.

    -1 where that would be none of the source's, whose shape does not fit.
    """
    axes = [E.fresh("at", 0, None, E.Origin.AXIS) for _ in writes.shape]
    source = taken_from(operation, role, axes)
    if source is None or len(source) != reads.ndim or reads.ndim != writes.ndim:
        return None
    order = [next((k for k, axis in enumerate(axes) if axis is index), None) for index in source]
    # along an axis of one element there is no index to speak of
    single = [k for k, extent in enumerate(writes.shape) if extent == 1 and k not in order]
    order = [single.pop(0) if k is None and single else k for k in order]
    if None in order or sorted(k for k in order if k is not None) != [*range(writes.ndim)]:
        return None
    turned = np.transpose(reads, np.argsort([k for k in order if k is not None]))
    found = np.full(writes.shape, -1, reads.dtype)
    both = tuple(map(slice, np.minimum(turned.shape, found.shape)))
    found[both] = turned[both]
    return found


__all__ = ["overlapping"]
