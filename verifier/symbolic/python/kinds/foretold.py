"""How ``list()`` and its like take items: they first ask how many there will be."""

from __future__ import annotations

from verifier.source.ir import Span
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.concrete import payload
from verifier.symbolic.python.heap import ObjectBox, Segment
from verifier.symbolic.python.kinds.protocols import as_length
from verifier.symbolic.python.kinds.segments import Way, segments_of, taken
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque


def foretold(vm: VM, value: object, span: Span) -> tuple[Segment, ...] | Way | None:
    """The items of an iterable, or the way through them; None: they are not followed."""
    return taken(vm, value, span, lambda one: foretell(vm, one, span))


def collected(vm: VM, value: object, span: Span) -> tuple[Segment, ...] | None:
    """The items of an iterable as segments, consumed; None: they are not followed."""
    return segments_of(vm, value, span, lambda one: foretell(vm, one, span))


def foretell(vm: VM, value: object, span: Span) -> None:
    """Ask an instance how many items there will be: what that raises, ``TypeError`` apart."""
    box = vm.box(value)
    if not isinstance(box, ObjectBox) or hierarchy.is_external(box.cls):
        return
    counts = hierarchy.overrides(vm, box.cls, "__len__")
    hints = hierarchy.overrides(vm, box.cls, "__length_hint__")

    def refused(error: object) -> object:
        return hinted(vm, value, box.cls, span) if hints else None

    if counts:
        attempt(vm, lambda: vm.length(value, span), TypeError, refused)
    else:
        refused(None)


def hinted(vm: VM, value: object, cls: object, span: Span) -> object:
    """What ``__length_hint__`` says, an integer that is not negative; None: it does not know."""
    found = hierarchy.lookup(vm, cls, "__length_hint__")

    def call() -> object:
        return vm.call(hierarchy.bind(vm, found, value, cls, span), (), span=span)

    def one(answer: object) -> object:
        if answer is NotImplemented or isinstance(answer, Opaque):
            return None
        held = payload(vm, answer)
        if as_formula(held) is None and not isinstance(held, Expr):
            vm.fault(TypeError, "`__length_hint__` must return an integer", span)
        return as_length(vm, held, span)

    return vm.each(attempt(vm, call, TypeError, lambda error: NotImplemented), one)
