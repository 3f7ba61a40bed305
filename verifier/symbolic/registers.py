"""What is known of the registers of the device: a number that was moved there, or a loaded one."""

from __future__ import annotations

from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Machine
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import RecordType, Register

#: what a register holds on a path: an ``Expr``; None: loaded from memory, or never set; else what
#: was moved there, of which the number is not followed
CONTENTS: Final = RecordType("register", ("number",))


def taken(machine: Machine, value: object, span: Span) -> object:
    """What a register holds that takes a value, as ``CONTENTS`` has it."""
    if value is None or isinstance(value, View):
        return None
    if isinstance(value, Register):
        return _held(machine, value)
    number = machine.as_int(value, span)
    return value if number is None else number


def fill(machine: Machine, register: object, number: object, span: Span) -> None:
    """A register is set to what :func:`taken` says, or to what memory holds (None)."""
    if not isinstance(register, Register) or register.held is None:
        return
    if not machine.fill(register.held, (number,)):
        text = f"which register of several `{register.name}` is set is not followed"
        machine.approximate(LedgerKind.OPAQUE, text, span)


def settled(machine: Machine, value: object) -> Expr | None:
    """The number that a register holds, whichever way the program came here; None: not known."""
    number = _held(machine, value)
    return number if isinstance(number, Expr) else None


def of_device(machine: Machine, value: object) -> bool:
    """Whether a number is in memory alone, or counts a loop whose end only the device knows."""
    if isinstance(value, Register):
        return _held(machine, value) is None
    if isinstance(value, Expr):
        around = [loop for loop in machine.loops if loop.symbol in value.free()]
        return any(s.origin not in E.GIVEN for loop in around for s in loop.trips.free())
    return isinstance(value, View)


def assume_inside(machine: Machine, value: object, text: str, span: Span) -> None:
    """Enter into the ledger that an offset of the device is not compared with the tensor.

    What was loaded from memory is for the caller to answer for. A number of the program's own is
    not: where it cannot be compared, nothing is verified. ``text`` names the offset.
    """
    if of_device(machine, value):
        machine.approximate(LedgerKind.RUNTIME, f"{text}: taken to stay inside", span)
    else:
        machine.approximate(LedgerKind.OPAQUE, f"{text} is not followed", span)


def _held(machine: Machine, value: object) -> object:
    if not isinstance(value, Register) or value.held is None:
        return None
    contents = machine.contents(value.held)
    return None if contents is None else contents.fields[0]


__all__ = ["CONTENTS", "assume_inside", "fill", "settled", "taken"]
