"""The tensors in what a kernel returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.python import ranks
from verifier.symbolic.python.heap import Item, ListBox, Many
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.kinds.segments import renamed
from verifier.symbolic.python.parts import box_parts
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.values import Guarded, Opaque, PendingAdd, Ref

#: elements of a list that are looked at one by one
_EACH: Final = 16
#: values that are looked into: lists may hold themselves
_MOST: Final = 4096


class Returned(Struct):
    """Looks into a returned value: its tensors, each under the condition that it is one of them.

    ``unseen``: why not all of the value could be looked into. ``elements``: of indices of sequences
    of any length how many elements these have; their tensors are told apart by the index.
    """

    vm: VM
    span: Span
    views: dict[Bool, list[View]] = field(default_factory=dict)
    unseen: str = ""
    elements: dict[Sym, Expr] = field(default_factory=dict)

    def of(self, value: object) -> Returned:
        """What there is in a value."""
        vm = self.vm
        visited: set[tuple[int, Bool]] = set()  # a list may hold itself
        stack: list[tuple[Bool, object]] = [(E.TRUE, value)]
        for _ in range(_MOST):
            if not stack:
                return self
            under, item = stack.pop(0)
            if isinstance(item, View):
                self._add(under, item)
            elif isinstance(item, PendingAdd):
                self._add(under, item.view)
            elif isinstance(item, Parameter):
                if item.kind in (None, InputKind.TENSOR):  # what is only handed back is a tensor
                    self._add(under, ranks.tensor(vm, item, self.span))
            elif isinstance(item, Opaque):
                if not vm.kind(item).tensorless:
                    self.unseen = self.unseen or f"what is returned is not followed: {item.reason}"
            elif isinstance(item, Ref):
                if (item.id, under) not in visited:
                    visited.add((item.id, under))
                    stack.extend((E.and_(under, has), part) for has, part in self._parts(item))
            elif isinstance(item, Guarded):
                stack.extend((E.and_(under, guard), part) for guard, part in vm.cases(item))
            elif isinstance(item, tuple):
                stack.extend((under, part) for part in item)
        self.unseen = self.unseen or "what is returned is not followed"
        return self

    def _add(self, under: Bool, view: View) -> None:
        self.views.setdefault(under, []).append(view)

    def _parts(self, ref: Ref) -> Iterator[tuple[Bool, object]]:
        """What is in a box, each with the condition that it is."""
        box = self.vm.heap.get(ref.id)
        if not isinstance(box, ListBox):
            yield from ((E.TRUE, part) for part in box_parts(box))
            return
        for segment in box.segments:
            if isinstance(segment, Item):
                yield E.TRUE, segment.value
            else:
                there = _some(segment.count)
                yield from ((there, part) for part in self._run(segment))

    def _run(self, run: Many) -> Iterator[object]:
        """The elements of a run: of a short one each, else any one of those that there are."""
        if run.count.is_const and run.count.const <= _EACH:
            trips = [E.const(trip) for trip in range(run.count.const)]
        else:
            trip = E.fresh(run.index.name, 0, None, E.Origin.POINT)
            (symbol,) = trip.free()
            self.elements[symbol] = run.count
            trips = [trip]
        for trip in trips:
            for value in run.values:
                yield renamed(self.vm, run, value, trip)


def _some(count: Expr) -> Bool:
    """That a run has an element; of one that a flag puts there, that flag itself."""
    flag = count.as_atom()
    if isinstance(flag, E.Ite) and flag.then is E.const(1) and flag.other is E.const(0):
        return flag.test
    return E.ge(count, 1)
