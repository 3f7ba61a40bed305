"""The launch grid: which program runs, and of how many (NKI-L60)."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from verifier.dialects.binding import Bound
from verifier.dialects.nki.results import axes_of
from verifier.dialects.nki.versions import newer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, Expr
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.trace import LedgerKind


@runtime_checkable
class Gridded(Protocol):
    """A machine that knows the launch grid."""

    def grid(self, axis: int) -> tuple[Expr, Expr]:
        """``(program_id(axis), num_programs(axis))``."""
        ...


@runtime_checkable
class Launched(Protocol):
    """A machine that may have been told the sizes of the launch grid."""

    grid_sizes: tuple[int, ...] | None


def _grid(machine: Machine, axis: int, place: int, call: Call) -> Expr:
    if isinstance(machine, Gridded):
        return machine.grid(axis)[place]
    machine.approximate("guess", f"no launch grid for `{call.text}`: one program taken", call.span)
    return E.const(place)


def program_id(machine: Machine, bound: Bound, call: Call) -> object:
    operand = bound.operands.get("axis")
    axis = machine.as_int(operand.value, operand.span) if operand is not None else None
    if axis is None or not axis.is_const:
        machine.approximate(
            LedgerKind.GUESS, "the axis of `program_id` is not known: 0 taken", call.span
        )
        return _grid(machine, 0, 0, call)
    _grid_has(machine, axis.const, call)
    return _grid(machine, axis.const, 0, call)


def _grid_has(machine: Machine, axis: int, call: Call) -> None:
    """An axis is one of the grid's: of one dimension since NKI 0.2 (NKI-L60)."""
    sizes = machine.grid_sizes if isinstance(machine, Launched) else None
    rank = 1 if newer(machine.api, "0.2") else len(sizes or ())
    if axis < 0 or (rank and axis >= rank):
        plural = "" if rank == 1 else "s"
        machine.check(
            "launch-grid",
            FALSE,
            call.span,
            "the grid has the axis" if not rank else f"the grid has {rank} dimension{plural}",
            f"`{call.text}` asks for axis {axis} of the launch grid",
            facts=("L60",),
            help=("since NKI 0.2 a grid is one number: that of the cores",) if rank == 1 else (),
        )


def num_programs(machine: Machine, bound: Bound, call: Call) -> object:
    operand = bound.operands.get("axes")
    if operand is None or operand.value is None:
        return _grid(machine, 0, 1, call)
    axes = axes_of(machine, operand.value, 0, operand.span)
    if axes is None:
        machine.approximate(
            LedgerKind.GUESS, "the axes of `num_programs` are not known: 0", call.span
        )
        axes = frozenset({0})
    total = E.const(1)
    for axis in sorted(axes):
        _grid_has(machine, axis, call)
        total = total * _grid(machine, axis, 1, call)
    return total


def program_ndim(machine: Machine, bound: Bound, call: Call) -> object:
    # Launches take one integer since 0.2 (NKI-L61), or nothing. A launch without a grid behaves as
    # one on a grid of a single program, and that one is among the sizes checked.
    if machine.api == "beta1":
        return E.symbol("program_ndim()", 1, 3, E.Origin.INPUT)
    return E.const(1)


__all__ = ["Gridded", "num_programs", "program_id", "program_ndim"]
