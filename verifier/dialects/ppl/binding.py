"""Binding the arguments of a call to the signature of a device function."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from verifier.dialects.ppl import names
from verifier.dialects.ppl.signatures import Parameter, Signature, literal
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.tensors import Operand, View

SIGNATURE_RULE = "ppl-signature"

#: the functions of packages take their destination under several names
_OTHER_NAMES = {
    "output": "dst",
    "out": "dst",
    "input": "src",
    "pointer": "src",
    "filter": "weight",
    "insert": "ins",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """Arguments by parameter, defaults included; ``complete``: nothing that is needed is missing.

    ``result``: the destination was left out, so that the call returns a new tensor.
    """

    operands: dict[str, Operand]
    complete: bool
    result: bool = False


def bind(machine: Machine, signature: Signature, call: Call) -> Bound:
    """Assign arguments to parameters; what does not fit is reported (``ppl-signature``)."""
    parameters = signature.parameters
    result = signature.returns and _left_out(signature, call)
    positional = [p for p in parameters[1 if result else 0 :] if not p.keyword_only]
    arguments: dict[str, Arg] = {}
    for position, argument in enumerate(call.args):
        if position >= len(positional):
            report(
                machine,
                argument.span,
                f"{len(call.args)} positional arguments fit pl.{signature.name}",
                f"`{call.text}` takes {len(positional)} positional arguments, "
                f"{len(call.args)} are given",
            )
            break
        arguments[positional[position].name] = argument
    for written, argument in call.keywords.items():
        keyword = written
        if keyword not in signature.names:
            keyword = _OTHER_NAMES.get(written, written)
        if keyword not in signature.names:
            close = difflib.get_close_matches(written, signature.names, 1)
            report(
                machine,
                argument.span,
                f"`{written}` is a parameter of pl.{signature.name}",
                f"`{call.text}` has no parameter `{written}`",
                (f"did you mean `{close[0]}`?",) if close else (),
            )
        elif keyword in arguments:
            report(
                machine,
                argument.span,
                f"`{written}` is given once",
                f"`{call.text}` is given `{written}` twice",
            )
        else:
            arguments[keyword] = argument
    operands: dict[str, Operand] = {}
    missing: list[Parameter] = []
    for parameter in parameters:
        given = arguments.get(parameter.name)
        if given is not None:
            operands[parameter.name] = Operand(parameter.name, given.value, given.span)
        elif parameter.default is not None:
            value = default_value(parameter.default)
            operands[parameter.name] = Operand(parameter.name, value, call.span, given=False)
        elif not (result and parameter is parameters[0]) and not (
            signature.name == "tiu.fscale" and parameter.name in ("scale", "bias")
        ):
            missing.append(parameter)
    if missing:
        listed = " and ".join(f"`{p.name}`" for p in missing)
        report(
            machine,
            call.span,
            f"{listed} is given",
            f"`{call.text}` is called without {listed}",
        )
    return Bound(operands, not missing, result)


def _left_out(signature: Signature, call: Call) -> bool:
    """Whether a call has no destination: one positional argument less than there are."""
    if "dst" in call.keywords or "out" in call.keywords or "output" in call.keywords:
        return False
    needed = [p for p in signature.parameters if p.tensor and not p.keyword_only]
    given = [a for a in call.args if _is_data(a.value)]
    named = [k for k in call.keywords if _OTHER_NAMES.get(k, k) in {p.name for p in needed}]
    return len(given) + len(named) < len(needed)


def _is_data(value: object) -> bool:
    """Whether an argument is a tensor or a number, not a dtype or a mode."""
    from verifier.symbolic.tensors import DType
    from verifier.symbolic.values import Enumerator

    return not isinstance(value, (DType, Enumerator, str, bool)) and value is not None


def default_value(text: str) -> object:
    """The value of a default as written in the table."""
    value = literal(text)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return E.const(value)
    return names.value(text)


def report(
    machine: Machine, span: Span, text: str, message: str, help: tuple[str, ...] = ()
) -> None:
    machine.check(SIGNATURE_RULE, E.FALSE, span, text, message, facts=("PPL-A06",), help=help)


def tensor_of(value: object) -> View | None:
    """The tensor an argument is, without making a parameter one."""
    return value if isinstance(value, View) else None
