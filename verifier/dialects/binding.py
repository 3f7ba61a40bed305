"""Binding the arguments of a call to the parameters of a function, as Python would.

What does not fit is said by the dialect, in its words: :class:`Faults`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, Protocol

from msgspec import Struct

from verifier.dialects.signature import Parameter, Signature
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    Enumerator,
    ExternalRef,
    IndexMask,
    IndexTensor,
    Missing,
    Register,
)

_KNOWN: Final = (
    *(Expr, Bool, int, float, str, DType, View),
    *(Enumerator, BufferValue, ApiRef, ExternalRef, IndexTensor, IndexMask, Missing, Register),
)


class Bound(Struct, frozen=True):
    """Arguments of a call by parameter, defaults included, in signature order.

    ``complete`` is False when a required argument is missing or is nothing that it could be.
    ``result``: the destination was left out, so that the call returns a new tensor.
    ``followed`` is False when an argument could not be seen through.
    """

    signature: Signature
    operands: dict[str, Operand]
    complete: bool
    result: bool = False
    followed: bool = True

    def value(self, name: str) -> object:
        operand = self.operands.get(name)
        return operand.value if operand is not None else None

    def span(self, name: str, otherwise: Span) -> Span:
        operand = self.operands.get(name)
        return operand.span if operand is not None else otherwise

    def given(self, name: str) -> bool:
        operand = self.operands.get(name)
        return operand is not None and operand.given


def is_known(value: object) -> bool:
    """Whether rules can see what an argument is; an input of which nothing is said they cannot."""
    if isinstance(value, (tuple, list)):
        return all(map(is_known, value))
    return value is None or isinstance(value, _KNOWN)


class Faults(Protocol):
    """What a dialect says of arguments that do not fit."""

    def crowded(self, first: Arg, most: int) -> None:
        """There are more than ``most`` positional arguments; ``first`` is one too many."""
        ...

    def unknown(self, keyword: str, argument: Arg) -> str | None:
        """There is no such parameter; the one that was probably meant, if any."""
        ...

    def twice(self, keyword: str, argument: Arg) -> None:
        """A parameter is given by position, or under another name, as well."""
        ...

    def missing(self, parameters: tuple[Parameter, ...]) -> None:
        """Parameters without a default are not given."""
        ...


def _same(keyword: str) -> str:
    return keyword


def assigned(
    signature: Signature,
    call: Call,
    faults: Faults,
    *,
    left_out: tuple[str, ...] = (),
    parameter_of: Callable[[str], str] = _same,
) -> dict[str, Arg]:
    """The arguments by parameter.

    ``left_out``: parameters that the call does without; ``parameter_of``: the parameter that a
    keyword means.
    """
    arguments: dict[str, Arg] = {}
    positional = [p for p in signature.positional if p.name not in left_out]
    for parameter, argument in zip(positional, call.args, strict=False):
        arguments[parameter.name] = argument
    if len(call.args) > len(positional) and not signature.variadic:
        faults.crowded(call.args[len(positional)], len(positional))
    for keyword, argument in call.keywords.items():
        name = parameter_of(keyword)
        if name not in signature.names:
            meant = faults.unknown(keyword, argument)
            again = meant in arguments or (meant != keyword and meant in call.keywords)
            if meant is not None and not again:
                arguments[meant] = argument
        elif name in arguments:
            faults.twice(keyword, argument)
        else:
            arguments[name] = argument
    missing = tuple(
        p
        for p in signature.parameters
        if p.default is None and p.name not in arguments and p.name not in left_out
    )
    if missing:
        faults.missing(missing)
    return arguments


def bound(
    signature: Signature,
    call: Call,
    arguments: Mapping[str, Arg],
    default: Callable[[str], object],
    *,
    left_out: tuple[str, ...] = (),
) -> Bound:
    """The arguments and the defaults; ``default`` gives the value of a default's text."""
    operands: dict[str, Operand] = {}
    complete = True
    for parameter in signature.parameters:
        name = parameter.name
        given = arguments.get(name)
        if given is not None:
            operands[name] = Operand(name, given.value, given.span)
        elif parameter.default is not None:
            operands[name] = Operand(name, default(parameter.default), call.span, given=False)
        elif name not in left_out:
            complete = False
    return Bound(signature, operands, complete, result=bool(left_out))


@cache
def literal(text: str) -> object:
    """The value of a default that is a literal; integers as the interpreter has them.

    Raises:
        ValueError: it is none.
    """
    value: object = ast.literal_eval(text)
    if isinstance(value, int) and not isinstance(value, bool):
        return E.const(value)
    return value
