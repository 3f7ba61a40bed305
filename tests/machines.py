"""What the machines that tests make share: questions that their tests do not lead to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from verifier.hardware.chips import Chip
from verifier.source.ir import Span
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.tensors import View
from verifier.symbolic.values import HostUse, RecordType, RecordValue


def _unasked(what: str) -> NoReturn:
    raise AssertionError(f"the test's machine is asked for {what}")


class Unasked:
    """The part of a :class:`verifier.symbolic.machine.Machine` that fails whoever asks."""

    @property
    def chip(self) -> Chip:
        _unasked("the TPU")

    def of_device(self, use: HostUse, value: object, span: Span) -> object | None:
        """These hand out numbers alone."""
        return None

    def grid(self, axis: int) -> tuple[Expr, Expr]:
        _unasked(f"axis {axis} of the grid")

    def is_tensor(self, value: object, otherwise: str, span: Span) -> bool:
        _unasked("whether something is a tensor")

    def declared(self, value: object, shape: Sequence[Expr], span: Span) -> View | None:
        _unasked("the tensor behind a pointer")

    def mode(self, name: str) -> object:
        _unasked("what the device is switched to")

    def switch(self, name: str, value: object) -> None:
        _unasked("a switch of the device")

    def as_address(self, value: object, span: Span) -> SystemAddress | None:
        _unasked("an address in system memory")

    def record(self, kind: RecordType, values: Sequence[object], origin: object = None) -> object:
        _unasked("a record")

    def contents(self, value: object) -> RecordValue | None:
        _unasked("what a record holds")

    def fill(self, value: object, values: Sequence[object], origin: object = None) -> bool:
        _unasked("a record's fields to be filled")
