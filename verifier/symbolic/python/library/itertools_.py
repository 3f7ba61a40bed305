"""``itertools``: lazy iterators, and the combinatoric ones."""

from __future__ import annotations

import itertools
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, Item, Many, Segment
from verifier.symbolic.python.kinds.iterators import IteratorKind, step
from verifier.symbolic.python.kinds.segments import MAX_LENGTH, index_symbol, integer, pick, raises
from verifier.symbolic.python.kinds.sources import SequenceIterator, iterator_of
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.library.groups import group_by, tee_of
from verifier.symbolic.python.library.it_choices import CHOICES
from verifier.symbolic.python.library.it_functions import FUNCTIONS
from verifier.symbolic.python.library.it_pieces import PIECES, batched, chain_from_iterable
from verifier.symbolic.python.library.sharing import is_endless
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

#: the types of the module, by name
TYPES: Final = Table("itertools")
#: its functions
_PLAIN: Final = Table("itertools")

# ------------------------------------------------------------------------ count, repeat, cycle


class Count(IteratorKind):
    host = itertools.count

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        value = fields["value"]
        change(vm, ref, span, value=vm.binary("+", value, fields["step"], span))
        return value


COUNT: Final = Count()


@TYPES.add("count")
def _count(vm: VM, span: Span, /, start: object = E.const(0), step: object = E.const(1)) -> object:
    for value in (start, step):
        if isinstance(value, Opaque):
            return value
    return COUNT.make(vm, value=start, step=step, done=False)


class Repeat(SequenceIterator):
    """``repeat(object, times)``; without ``times`` it never ends."""

    host = itertools.repeat

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(itertools.repeat)

    def at(self, vm: VM, source: object, position: Expr, span: Span) -> object:
        assert isinstance(source, tuple)
        return source[0]

    def within(self, vm: VM, source: object, position: Expr, span: Span) -> E.Bool:
        assert isinstance(source, tuple)
        return E.TRUE if source[1] is None else E.lt(position, source[1])

    def segments(self, vm: VM, ref: Ref) -> tuple[Segment, ...] | None:
        source = state_of(vm, ref).fields["source"]
        assert isinstance(source, tuple)
        value, times = source
        if times is None:
            return None
        if times.is_const and times.const <= MAX_LENGTH:
            return tuple(Item(value) for _ in range(times.const))
        return (Many(E.maximum(times, 0), index_symbol(), (value,)),)

    def endless(self, vm: VM, ref: Ref) -> bool:
        source = state_of(vm, ref).fields["source"]
        assert isinstance(source, tuple)
        return source[1] is not None and not source[1].is_const


REPEAT: Final = Repeat()


@TYPES.add("repeat")
def _repeat(vm: VM, span: Span, /, object: object, times: object = UNBOUND) -> object:
    number = None if times is UNBOUND else integer(vm, times, "times", span)
    if number is None and times is not UNBOUND:
        return vm.unfollowed("how often `repeat` repeats is not followed", span)
    return REPEAT.make(vm, source=(object, number), position=E.const(0), done=False)


class Cycle(IteratorKind):
    host = itertools.cycle

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        if fields["first"] is not True:
            return self._again(vm, ref, span)

        def keep(item: object) -> object:
            saved = state_of(vm, ref).fields["saved"]
            if not isinstance(saved, tuple):  # on several paths it has seen different items
                return vm.unfollowed("what a `cycle` has seen is not followed", span)
            change(vm, ref, span, saved=(*saved, item))
            return item

        def turn() -> object:
            change(vm, ref, span, first=False)
            return self._again(vm, ref, span)

        return step(vm, fields["source"], span, keep, turn)

    def _again(self, vm: VM, ref: Ref, span: Span) -> object:
        fields = state_of(vm, ref).fields
        saved, position = fields["saved"], fields["position"]
        if not isinstance(saved, tuple) or not isinstance(position, Expr):
            return vm.unfollowed("a `cycle` whose items depend on the path", span)
        if not saved:
            return UNBOUND
        change(vm, ref, span, position=(position + 1) % len(saved))
        return pick(vm, tuple(Item(value) for value in saved), position)

    def endless(self, vm: VM, ref: Ref) -> bool:
        fields = state_of(vm, ref).fields
        return fields["first"] is not False and is_endless(vm, fields["source"])


CYCLE: Final = Cycle()


@TYPES.add("cycle")
def _cycle(vm: VM, span: Span, iterable: object, /) -> object:
    source = iterator_of(vm, iterable, span)
    return CYCLE.make(vm, source=source, saved=(), position=E.const(0), first=True, done=False)


# ------------------------------------------------------------------------ the module


@TYPES.add("groupby")
def _groupby(vm: VM, span: Span, /, iterable: object, key: object = None) -> object:
    return group_by(vm, iterable, key, span)


@_PLAIN.add("tee")
def _tee(vm: VM, span: Span, iterable: object, n: object = E.const(2), /) -> object:
    count = integer(vm, n, "n", span)
    if count is None or not count.is_const or count.const > MAX_LENGTH:
        return vm.unfollowed("how many iterators `tee` gives is not followed", span)
    raises(vm, ValueError, "n must be >= 0", span, E.lt(count, 0))
    return tee_of(vm, iterable, count.const, span)


TYPES.update({**PIECES, **FUNCTIONS, **CHOICES})
CONSTRUCTORS: Final[dict[type, Builtin]] = {
    getattr(itertools, name): model for name, model in TYPES.items()
}
_chain_table: Final = Table("chain")
_chain_table.add("from_iterable")(chain_from_iterable)
METHODS: Final = {"chain": _chain_table}
MODULES: Final[dict[str, dict[str, object]]] = {
    "itertools": {
        **{name: HostType(getattr(itertools, name)) for name in TYPES},
        **_PLAIN,
        "batched": Builtin.of("batched", batched),
    }
}
if hasattr(itertools, "batched"):
    CONSTRUCTORS[itertools.batched] = Builtin.of("batched", batched)
    MODULES["itertools"]["batched"] = HostType(itertools.batched)

__all__ = ["CONSTRUCTORS", "METHODS", "MODULES"]
