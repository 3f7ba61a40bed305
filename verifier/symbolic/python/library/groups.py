"""``itertools.groupby`` and ``itertools.tee``: iterators that share another one."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.heap import UNBOUND, ListBox, Segment, StateBox
from verifier.symbolic.python.kinds.iterators import (
    RUNNING,
    IteratorKind,
    step,
)
from verifier.symbolic.python.kinds.segments import sliced
from verifier.symbolic.python.kinds.sources import iterator_of
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.library.sharing import is_endless, rest_of, taken
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

# ------------------------------------------------------------------------ groupby


#: of so many keys it may depend on the inputs whether they are equal to the one before
MOST_DOUBTS: Final = 3
#: where the machine keeps how many keys of each ``groupby`` were such
_DOUBTS: Final = "keys of groups that may be equal"


def apart(
    vm: VM,
    ref: Ref,
    keys: tuple[object, object],
    ways: tuple[Callable[[], object], Callable[[], object]],
    span: Span,
) -> object:
    """Go on as two keys are equal or not.

    Where that is not known each way has items of its own, and each of these asks again: more than
    a few such keys are not followed.
    """
    same = vm.equal(*keys, span)
    if vm.decide(same) is None:
        doubts = vm.memo.setdefault(_DOUBTS, Counter())
        assert isinstance(doubts, Counter)
        doubts[ref] += 1
        if doubts[ref] > MOST_DOUBTS:
            return vm.unfollowed("`groupby` by keys of which many depend on the inputs", span)
    return vm.fork(same, *ways)


class GroupBy(IteratorKind):
    """``groupby``. ``value`` and ``current`` are the item that was taken last and its key."""

    host: ClassVar[type] = itertools.groupby

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        change(vm, ref, span, group=None)

        def look() -> object:
            fields = state_of(vm, ref).fields
            current, target = fields["current"], fields["target"]
            if current is UNBOUND:
                return take()
            if target is UNBOUND:
                return found()
            return apart(vm, ref, (target, current), (take, found), span)

        def take() -> object:
            vm.step(span)
            return self.step(vm, ref, span, look)

        def found() -> object:
            current = state_of(vm, ref).fields["current"]
            group = GROUP.make(vm, parent=ref, key=current, done=False)
            change(vm, ref, span, target=current, group=group)
            return (current, group)

        return look()

    def step(self, vm: VM, ref: Ref, span: Span, then: Any) -> object:
        """Take an item of the source, then go on; UNBOUND at its end."""

        def one(value: object) -> object:
            function = state_of(vm, ref).fields["function"]
            key = value if function is None else vm.call(function, (value,), span=span)
            change(vm, ref, span, value=value, current=key)
            return then()

        return step(vm, state_of(vm, ref).fields["source"], span, one)

    def endless(self, vm: VM, ref: Ref) -> bool:
        return is_endless(vm, state_of(vm, ref).fields["source"])


class Group(IteratorKind):
    """The items of one group."""

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(type(next(itertools.groupby("a"))[1]))

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        parent = fields["parent"]
        assert isinstance(parent, Ref)
        held = state_of(vm, parent).fields
        if vm.settled(held["group"]) != ref:
            return UNBOUND

        def hand_out() -> object:
            value = state_of(vm, parent).fields["value"]
            change(vm, parent, span, value=UNBOUND, current=UNBOUND)
            return value

        def check() -> object:
            now = state_of(vm, parent).fields
            keys = fields["key"], now["current"]
            return apart(vm, parent, keys, (hand_out, lambda: UNBOUND), span)

        if held["value"] is UNBOUND:
            return GROUPBY.step(vm, parent, span, check)
        return check()

    def endless(self, vm: VM, ref: Ref) -> bool:
        parent = state_of(vm, ref).fields["parent"]
        assert isinstance(parent, Ref)
        return GROUPBY.endless(vm, parent)


GROUPBY: Final = GroupBy()
GROUP: Final = Group()


def group_by(vm: VM, iterable: object, key: object, span: Span) -> Ref:
    """``groupby(iterable, key)``."""
    return GROUPBY.make(
        vm,
        source=iterator_of(vm, iterable, span),
        function=key,
        value=UNBOUND,
        current=UNBOUND,
        target=UNBOUND,
        group=None,
        done=False,
    )


# ------------------------------------------------------------------------ tee


class Tee(IteratorKind):
    """One of the iterators of ``tee``: ``kept`` is what any of them has taken."""

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(type(itertools.tee(())[0]))

    def _source(self, vm: VM, ref: Ref) -> object:
        return state_of(vm, state_of(vm, ref).fields["shared"]).fields["source"]

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        position, kept, source = fields["position"], fields["kept"], self._source(vm, ref)
        assert isinstance(position, Expr) and isinstance(kept, Ref)
        if fields["done"] is RUNNING:
            return vm.unfollowed("a `tee` under a loop that runs through it", span)

        def known() -> object:
            value = vm.item(kept, position, span)
            change(vm, ref, span, position=position + 1)
            return value

        def keep(item: object) -> object:
            vm.call(vm.attribute(kept, "append", span), (item,), span=span)
            change(vm, ref, span, position=position + 1)
            return item

        box = vm.box(kept)
        assert isinstance(box, ListBox)
        return vm.fork(E.lt(position, box.length), known, lambda: step(vm, source, span, keep))

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        fields = state_of(vm, ref).fields
        position, kept = fields["position"], vm.box(fields["kept"])
        left = rest_of(vm, self._source(vm, ref), span)
        assert isinstance(position, Expr) and isinstance(kept, ListBox)
        if left is None or fields["done"] is not False:
            return None
        first = sliced(vm, kept.segments, position, kept.length, 1)
        return None if first is None else (*first, *left)

    def begin(self, vm: VM, ref: Ref, span: Span) -> None:
        """The others go on with what was kept: all that was left."""
        fields = state_of(vm, ref).fields
        source, kept, shared = self._source(vm, ref), fields["kept"], fields["shared"]
        left = rest_of(vm, source, span)
        assert isinstance(kept, Ref) and isinstance(shared, Ref)
        box = vm.write(kept, span)
        assert isinstance(box, ListBox)
        box.segments = (*box.segments, *(left or ()))
        taken(vm, source, span)
        change(vm, shared, span, source=iterator_of(vm, (), span))
        super().begin(vm, ref, span)

    def endless(self, vm: VM, ref: Ref) -> bool:
        return is_endless(vm, self._source(vm, ref))


TEE: Final = Tee()


def tee_of(vm: VM, iterable: object, count: int, span: Span) -> tuple[object, ...]:
    """``tee(iterable, count)``."""
    if not count:
        return ()
    source = iterator_of(vm, iterable, span)
    box = vm.box(source)
    if isinstance(box, StateBox) and box.kind is TEE:  # it is the first one itself
        copies = (vm.heap.new(StateBox(TEE, dict(box.fields))) for _ in range(count - 1))
        return (source, *copies)[:count]
    kept = vm.heap.new(ListBox())
    shared = vm.heap.new(StateBox("tee", {"source": source}))
    return tuple(
        TEE.make(vm, shared=shared, kept=kept, position=E.const(0), done=False)
        for _ in range(count)
    )


__all__ = ["GROUPBY", "TEE", "group_by", "tee_of"]
