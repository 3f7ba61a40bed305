"""Where the operands of a call of OKK lie: shapes and strides, as the description has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from msgspec import structs

from tests.differential.kernels import Shape
from verifier.dialects.names import OKK
from verifier.dialects.okk.operands import tensor
from verifier.dialects.okk.versions import GENERATION
from verifier.executor.machine import ConcreteMachine, Options
from verifier.executor.places import NOWHERE
from verifier.executor.session import Session
from verifier.hardware import dtypes as dt
from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.layouts import strides as layouts
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.roles import Placed, Role, Takes
from verifier.symbolic.tensors import DType, Operand, Storage, StorageKind
from verifier.symbolic.trace import Operation

#: bytes that transfers move at most as one element
_WORD = 4


@dataclass(frozen=True, slots=True)
class Lay:
    """A tensor: elements of ``dtype`` with strides in elements, from a lane on.

    ``matrix``: rows, columns and columns in a channel, of a matrix that lies in channels.
    """

    dtype: str
    shape: Shape
    strides: Shape
    lane: int
    chip: Chip
    matrix: Shape = ()

    @property
    def itemsize(self) -> int:
        return dt.ITEMSIZE[dt.CODES[self.dtype]]

    @property
    def bits(self) -> int:
        """Of an element of the transfers that move it."""
        return 8 * min(self.itemsize, _WORD)

    @property
    def words(self) -> Shape:
        """The extents as transfers count them: pairs are two words."""
        return (*self.shape[:3], self.shape[3] * max(self.itemsize // _WORD, 1))

    @property
    def steps(self) -> Shape:
        """The strides as transfers count them."""
        pair = max(self.itemsize // _WORD, 1)
        return (*(step * pair for step in self.strides[:3]), self.strides[3])

    @property
    def buffer(self) -> Shape:
        """A buffer that holds as much."""
        return (max(1, prod(max(n, 1) for n in self.words)),)

    @property
    def aligned(self) -> bool:
        """Whether transfers take it to lie like that if they are told nothing."""
        size = min(self.itemsize, _WORD)
        n, c, h, w = self.words
        made = layouts.aligned(self.chip.lanes, self.chip.eu_bytes, self.lane, (n, c, h, w), size)
        return made == self.steps

    @property
    def compact(self) -> bool:
        n, c, h, w = self.words
        return layouts.compact(self.chip.lanes, self.lane, (n, c, h, w)) == self.steps

    @property
    def bytes(self) -> int:
        """In one lane, from its first element on."""
        n, c, h, w = (max(size - 1, 0) for size in self.shape)
        slots = (self.lane + c) // self.chip.lanes
        last = sum(k * s for k, s in zip((n, slots, h, w), self.strides, strict=True))
        return (abs(last) + 1) * self.itemsize

    def same(self, other: Lay) -> bool:
        """Whether an operand may be at the place of another one."""
        return self == other

    def cut(self, axis: int, extent: int) -> Lay:
        """A part of it, from its first element on."""
        return replace(
            self, shape=tuple(extent if k == axis else n for k, n in enumerate(self.shape))
        )


@dataclass(slots=True)
class Placing:
    """A call while its operands are placed: the dialect is asked where they lie."""

    instruction: Instruction
    chip: Chip
    machine: ConcreteMachine = field(init=False)
    operation: Operation = field(init=False)

    def __post_init__(self) -> None:
        options = Options(shapes_only=True, keep_going=True)
        self.machine = Session(self.chip, OKK, options).current()
        self.operation = Operation(
            self.instruction.name, {}, NOWHERE, GENERATION, (), (), 0, instruction=self.instruction
        )

    def give(self, name: str, value: object) -> None:
        """An argument that is no tensor."""
        self.operation.operands[name] = Operand(name, value, NOWHERE)

    def number(self, name: str) -> int:
        value = self.operation.value(name)
        assert isinstance(value, Expr)
        return value.const

    @property
    def stridden(self) -> dict[str, Role]:
        """The parameters that strides may be given by, with the operands that have them."""
        placed = ((role, role.placed) for role in self.instruction.roles)
        return {
            found.strides: role for role, found in placed if found is not None and found.strides
        }

    def lay(self, role: Role, lane: int) -> Lay:
        """How an operand lies that starts in that lane."""
        placed = role.placed
        assert placed is not None
        address: object = E.const(lane * self.chip.local_bytes)
        if role.takes is Takes.SYSTEM_ADDRESS:
            storage = Storage(
                0,
                role.name,
                Buffer.HBM,
                DType.named(placed.dtype),
                (),
                None,
                NOWHERE,
                StorageKind.INPUT,
            )
            address = SystemAddress(storage, E.const(0))
        operation = structs.replace(
            self.operation,
            operands={
                **self.operation.operands,
                role.parameter: Operand(role.parameter, address, NOWHERE),
            },
        )
        found = tensor(self.machine, operation, role, placed)
        assert found is not None
        shape = tuple(size.const for size in found.shape)
        strides = tuple(step.const for step in found.strides)
        return Lay(placed.dtype, shape, strides, lane, self.chip, self._matrix(placed))

    def _matrix(self, placed: Placed) -> Shape:
        if not placed.columns:
            return ()
        shape = placed.shape(self.operation)
        return (shape[0].const, self.number(placed.columns), shape[3].const)
