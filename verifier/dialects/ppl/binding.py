"""Binding the arguments of a call to the parameters of a device function."""

from __future__ import annotations

import difflib
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.binding import Bound, assigned, bound, literal
from verifier.dialects.ppl import names, parameters, trailing, wrapped
from verifier.dialects.ppl.compiling import is_constant_argument
from verifier.dialects.ppl.isa import signature
from verifier.dialects.ppl.trailing import Given
from verifier.dialects.signature import Parameter, Signature
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.python.vm import VM
from verifier.symbolic.roles import Takes
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.values import Enumerator, Ratio

SIGNATURE_RULE = "ppl-signature"


def spoken(instruction: Instruction) -> str:
    """A function as users write it: ``pl.tiu.fmul``."""
    return f"pl.{instruction.name.partition('.')[2]}"


def sorted_call(machine: VM, instruction: Instruction, call: Call) -> Call:
    """A call with what is no operand under its name, as the front end takes it."""
    if not trailing.sorts(instruction):
        return call
    kinds = [_kind(machine, argument) for argument in call.args]
    taken = trailing.taken(instruction, kinds, call.keywords)
    operands = tuple(each for k, each in enumerate(call.args) if k not in taken)
    named = {name: call.args[k] for k, name in taken.items()}
    return replace(call, args=operands, keywords={**call.keywords, **named})


def _kind(machine: VM, argument: Arg) -> Given:
    value = argument.value
    if isinstance(value, DType) or value is names.VOID:
        return Given.DTYPE
    if isinstance(value, Enumerator):
        return Given.MODE if value.kind == "round" else Given.OPERAND
    if isinstance(value, View) or not is_constant_argument(machine, argument.span):
        return Given.OPERAND
    number = value.const if isinstance(value, Expr) and value.is_const else value
    truth = isinstance(number, (bool, int, float)) and int(number) in (0, 1)
    return Given.TRUTH if truth else Given.CONSTANT


def bind(machine: Machine, instruction: Instruction, call: Call) -> Bound:
    """Assign arguments to parameters; what does not fit is reported (``ppl-signature``).

    Operands have the names of the description then, whatever the function calls them.
    """
    known = signature(instruction)
    result = instruction.result is not None and _left_out(instruction, known, call)
    left_out = (known.parameters[0].name,) if result else ()
    arguments = assigned(
        known,
        call,
        _Faults(machine, instruction, known, call),
        left_out=left_out,
        parameter_of=lambda keyword: _parameter(known, keyword),
    )
    return _described(instruction, bound(known, call, arguments, default_value, left_out=left_out))


def _described(instruction: Instruction, given: Bound) -> Bound:
    """The same with the names of the roles."""
    roles = {p.name: instruction.role(p.name) for p in given.signature.parameters}
    names_ = {name: name if role is None else role.name for name, role in roles.items()}
    parameters = tuple(replace(p, name=names_[p.name]) for p in given.signature.parameters)
    operands = {
        names_[name]: replace(operand, role=names_[name])
        for name, operand in given.operands.items()
    }
    return replace(
        given, signature=replace(given.signature, parameters=parameters), operands=operands
    )


def _parameter(known: Signature, keyword: str) -> str:
    """The parameter that a keyword means; some have no name that a call could give them by."""
    return "" if any(p.nameless for p in known.parameters if p.name == keyword) else keyword


def _meant(instruction: Instruction | None, known: Signature, keyword: str) -> str | None:
    """The parameter that has the name, or that the operand of that name is given by."""
    if keyword in known.names:
        return keyword
    if instruction is None or (role := instruction.role(keyword)) is None:
        return None
    return next((n for n in known.names if instruction.role(n) is role), None)


def _left_out(instruction: Instruction, known: Signature, call: Call) -> bool:
    """Whether a call has no destination: one tensor or number less than there are."""
    first = known.parameters[0].name
    named = {_meant(instruction, known, keyword) for keyword in call.keywords}
    if first in named:
        return False
    needed = {p.name for p in known.positional if p.default is None and _is_operand(instruction, p)}
    plain = all(_is_operand(instruction, p) for p in known.positional)
    given = [argument for argument in call.args if plain or _is_data(argument.value)]
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


def fits(machine: Machine, name: str, call: Call) -> None:
    """Whether a call of a function without a description has the arguments that it takes."""
    known = parameters.of(name)
    if known is None:
        return
    for parameter, argument in assigned(known, call, _Faults(machine, None, known, call)).items():
        wanted = parameters.OBJECTS.get(parameter)
        if wanted is not None and argument.value is not None:
            taken(machine, call.text, parameter, wanted, argument.span, argument.value)


_NUMBER: Final = "a number"


def taken(
    machine: Machine, text: str, parameter: str, wanted: str, span: Span, value: object
) -> bool:
    """Whether a function may take an argument; what it certainly does not take is reported."""
    number = isinstance(value, (Expr, Bool, bool, int, float, Ratio))
    given = _NUMBER if number else wrapped.held(value)
    if not given or not wanted or given == wanted or (number and wanted.endswith(_NUMBER)):
        return True
    report(
        machine,
        span,
        f"`{parameter}` is {wanted}",
        f"`{text}` takes {wanted} as `{parameter}`, {given} is given",
    )
    return False


class _Faults(Struct, frozen=True):
    """:class:`verifier.dialects.binding.Faults` as checks of ``ppl-signature``."""

    machine: Machine
    instruction: Instruction | None
    signature: Signature
    call: Call

    @property
    def shown(self) -> str:
        return self.call.text if self.instruction is None else spoken(self.instruction)

    def crowded(self, first: Arg, most: int) -> None:
        count = len(self.call.args)
        report(
            self.machine,
            first.span,
            f"{count} positional arguments fit {self.shown}",
            f"`{self.call.text}` takes {most} positional arguments, {count} are given",
        )

    def unknown(self, keyword: str, argument: Arg) -> str | None:
        meant = _meant(self.instruction, self.signature, keyword)
        if meant == keyword:
            report(
                self.machine,
                argument.span,
                f"{self.shown} is given `{keyword}` by its place",
                f"`{self.call.text}` takes no keyword `{keyword}`",
                ("leave the name out",),
            )
            return meant
        named = [p.name for p in self.signature.parameters if not p.nameless]
        close = [meant] if meant in named else difflib.get_close_matches(keyword, named, 1)
        report(
            self.machine,
            argument.span,
            f"`{keyword}` is a parameter of {self.shown}",
            f"`{self.call.text}` has no parameter `{keyword}`",
            (f"did you mean `{close[0]}`?",) if close else (),
        )
        return meant

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
