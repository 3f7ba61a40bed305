"""Parameters that are strings.

Where the path says which strings a parameter may be, each is what CPython says it is. Elsewhere its
equality is a condition on the inputs, what strings never take is CPython's error, and the rest is
not followed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import probes
from verifier.symbolic.python.concrete import COMPARISONS, OPERATORS, host_attribute
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.inputs import InputKind, Parameter, Word
from verifier.symbolic.python.integers import bounded_unknown
from verifier.symbolic.python.iteration import Items, Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.inputs import ParameterKind
from verifier.symbolic.python.kinds.text import STR
from verifier.symbolic.python.model import BoundBuiltin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.python.words import each, told
from verifier.symbolic.values import TEXT, DTypeText, Guarded, Opaque

#: operators that give a string for any two operands whose types they take
_TEXTS: Final = ("+", "*")


class WordKind(ParameterKind):
    """A parameter that is a string."""

    name = "str"

    def describe(self, vm: VM, value: Any) -> str:
        return f"the string `{value.name}`"

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(str) if value.kind is InputKind.STRING else super().type_of(vm, value)

    # -- attributes and items ----------------------------------------------------------

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if value.kind is not InputKind.STRING:
            return super().attribute(vm, value, name, span)
        if name not in STR:
            return host_attribute(vm, value, str, name, span)
        found = told(vm, value)
        return vm.each(found, lambda text: BoundBuiltin("str", name, text))

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        what = self.describe(vm, value)
        vm.fault(AttributeError, f"`.{name}` of {what} cannot be assigned to", span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        if value.kind is not InputKind.STRING:
            return super().item(vm, value, index, span)

        def otherwise() -> object:
            probes.refused(vm, operator.getitem, (value, index), span)
            return vm.unfollowed(f"an item of {self.describe(vm, value)} is not followed", span)

        return each(vm, value, lambda text: vm.item(text, index, span), otherwise)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        what = self.describe(vm, value)
        vm.fault(TypeError, f"{what} does not support assignment to items", span)

    # -- operators -----------------------------------------------------------------------

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        vm.fault(TypeError, f"{self.describe(vm, value)} has no unary `{op}`", span)
        return TEXT

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._operated(
            vm, op, (left, right), left, lambda text: vm.binary(op, text, right, span), span
        )

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return self._operated(
            vm, op, (left, right), right, lambda text: vm.binary(op, left, text, span), span
        )

    def _operated(
        self,
        vm: VM,
        op: str,
        sides: tuple[object, object],
        word: Word,
        known: Callable[[str], object],
        span: Span,
    ) -> object:
        """``left op right`` of which one is the word; what its type does not take is an error."""
        other = sides[1] if sides[0] is word else sides[0]
        if isinstance(other, Opaque):
            return other
        own = isinstance(vm.box(other), ObjectBox) and sides[0] is word
        if own or (isinstance(other, Parameter) and not isinstance(other, Word)):
            return NotImplemented  # it has an operator of its own, or what it is is not known

        def otherwise() -> object:
            # whether `%` takes what it is given, the text says
            formats = op == "%" and isinstance(sides[0], (str, Word))
            answer = None if formats else probes.refused(vm, OPERATORS[op], sides, span)
            if isinstance(answer, str) and op in _TEXTS:
                return TEXT
            if formats and isinstance(sides[0], str):
                return NotImplemented
            return vm.unfollowed(f"`{op}` on {self.describe(vm, word)} is not followed", span)

        return each(vm, word, known, otherwise)

    # -- comparison ----------------------------------------------------------------------

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if left.kind is not InputKind.STRING or isinstance(right, Opaque):
            return super().compare(vm, op, left, right, span)
        if right is left and op in ("==", "<=", ">="):
            return E.TRUE
        if isinstance(right, Word) or (op not in ("==", "!=") and isinstance(right, str)):
            return self._compared(vm, op, left, right, span)
        if isinstance(right, Parameter):
            return vm.unknown_bool(f"a comparison of `{left.name}` is not followed", span)
        if op not in ("==", "!="):
            if probes.sample(vm, right) is probes.UNSAMPLED:
                return NotImplemented
            probes.refused(vm, COMPARISONS[op], (left, right), span)
        if isinstance(right, (tuple, Expr, Bool, bool, float, complex, bytes)):
            return E.truth(op == "!=")
        return super().compare(vm, op, left, right, span)

    def _compared(self, vm: VM, op: str, left: Word, right: object, span: Span) -> object:
        """A comparison with what is certainly a string."""
        other = told(vm, right)

        def otherwise() -> object:
            if isinstance(other, str) and op in ("==", "!="):
                same = vm.inputs.string_equals(left, other)
                return same if op == "==" else E.not_(same)
            return vm.unknown_bool(f"a comparison of `{left.name}` is not followed", span)

        if isinstance(other, Word):
            return otherwise()
        return vm.each(
            other,
            lambda text: each(vm, left, lambda mine: vm.compare(op, mine, text, span), otherwise),
        )

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        if value.kind is not InputKind.STRING:
            return super().contains(vm, value, item, span)

        def otherwise() -> object:
            if item == "":
                return E.TRUE
            probes.refused(vm, operator.contains, (value, item), span)
            return vm.unknown_bool(f"what is in `{value.name}` is not followed", span)

        return each(vm, value, lambda text: vm.compare("in", item, text, span), otherwise)

    # -- protocols -----------------------------------------------------------------------

    def length(self, vm: VM, value: Any, span: Span) -> object:
        def otherwise() -> object:
            return bounded_unknown(vm, f"the length of `{value.name}`", span, 0)

        return each(vm, value, lambda text: E.const(len(text)), otherwise)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        found = told(vm, value)
        return Items(tuple(found)) if isinstance(found, str) else Unknown(f"`{value.name}`")

    def call(self, vm: VM, value: Any, call: Call) -> object:
        vm.fault(TypeError, f"{self.describe(vm, value)} is not callable", call.span)
        return TEXT

    def key(self, vm: VM, value: Any, span: Span) -> object:
        found = told(vm, value)
        return found if isinstance(found, str) else UNBOUND

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        if value.kind is not InputKind.STRING:
            return super().text(vm, value, how, span)
        if how == "s" and "dtype" in value.name:
            return DTypeText(vm.inputs.as_dtype(value))
        found = told(vm, value)
        if isinstance(found, (Guarded, str)):
            return vm.each(found, lambda text: text if how == "s" else repr(text))
        return TEXT

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        found = told(vm, value)
        return tuple(found) if isinstance(found, str) else None


KINDS: Final[dict[type, Kind[VM]]] = {Word: WordKind()}

__all__ = ["KINDS", "WordKind"]
