"""The PPL dialect: what names, calls and operators of a kernel mean."""

from __future__ import annotations

from typing import Final

from verifier.dialects.ppl import host, names, signatures, tensors
from verifier.dialects.ppl.binding import bind
from verifier.dialects.ppl.emission import perform, spoken
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.trace import View
from verifier.symbolic.values import ApiRef, Opaque

#: Python's operators on tensors -> the function for integers and the one for floats
_OPERATORS: Final[dict[str, str]] = {
    "+": "tiu.fadd",
    "-": "tiu.fsub",
    "*": "tiu.fmul",
    "/": "tiu.truediv",
    "&": "tiu.bitwise_and",
    "|": "tiu.bitwise_or",
    "^": "tiu.bitwise_xor",
    "<": "tiu.lt",
    ">": "tiu.gt",
    "==": "tiu.eq",
}


class PplDialect:
    """:class:`verifier.symbolic.machine.Dialect` for ``ppl.language``."""

    name = "ppl"

    def __init__(self) -> None:
        #: calls of ``gtensor`` whose result has no name: as an argument they are no tensors yet
        self._unnamed: set[Span] = set()

    def root(self, dotted: str) -> object | None:
        """The value of an imported dotted name, or None if it is not of PPL."""
        return names.root(dotted)

    def external(self, path: str) -> object | None:
        """Nothing of other libraries means anything to PPL."""
        return None

    def attribute(self, machine: Machine, owner: ApiRef, attr: str, span: Span) -> object | None:
        """``owner.attr``, or None if PPL has no such name."""
        return names.attribute(owner, attr)

    def call(self, machine: Machine, api: ApiRef, call: Call) -> object:
        """A call of an API function: an operation, a tensor, a number."""
        handler = host.HANDLERS.get(api.name)
        if handler is not None:
            if api.name == "pl.gtensor" and call.target_name is None:
                self._unnamed.add(call.span)
            return handler(machine, call)
        signature = signatures.find(api.name)
        if signature is None:
            machine.unmodelled(spoken(api.name.removeprefix("pl.")), call.span)
            return Opaque(f"the result of {call.text}, which is not modelled")
        bound = bind(machine, signature, call)
        if not bound.complete:
            return Opaque(f"the result of {call.text} without its arguments")
        self._inline(machine, signature, call)
        return perform(machine, signature, bound, call)

    def _inline(self, machine: Machine, signature: signatures.Signature, call: Call) -> None:
        """A global tensor made in the call itself is not one yet: the call does nothing (C07)."""
        if signature.engine != "dma":
            return
        for argument in (*call.args, *call.keywords.values()):
            if argument.span in self._unnamed and isinstance(argument.value, View):
                machine.check(
                    "ppl-inline-gtensor",
                    E.FALSE,
                    argument.span,
                    "the global tensor has a name or a view before it is moved",
                    f"`{call.text}` does nothing with a global tensor that is made in the call",
                    facts=("PPL-C07",),
                    help=("give it a name first, or take a sub_view of it",),
                )

    def api_subscript(self, machine: Machine, api: ApiRef, index: object, span: Span) -> object:
        """``name[index]`` of the API means nothing."""
        return Opaque(f"{api.name}[...]", harmless=True)

    def view_attribute(self, machine: Machine, view: View, attr: str, span: Span) -> object | None:
        """Data attributes of tensors."""
        return tensors.attribute(view, attr)

    def view_method(self, machine: Machine, view: View, method: str, call: Call) -> object | None:
        """``sub_view``, ``view``; None if there is no such method."""
        return tensors.method(machine, view, method, call)

    def subscript(self, machine: Machine, view: View, index: object, span: Span) -> object:
        """``tensor[a:b, ...]``."""
        return tensors.subscript(machine, view, index, span)

    def operator(
        self, machine: Machine, op: str, left: object, right: object, span: Span
    ) -> object | None:
        """``a + b`` of tensors: the device function, with a new tensor as result."""
        name = _OPERATORS.get(op)
        signature = signatures.find(name) if name is not None else None
        if signature is None or right is None:
            return None
        call = Call((Arg(left, span), Arg(right, span)), {}, span, f"`{op}`")
        return perform(machine, signature, bind(machine, signature, call), call)

    def store(
        self,
        machine: Machine,
        target: View,
        value: object,
        op: str | None,
        span: Span,
        value_span: Span,
    ) -> None:
        """``t[...] = value`` is no statement of PPL (PPL-C05)."""
        machine.check(
            "ppl-statement",
            E.FALSE,
            span,
            "parts of tensors are written by device functions",
            f"a part of `{target.name}` is assigned",
            facts=("PPL-C05",),
            help=("use `pl.tiu.move(part, value)`",),
        )
