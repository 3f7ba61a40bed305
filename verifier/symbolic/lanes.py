"""Operands that are addresses: tensors in a TPU's local memory, and in its system memory.

Local memory is ``lanes`` x ``local_bytes``. A local address is a plain number: ``lane * local_bytes
+ byte``. Channel ``c`` of a tensor that starts in lane ``Q`` lies in lane ``(Q + c) mod lanes``, in
slot ``(Q + c) div lanes``; within a lane, element ``(n, c, h, w)`` lies ``n * Ns + slot * Cs +
h * Hs + w * Ws`` elements behind the tensor's byte (ADR-02 to ADR-04). In system memory the second
stride goes from channel to channel (ADR-20).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.symbolic.expr import Expr, Substitution
from verifier.symbolic.tensors import DType, Storage

#: what the axes of a tensor are called: images, channels, rows and columns
AXES: Final = ("n", "c", "h", "w")
#: something of each of them
Quad = tuple[Expr, Expr, Expr, Expr]


def _each(put: Substitution, values: Quad) -> Quad:
    a, b, c, d = (put.expr(value) for value in values)
    return a, b, c, d


class LocalTensor(Struct, frozen=True, eq=False):
    """A tensor in local memory as an operand sees it.

    ``shape`` counts elements of ``dtype``; ``strides`` are in elements. ``layout`` names how the
    strides came about: ``aligned``, ``compact``, ``row-aligned``, ``matrix``, ``2ic`` ... when the
    operation implies them, ``free`` when they were given. ``given`` says that they were.
    ``stride_lane`` is the lane that a stride helper was told (LAY-06); None if no helper was asked.
    ``lane`` is the lane that it starts in, where the path settles that (else: of its address).
    """

    address: Expr
    shape: Quad
    strides: Quad
    dtype: DType
    layout: str = "free"
    given: bool = False
    stride_lane: Expr | None = None
    lane: Expr | None = None

    def at(self, put: Substitution) -> LocalTensor:
        """The tensor in another iteration."""
        if put.is_empty:
            return self
        return replace(
            self,
            address=put.expr(self.address),
            lane=None if self.lane is None else put.expr(self.lane),
            shape=_each(put, self.shape),
            strides=_each(put, self.strides),
        )


class SystemAddress(Struct, frozen=True):
    """A place in a buffer of system memory: ``offset`` bytes from its start."""

    storage: Storage
    offset: Expr


class SystemTensor(Struct, frozen=True, eq=False):
    """A tensor in system memory as a transfer sees it; ``strides`` are in elements."""

    address: SystemAddress
    shape: Quad
    strides: Quad
    dtype: DType
    given: bool = False

    def at(self, put: Substitution) -> SystemTensor:
        """The tensor in another iteration."""
        return replace(
            self,
            address=replace(self.address, offset=put.expr(self.address.offset)),
            shape=_each(put, self.shape),
            strides=_each(put, self.strides),
        )


class Touch(Struct, frozen=True):
    """One tensor that an operation reads, writes, or both.

    ``destroys``: what it writes means nothing, as in a work tensor.
    """

    role: str
    tensor: LocalTensor | SystemTensor
    reads: bool
    writes: bool
    destroys: bool = False


def stores(touches: Iterable[Touch]) -> bool:
    """Whether what is read goes to system memory: others than the kernel see all of it."""
    return any(touch.writes and isinstance(touch.tensor, SystemTensor) for touch in touches)
