"""Binding the arguments of a call to the parameters of a device function."""

from __future__ import annotations

import difflib

from msgspec import Struct

from verifier.dialects.binding import Bound, assigned, bound, literal
from verifier.dialects.ppl import names
from verifier.dialects.ppl.isa import signature
from verifier.dialects.signature import Parameter, Signature
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.roles import Takes
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import Enumerator

SIGNATURE_RULE = "ppl-signature"


def spoken(instruction: Instruction) -> str:
    """A function as users write it: ``pl.tiu.fmul``."""
    return f"pl.{instruction.name.partition('.')[2]}"


def bind(machine: Machine, instruction: Instruction, call: Call) -> Bound:
    """Assign arguments to parameters; what does not fit is reported (``ppl-signature``)."""
    known = signature(instruction)
    result = instruction.result is not None and _left_out(instruction, known, call)
    left_out = (known.parameters[0].name,) if result else ()
    arguments = assigned(
        known,
        call,
        _Faults(machine, instruction, known, call),
        left_out=left_out,
        parameter_of=lambda keyword: _parameter(instruction, known, keyword),
    )
    return bound(known, call, arguments, default_value, left_out=left_out)


def _parameter(instruction: Instruction, known: Signature, keyword: str) -> str:
    """The parameter that a keyword means: the packages have several names for some."""
    role = None if keyword in known.names else instruction.role(keyword)
    return keyword if role is None else role.name


def _left_out(instruction: Instruction, known: Signature, call: Call) -> bool:
    """Whether a call has no destination: one tensor or number less than there are."""
    first = known.parameters[0].name
    named = {_parameter(instruction, known, keyword) for keyword in call.keywords}
    if first in named:
        return False
    needed = {p.name for p in known.positional if p.default is None and _is_operand(instruction, p)}
    given = [argument for argument in call.args if _is_data(argument.value)]
    return len(given) + len(named & needed) < len(needed)


def _is_operand(instruction: Instruction, parameter: Parameter) -> bool:
    role = instruction.role(parameter.name)
    return role is not None and role.takes in (Takes.TILE, Takes.TENSOR_OR_NUMBER)


def _is_data(value: object) -> bool:
    """Whether an argument is a tensor or a number, not a dtype or a mode."""
    return not isinstance(value, (DType, Enumerator, str, bool)) and value is not None


def default_value(text: str) -> object:
    """The value of a default: a literal, or a name of the language."""
    try:
        return literal(text)
    except ValueError:
        return names.value(text)


class _Faults(Struct, frozen=True):
    """:class:`verifier.dialects.binding.Faults` as checks of ``ppl-signature``."""

    machine: Machine
    instruction: Instruction
    signature: Signature
    call: Call

    def crowded(self, first: Arg, most: int) -> None:
        count = len(self.call.args)
        report(
            self.machine,
            first.span,
            f"{count} positional arguments fit {spoken(self.instruction)}",
            f"`{self.call.text}` takes {most} positional arguments, {count} are given",
        )

    def unknown(self, keyword: str, argument: Arg) -> None:
        close = difflib.get_close_matches(keyword, self.signature.names, 1)
        report(
            self.machine,
            argument.span,
            f"`{keyword}` is a parameter of {spoken(self.instruction)}",
            f"`{self.call.text}` has no parameter `{keyword}`",
            (f"did you mean `{close[0]}`?",) if close else (),
        )

    def twice(self, keyword: str, argument: Arg) -> None:
        report(
            self.machine,
            argument.span,
            f"`{keyword}` is given once",
            f"`{self.call.text}` is given `{keyword}` twice",
        )

    def missing(self, parameters: tuple[Parameter, ...]) -> None:
        listed = " and ".join(f"`{p.name}`" for p in parameters)
        report(
            self.machine,
            self.call.span,
            f"{listed} is given",
            f"`{self.call.text}` is called without {listed}",
        )


def report(
    machine: Machine, span: Span, text: str, message: str, help: tuple[str, ...] = ()
) -> None:
    machine.check(SIGNATURE_RULE, E.FALSE, span, text, message, facts=("PPL-A06",), help=help)
