"""Runs of TPU kernels: buffers for arrays, what was written as results, what is judged at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier.executor import tpu
from verifier.executor.lanes import Array
from verifier.executor.records import Address, start_of
from verifier.executor.semantics.casts import NUMPY
from verifier.executor.tpu import BufferStorage
from verifier.source.ir import Span

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


@dataclass(slots=True)
class Given:
    """The buffers that a kernel is given, in the order of its inputs."""

    buffers: list[BufferStorage]

    def make(
        self,
        machine: ConcreteMachine,
        name: str,
        shape: tuple[int, ...],
        dtype: str,
        array: Array | None,
        span: Span,
    ) -> Address:
        """A buffer; what the kernel gets is the address of its first byte."""
        storage = tpu.buffer(machine, name, shape, dtype, array, span)
        self.buffers.append(storage)
        return start_of(storage)

    def results(self) -> Iterator[BufferStorage]:
        """Those that were written."""
        return (storage for storage in self.buffers if tpu.written(storage))


def array_of(storage: BufferStorage) -> Array:
    """What a buffer holds now, as an array of its shape."""
    memory = storage.bytes
    assert memory is not None
    name = storage.dtype.name
    assert name is not None
    shape = tuple(extent.const for extent in storage.shape)
    size = int(np.prod(shape)) * NUMPY[name].itemsize
    data: Any = memory.materialise()[:size]
    return np.asarray(data.view(NUMPY[name]).reshape(shape).copy())


def extents(storage: BufferStorage) -> tuple[int, ...]:
    return tuple(extent.const for extent in storage.shape)


def finish(machine: ConcreteMachine, given: Given, span: Span) -> None:
    """Judge what shows at the end only."""
    if not any(True for _ in given.results()):
        machine.violate(
            "no-output",
            span,
            f"`{machine.kernel}` writes to a buffer",
            f"`{machine.kernel}` writes to none of its buffers: its work is lost",
        )
