"""Loops that run on the device: what they go through, and what their bodies must keep to."""

from __future__ import annotations

from typing import Final

from verifier.dialects.binding import Bound
from verifier.dialects.nki.emission import NO_NUMBER
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.python.model import Function
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.values import Managed, Opaque, Register

RULE: Final = "device-loop"

#: functions that make one
LOOPS: Final = frozenset(
    f"language.{name}" for name in ("dynamic_range", "fori_loop", "while_loop")
)
ORDERED: Final = "language.no_reorder"
#: writes to a register, of its own: no instruction on tensors
MOVE: Final = "isa.register_move"

#: values of which it is not known whether they are a register
_UNSEEN: Final = (Opaque,)


class Order:
    """Whether the code that is run stands in ``with nl.no_reorder():``, in a caller's as well."""

    def __init__(self) -> None:
        self._depth = 0

    def section(self) -> Managed:
        """What ``with`` enters and leaves, on each way out of its block."""
        outside = self._depth

        def enter() -> None:
            self._depth = outside + 1

        def leave() -> None:
            self._depth = outside

        return Managed(enter, leave)

    def check(self, machine: Machine, span: Span) -> None:
        """A loop on the device is reached (NKI-L66, NKI-LP09)."""
        if self._depth:
            _check(
                machine,
                E.FALSE,
                span,
                "no loop on the device stands in `no_reorder`",
                "a loop on the device stands in `no_reorder`, which keeps static loops in order",
                ("L66", "LP09"),
                ("put `with nl.no_reorder():` into the body of the loop",),
            )


def check(machine: Machine, name: str, bound: Bound, call: Call) -> None:
    """What a loop on the device, or a function that moves registers, is given."""
    traced = isinstance(machine, VM)  # a run has numbers for registers
    if name in LOOPS:
        check_step(machine, name, bound, call)
        if traced and name != "language.dynamic_range":
            check_arguments(machine, name, bound)
    if name == MOVE:
        check_moved(machine, bound)


def check_step(machine: Machine, name: str, bound: Bound, call: Call) -> None:
    """A loop on the device counts up by a constant (NKI-LP05, NKI-LP07)."""
    operand = bound.operands.get("step")
    if operand is None:
        return
    step = None
    if not isinstance(operand.value, Register):
        step = machine.as_int(operand.value, operand.span)
    if step is None and not isinstance(operand.value, Register):
        return  # the trips are not followed, which is said
    fact = "LP07" if name.endswith("fori_loop") else "LP05"
    _check(
        machine,
        E.FALSE if step is None else E.ge(step, 1),
        operand.span,
        "step >= 1, and known when the kernel is compiled",
        f"the step of `{call.text}` is no positive constant",
        (fact,),
    )


def check_arguments(machine: Machine, name: str, bound: Bound) -> None:
    """A loop is given numbers or registers to count between, a register to ask, and a body."""
    asked = name.endswith("while_loop")
    wanted = "a register" if asked else "an integer or a register"
    kinds: tuple[type, ...] = (*NO_NUMBER, View, Function, *((Expr,) if asked else ()))
    for role in ("init",) if asked else ("lower", "upper"):
        operand = bound.operands.get(role)
        if operand is not None and (operand.value is None or isinstance(operand.value, kinds)):
            _check(
                machine,
                E.FALSE,
                operand.span,
                f"{role} is {wanted}",
                f"{role} of `nl.{name.rpartition('.')[2]}` is not {wanted}",
                ("LP08",) if asked else ("LP07",),
                ("load an element of a tensor into a register with `register_load`",),
            )


def check_frozen(machine: Machine, bound: Bound) -> None:
    """What is written to is a register, and no index of a loop on the device.

    An index is read only (NKI-LP05, NKI-LP07, NKI-REG05), and nothing else holds what a register
    does (NKI-REG02). The body of a loop is compiled, however often the device runs it.
    """
    operand = bound.operands.get("dst")
    if operand is None or isinstance(operand.value, (Register, *_UNSEEN)):
        return
    counted = isinstance(operand.value, Expr)
    message = (
        "dst is no register that can be written to: a number, or the index of a loop"
        if counted
        else "dst is no register"
    )
    machine.check(
        RULE,
        E.FALSE,
        operand.span,
        "dst is a register of `register_alloc`",
        message,
        facts=("REG02", "REG05", "LP05", "LP07") if counted else ("REG02",),
        help=("copy it into a register of `register_alloc`",),
        compiled=True,
    )


def check_moved(machine: Machine, bound: Bound) -> None:
    """What a register is given is a number or another register (NKI-REG02)."""
    source = bound.operands.get("src", bound.operands.get("imm"))
    if source is None or not isinstance(source.value, (View, *NO_NUMBER)):
        return
    tile = isinstance(source.value, View)
    machine.check(
        RULE,
        E.FALSE,
        source.span,
        "src is an integer or a register",
        "src is a tensor, whose element `register_move` does not load"
        if tile
        else "src is neither an integer nor a register",
        facts=("REG02",),
        help=("load one element with `nisa.register_load`",) if tile else (),
        compiled=True,
    )


def check_stored(machine: Machine, bound: Bound) -> None:
    """What is stored of a register is a register (NKI-REG04)."""
    source = bound.operands.get("src")
    if not isinstance(machine, VM):
        return  # a run has numbers for registers
    if source is None or not isinstance(source.value, (View, Expr, *NO_NUMBER)):
        return
    machine.check(
        RULE,
        E.FALSE,
        source.span,
        "src is a register",
        "src is no register, of which the tensor is to take what it holds",
        facts=("REG04",),
        help=("fill the tensor with `nisa.memset`, or copy it with `nisa.tensor_copy`",),
        compiled=True,
    )


def returns_nothing(machine: Machine, value: object, span: Span) -> None:
    """The body of ``fori_loop`` has no result (NKI-G50)."""
    if value is not None and not isinstance(value, _UNSEEN):
        _check(
            machine,
            E.FALSE,
            span,
            "the body returns nothing",
            "the body of `fori_loop` returns a value, which nobody takes",
            ("G50", "LP07"),
            ("keep what goes from one iteration to the next in SBUF or HBM",),
        )


def returns_condition(machine: Machine, value: object, span: Span) -> None:
    """The body of ``while_loop`` returns the register that says whether it goes on (NKI-G50)."""
    if not isinstance(value, (Register, *_UNSEEN)):
        _check(
            machine,
            E.FALSE,
            span,
            "the body returns a register",
            "the body of `while_loop` does not return the register that is its next condition",
            ("G50", "LP08"),
            ("load the next condition with `register_load`, and return the register",),
        )


def _check(
    machine: Machine,
    predicate: Bool,
    span: Span,
    text: str,
    message: str,
    facts: tuple[str, ...],
    help: tuple[str, ...] = (),
) -> None:
    machine.check(RULE, predicate, span, text, message, facts=facts, help=help)


__all__ = [
    "LOOPS",
    "MOVE",
    "ORDERED",
    "RULE",
    "Order",
    "check",
    "check_frozen",
    "returns_condition",
    "returns_nothing",
]
