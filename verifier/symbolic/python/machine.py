"""The device's side of the machine: tensors, operations, the launch grid.

This is what a dialect sees (:class:`verifier.symbolic.machine.Machine`), besides the coercions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.dialect import Dialect
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.faults import Faults
from verifier.symbolic.tensors import DType, Loop, LoopKind, Placing, Storage, View
from verifier.symbolic.trace import Assumption, AssumptionKind, Operation

if TYPE_CHECKING:
    from typing_extensions import Unpack


class DeviceMachine(Faults):
    """Allocations, operations and the grid of one run."""

    dialect: Dialect[Any]
    #: the launch grid that a contract gives, None: any
    grid_sizes: tuple[int, ...] | None = None
    #: counters through a product, ``a * b + c``: b, and the quotient and remainder by it
    counters: dict[Expr, tuple[Expr, Expr, Expr]]
    #: calls of functions of the project that are running
    depth: int

    def allocate(
        self,
        name: str,
        shape: Sequence[Expr],
        dtype: DType,
        buffer: Buffer,
        span: Span,
        **more: Unpack[Placing],
    ) -> View:
        order = self.next_order()
        storage = Storage.made(order, name, shape, dtype, buffer, span, **more)
        storage.loops, storage.path, storage.depth = self.loops, self.path, self.depth
        # A body that runs again (to confirm a guess about a loop) makes the same tensors again. One
        # that is in other loops by now is another: views of the first name trips of the first ones.
        # Where loops stand in each other these take turns: each is the one that it was.
        known = self._storages.setdefault(order, [])
        for earlier in known:
            if earlier.span == span and _alike(earlier, storage):
                for field_name in Storage.__struct_fields__:
                    setattr(earlier, field_name, getattr(storage, field_name))
                storage = earlier
                break
        else:
            known.append(storage)
        self.trace.storages.append(storage)
        return self.whole(storage, span)

    def whole(self, storage: Storage, span: Span | None = None) -> View:
        """The view of all of a storage made in the current loops."""
        axes = tuple(self.axis(extent) for extent in storage.shape)
        return View(
            storage=storage,
            instance=tuple(loop.index for loop in storage.loops),
            frame=storage.shape,
            frame_partition=storage.partition_axis,
            axes=axes,
            coords=tuple(axis.index for axis in axes),
            dtype=storage.dtype,
            span=span,
        )

    def emit(self, operation: Operation) -> None:
        operation.rounds = self.rounds
        operation.called = tuple(f.called for f in self.frames if f.called is not None)
        self.trace.operations.append(operation)

    def without_quotients(self, value: Expr) -> Expr:
        """The value with quotients that the path's facts make zero replaced by zero."""
        for atom in value.atoms():
            if isinstance(atom, E.Div):
                inside = E.and_(E.ge(atom.num, 0), E.lt(atom.num, atom.den))
                if self.decide(inside) is True:
                    left = {mono: c for mono, c in value.terms if atom not in mono}
                    return self.without_quotients(Expr.make(left, value.const))
        return value

    def grid(self, axis: int, *, asked: bool = True) -> tuple[Expr, Expr]:
        """``(program_id(axis), num_programs(axis))``; the grid grows with the axes asked for.

        ``asked``: by the kernel, which may do something else in another place then.
        """
        if asked:
            self.trace.grid_asked = True
        elif not self.trace.grid:
            self.trace.grid_asked = False
        while len(self.trace.grid) <= axis:
            made = self.dialect.grid_axis(self, len(self.trace.grid))
            index = E.symbol(made.index, 0, origin=E.Origin.LOOP)
            loop = Loop(index, made.size, LoopKind.GRID, made.index, self.trace.span)
            self.trace.grid = (*self.trace.grid, loop)
            self.trace.grid_counts = (*self.trace.grid_counts, made.count)
            text = f"{made.index} < {made.count}"
            self.trace.assumptions.append(Assumption(loop.within, text, None, AssumptionKind.GRID))
        loop = self.trace.grid[axis]
        return loop.index, loop.trips


def _alike(earlier: Storage, now: Storage) -> bool:
    """Whether a tensor is what the same place made before: of the same kind, in the same loops."""
    before, loops = (tuple(loop.symbol for loop in each.loops) for each in (earlier, now))
    return earlier.kind == now.kind and before == loops
