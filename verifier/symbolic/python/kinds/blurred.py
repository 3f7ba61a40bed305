"""Values of which nothing is known but their type: a float that was rounded, a text with sizes."""

from __future__ import annotations

import operator
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import floatbounds, probes, quotients
from verifier.symbolic.python.concrete import COMPARISONS, OPERATORS, UNARY
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, SetBox
from verifier.symbolic.python.integers import bounded_unknown
from verifier.symbolic.python.iteration import Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds import blurredtexts, external
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import IndexTensor, Opaque, OpaqueOf, Ratio, SliceValue

#: types whose slices and lengths cannot fail
_SEQUENCES: Final = (str, bytes, tuple)


class BlurredKind(Kind[VM]):
    """What no value of its type may refuse is of the type that comes of it.

    What its type does not take is CPython's error; everything else is not followed.
    """

    name = "value of a built-in type"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        if value.host is object:
            return str(value.reason)
        said = {str: "string", bool: "truth value"}.get(value.host, value.host.__name__)
        return f"a {said}"

    def type_of(self, vm: VM, value: Any) -> object:
        if value.loose or value.host is object:
            return Opaque(f"the type of {value.reason}", lost=True)
        return HostType(value.host)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if value.host is object:
            return _unfollowed(vm, f"`.{name}`", value, span)
        if not (hasattr(value.host, name) or (value.loose and hasattr(int, name))):
            return UNBOUND
        if name == "__class__":
            return vm.type_of(value)
        if value.host is str and not name.startswith("__"):
            return blurredtexts.attribute(vm, value, name)
        if value.host is float and name in ("real", "imag"):
            return OpaqueOf(value.reason, value.harmless, host=float, loose=value.loose)
        return _unfollowed(vm, f"`.{name}`", value, span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        what = self.describe(vm, value)
        if value.host is object:
            vm.unfollowed(f"`.{name}` of {what} is assigned to", span)
            return
        vm.fault(AttributeError, f"`.{name}` of {what} cannot be assigned to", span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        probes.refused(vm, operator.getitem, (value, index), span)
        if value.host not in _SEQUENCES or not isinstance(index, SliceValue) or not _cuts(index):
            return _unfollowed(vm, "an item", value, span)
        return OpaqueOf(value.reason, value.harmless, host=value.host)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        what = self.describe(vm, value)
        if value.host is object:
            vm.unfollowed(f"an item of {what} is assigned to", span)
            return
        vm.fault(TypeError, f"{what} does not support assignment to items", span)

    # -- operators -----------------------------------------------------------------------

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        answer = probes.refused(vm, UNARY[op], (value,), span)
        if value.loose:  # `refused` has seen to `~`
            return OpaqueOf(value.reason, value.harmless, host=float, loose=True)
        if value.interval is not None:
            ends = [UNARY[op](end) for end in value.interval]
            return floatbounds.a_float((min(ends), max(ends)))
        return _made(vm, f"`{op}`", answer, value, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if isinstance(right, IndexTensor):
            return NotImplemented  # the array knows its axes whatever the number is
        return _operated(vm, op, left, right, right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return _operated(vm, op, left, right, left, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if _is_foreign(vm, right):
            external.meet(vm, left, right, span)
            return _of_library(left, right)
        if op in ("==", "!="):
            if right is None and left.host is not object:
                return op == "!="
            return OpaqueOf(left.reason, left.harmless, host=bool)
        answer = probes.refused(vm, COMPARISONS[op], (left, right), span)
        if left.host is tuple:
            answer = probes.UNSAMPLED  # items are compared
        return _made(vm, f"`{op}`", answer, left, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        if value.host is str and isinstance(item, Opaque) and not isinstance(item, OpaqueOf):
            vm.may_raise(item.reason, span)
            return _of_library(value, item)
        answer = probes.refused(vm, operator.contains, (value, item), span)
        if value.host is not str:
            answer = probes.UNSAMPLED
        return _made(vm, "`in`", answer, value, span)

    # -- protocols -----------------------------------------------------------------------

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return vm.unknown_bool(f"a condition depends on {value.reason}", span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        probes.refused(vm, len, (value,), span)
        if value.host not in _SEQUENCES:
            return _unfollowed(vm, "the length", value, span)
        return bounded_unknown(vm, "the length of a text is not followed", span, 0)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        probes.refused(vm, iter, (value,), span)
        return Unknown(_unfollowed(vm, "a loop over the items", value, span).reason)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        if value.host is object:
            return _unfollowed(vm, "a call", value, call.span)
        vm.fault(TypeError, f"{self.describe(vm, value)} is not callable", call.span)
        raise AssertionError  # pragma: no cover - the path has ended

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        if value.host is bool:
            return bounded_unknown(vm, f"a size depends on {value.reason}", span, 0, 1)
        if value.loose or value.host is object:
            _unfollowed(vm, "an integer", value, span)
            return vm.unknown_int(f"a size depends on {value.reason}", span)
        help_ = ("divide with `//`",) if value.host is float else ()
        message = f"{self.describe(vm, value)} is used as an integer"
        vm.fault(TypeError, message, span, text="the value is an integer", help=help_)
        return None

    def as_dtype(self, vm: VM, value: Any, span: Span) -> DType | None:
        return external.some_dtype(vm, value.reason, span)


def _unfollowed(vm: VM, what: str, value: OpaqueOf, span: Span) -> Opaque:
    """What a value of its type may refuse."""
    return vm.unfollowed(f"{what} of {value.reason} is not followed", span)


def _cuts(index: SliceValue) -> bool:
    """Whether a slice is one of every text: its step is not zero."""
    step = index.step
    if isinstance(step, Expr) and not (step.is_const and step.const):
        return False
    parts = (index.start, index.stop, step)
    return all(part is None or isinstance(part, Expr) for part in parts)


def _is_foreign(vm: VM, value: object) -> bool:
    """Whether a value is a library's, or an object with methods: they say what an operator is."""
    if isinstance(value, Opaque):
        return not isinstance(value, OpaqueOf)
    known = (Expr, Bool, bool, float, complex, str, bytes, type(None), Ratio, tuple)
    box = vm.box(value)
    return not isinstance(value, known) and not isinstance(box, (ListBox, DictBox, SetBox))


def _of_library(value: OpaqueOf, other: object) -> Opaque:
    """What comes of a value and of one of a library, which may have any type."""
    known = isinstance(other, Opaque) and (not other.harmless or other.lost)
    return other if known and isinstance(other, Opaque) else Opaque(value.reason, value.harmless)


def _made(vm: VM, what: str, answer: object, value: OpaqueOf, span: Span) -> object:
    """What comes of an operation that cannot fail, by a sample of it."""
    if type(answer) is int:
        return vm.unknown_int(f"{what} of {value.reason} is not followed", span)
    known = probes.blurred(answer, value.reason, value.harmless)
    return _unfollowed(vm, what, value, span) if known is None else known


def _operated(vm: VM, op: str, left: object, right: object, other: object, span: Span) -> object:
    """``left op right`` of which one is of a type alone."""
    mine = left if other is right else right
    assert isinstance(mine, OpaqueOf)
    if op == "%" and isinstance(probes.sample(vm, left), (str, bytes)):
        return _unfollowed(vm, "`%`", mine, span)  # whether it takes this, the text says
    answer = probes.refused(vm, OPERATORS[op], (left, right), span)
    if _is_foreign(vm, other):
        external.meet(vm, mine, other, span)
        if isinstance(other, Opaque) and not other.harmless:
            vm.may_raise(other.reason, span)
        return _of_library(mine, other)
    if all(map(_is_real, (left, right))):
        return _computed(vm, op, left, right, span)
    if all(_is_real(value) or _is_host(value, float) for value in (left, right)):
        return _of_either(vm, op, left, right, span)
    if op not in "+-*&|^":
        return _unfollowed(vm, f"`{op}`", mine, span)
    return _made(vm, f"`{op}`", answer, mine, span)


def _is_host(value: object, host: type) -> bool:
    return isinstance(value, OpaqueOf) and value.host is host


def _is_real(value: object) -> bool:
    """Whether a value is a real number; a float that may be an integer is one too."""
    known = isinstance(value, (Expr, Bool, bool, float, Ratio))
    return known or (_is_host(value, float) and not (isinstance(value, OpaqueOf) and value.loose))


def _of_either(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """``left op right`` of real numbers of which one is a float or an integer, it is not known."""
    if op in ("/", "//", "%"):
        floatbounds.divides(vm, right, span)
    if op == "**":
        return vm.unfollowed("a power of floats that are not known", span)
    loose = op != "/" and not any(
        isinstance(value, (float, Ratio)) or (isinstance(value, OpaqueOf) and not value.loose)
        for value in (left, right)
    )
    return OpaqueOf("a float", harmless=True, host=float, loose=loose)


def _computed(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """``left op right`` of real numbers of which one is a float that is not known."""
    for value in (left, right):
        if isinstance(value, Expr):
            quotients.quotient(vm, value, E.const(1), span)
    if op in ("/", "//", "%"):
        floatbounds.divides(vm, right, span)
    if op == "**":
        return floatbounds.power(vm, left, right, span)
    sides = [floatbounds.interval_of(vm, value, span) for value in (left, right)]
    return floatbounds.a_float(floatbounds.combined(op, *sides))


KINDS: Final[dict[type, Kind[VM]]] = {OpaqueOf: BlurredKind(), **blurredtexts.KINDS}

__all__ = ["KINDS"]
