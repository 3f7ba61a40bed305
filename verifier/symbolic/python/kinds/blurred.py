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
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.integers import bounded_unknown
from verifier.symbolic.python.kind import Iteration, Kind
from verifier.symbolic.python.kinds import blurredtexts
from verifier.symbolic.python.kinds.external import OpaqueKind
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, OpaqueOf, Ratio, SliceValue


class BlurredKind(OpaqueKind):
    """What its type does not take is CPython's error; everything else is not followed."""

    def describe(self, vm: VM, value: Any) -> str:
        return "a string" if value.host is str else f"a {value.host.__name__}"

    def type_of(self, vm: VM, value: Any) -> object:
        return super().type_of(vm, value) if value.loose else HostType(value.host)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        there = hasattr(value.host, name) or (value.loose and hasattr(int, name))
        if not there or value.loose:
            return _plain(value) if there else UNBOUND
        return _attribute(vm, value, name, span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        what = self.describe(vm, value)
        vm.fault(AttributeError, f"`.{name}` of {what} cannot be assigned to", span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        answer = probes.refused(vm, operator.getitem, (value, index), span)
        if not isinstance(index, SliceValue) or not _cuts(index):
            return vm.unfollowed(f"an item of {self.describe(vm, value)} is not followed", span)
        return _result(answer, value, index)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        what = self.describe(vm, value)
        vm.fault(TypeError, f"{what} does not support assignment to items", span)

    # -- operators -----------------------------------------------------------------------

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        answer = probes.refused(vm, UNARY[op], (value,), span)
        if value.interval is not None and not value.loose:
            ends = [UNARY[op](end) for end in value.interval]
            return floatbounds.a_float((min(ends), max(ends)))
        return _result(answer, value)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        found = super().binary(vm, op, left, right, span)
        if found is NotImplemented:
            return found
        return _operated(vm, op, left, right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return _operated(vm, op, left, right, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            probes.refused(vm, COMPARISONS[op], (left, right), span)
        found = super().compare(vm, op, left, right, span)
        return _plain(found) if isinstance(found, Opaque) else found

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        probes.refused(vm, operator.contains, (value, item), span)
        return _plain(value)

    # -- protocols -----------------------------------------------------------------------

    def length(self, vm: VM, value: Any, span: Span) -> object:
        probes.refused(vm, len, (value,), span)
        if value.loose:
            return _plain(value)
        return bounded_unknown(vm, "the length of a text is not followed", span, 0)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        probes.refused(vm, iter, (value,), span)
        return super().iterate(vm, value, span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        vm.fault(TypeError, f"{self.describe(vm, value)} is not callable", call.span)
        return _plain(value)

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        if value.loose:
            vm.unfollowed(f"whether {value.reason} is an integer", span)
            return super().as_int(vm, value, span)
        help_ = ("divide with `//`",) if value.host is float else ()
        message = f"{self.describe(vm, value)} is used as an integer"
        vm.fault(TypeError, message, span, text="the value is an integer", help=help_)
        return None


def _attribute(vm: VM, value: OpaqueOf, name: str, span: Span) -> object:
    """What there is, of a value whose type is certain."""
    if value.host is str and not name.startswith("__"):
        return blurredtexts.attribute(vm, value, name)
    if name in ("real", "imag"):
        return OpaqueOf(value.reason, value.harmless, host=float)
    return vm.unfollowed(f"`.{name}` of a value that is not known", span)


def _cuts(index: SliceValue) -> bool:
    """Whether a slice is one of every text: its step is not zero."""
    step = index.step
    if isinstance(step, Expr) and not (step.is_const and step.const):
        return False
    parts = (index.start, index.stop, step)
    return all(part is None or isinstance(part, Expr) for part in parts)


def _plain(value: Opaque) -> Opaque:
    """A value that is not followed, nor its type."""
    return Opaque(value.reason, value.harmless, value.lost)


def _result(answer: Any, *operands: object) -> Opaque:
    """What is not followed either, of the type of a sample of it."""
    opaque = [_plain(value) for value in operands if isinstance(value, Opaque)]
    worst = next((value for value in opaque if not value.harmless), opaque[0])
    known = probes.blurred(answer, worst.reason, worst.harmless)
    return worst if known is None else known


def _operated(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """``left op right`` of which one is of a type alone."""
    formats = op == "%" and isinstance(probes.sample(vm, left), (str, bytes))
    if formats:  # whether it takes what it is given, the text says
        return vm.unfollowed("`%` on a text is not followed", span)
    answer = probes.refused(vm, OPERATORS[op], (left, right), span)
    if all(map(_is_real, (left, right))):
        return _computed(vm, op, left, right, span)
    if all(_is_real(value) or _is_host(value, float) for value in (left, right)):
        return _of_either(vm, op, left, right, answer, span)
    if op in ("/", "//", "%") and _is_host(right, float):
        floatbounds.divides(vm, right, span)
    if op in ("/", "//", "%", "**") and any(_is_host(v, complex) for v in (left, right)):
        return vm.unfollowed(f"`{op}` of a complex number that is not known", span)
    return _result(answer, left, right)


def _is_host(value: object, host: type) -> bool:
    return isinstance(value, OpaqueOf) and value.host is host


def _is_real(value: object) -> bool:
    """Whether a value is a real number; a float that may be an integer is one too."""
    known = isinstance(value, (Expr, Bool, bool, float, Ratio))
    return known or (_is_host(value, float) and not (isinstance(value, OpaqueOf) and value.loose))


def _of_either(vm: VM, op: str, left: object, right: object, answer: object, span: Span) -> object:
    """``left op right`` of real numbers of which one is a float or an integer, it is not known."""
    if op in ("/", "//", "%"):
        floatbounds.divides(vm, right, span)
    if op == "**":
        return vm.unfollowed("a power of floats that are not known", span)
    known = _result(answer, left, right)
    if isinstance(known, OpaqueOf):
        return known
    return OpaqueOf(known.reason, known.harmless, known.lost, host=float, loose=True)


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


KINDS: Final[dict[type, Kind]] = {OpaqueOf: BlurredKind(), **blurredtexts.KINDS}

__all__ = ["KINDS"]
