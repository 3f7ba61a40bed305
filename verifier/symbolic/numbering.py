"""What both machines keep: the hardware, the generation, and the numbers of what happens."""

from __future__ import annotations

from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import Chip
from verifier.hardware.targets import Target
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.generation import Generation
from verifier.symbolic.tensors import Axis


class Numbering:
    """A run on some hardware, and how far it has come."""

    def __init__(self, hardware: Hardware, generation: Generation) -> None:
        self.hardware = hardware
        self._generation = generation
        self.order = 0
        self._axes = 0

    @property
    def target(self) -> Target:
        assert isinstance(self.hardware, Target)
        return self.hardware

    @property
    def chip(self) -> Chip:
        assert isinstance(self.hardware, Chip)
        return self.hardware

    @property
    def generation(self) -> Generation:
        return self._generation

    @property
    def api(self) -> str:
        return self._generation.name

    def next_order(self) -> int:
        """The next position in program order (operations and allocations share the numbering)."""
        self.order += 1
        return self.order

    def axis(self, size: Expr) -> Axis:
        """A fresh axis of that extent."""
        self._axes += 1
        atom = E.symbol(f"@{self._axes}", 0, origin=E.Origin.AXIS).as_atom()
        assert isinstance(atom, E.Sym)
        return Axis(atom, size)


__all__ = ["Numbering"]
