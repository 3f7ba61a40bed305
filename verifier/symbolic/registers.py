"""What is known of the registers of the device: a number that was moved there, or a loaded one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Machine
from verifier.symbolic.tensors import Held, View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Opaque, RecordType, Register

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


def carried(machine: Machine, first: object) -> Register:
    """The register that each trip of a loop on the device is handed; ``first`` is the first's.

    Whether it holds what that one does, or what a trip has returned, is not followed.
    """
    known = _held(machine, first) is not None
    number = Opaque("what a trip of a loop on the device is handed") if known else None
    return Register("register", held=machine.record(CONTENTS, (number,)))


def settled(machine: Machine, value: object) -> Expr | None:
    """The number that a register holds, whichever way the program came here; None: not known."""
    number = _held(machine, value)
    return number if isinstance(number, Expr) else None


def of_device(machine: Machine, value: object) -> bool:
    """Whether a number is in memory alone, or counts a loop whose end only the device knows."""
    if isinstance(value, Register):
        return _held(machine, value) is None
    if isinstance(value, Expr):
        return any(symbol.origin is E.Origin.DEVICE for symbol in _behind(machine, value))
    return isinstance(value, View)


def _behind(machine: Machine, number: Expr) -> set[E.Sym]:
    """The symbols of a number, and of the trips of the loops that it counts."""
    found: set[E.Sym] = set()
    pending = list(number.free())
    while pending:
        symbol = pending.pop()
        if symbol not in found:
            found.add(symbol)
            counted = (loop for loop in machine.loops if loop.symbol is symbol)
            pending.extend(each for loop in counted for each in loop.trips.free())
    return found


def begun(
    register: Register | View, text: str, span: Span, before: Sequence[Held] = ()
) -> tuple[Held, Expr]:
    """A view begins at what a register, or the element of a tile, holds when the view is used.

    The number stands for it.

    ``text`` names the offset; ``before``: the registers that the view begins at as well.
    """
    # one that is the same each time that the program comes here, and no fresh one's (no zero first)
    number = E.symbol(f"{register.name}#0{len(before)}", origin=E.Origin.HAVOC)
    symbol = number.as_atom()
    assert isinstance(symbol, E.Sym)
    return Held(symbol, register, text, span), number


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


__all__ = ["CONTENTS", "assume_inside", "begun", "fill", "of_device", "settled", "taken"]
