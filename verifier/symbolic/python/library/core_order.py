"""Built-in functions that run through an iterable: all, any, sum, min, max, sorted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.choices import spelt
from verifier.symbolic.python.concrete import run, to_host
from verifier.symbolic.python.flow import Exit, Wait
from verifier.symbolic.python.heap import (
    UNBOUND,
    DictBox,
    Item,
    ListBox,
    Many,
    Segment,
    SetBox,
    StateBox,
)
from verifier.symbolic.python.kinds.elements import unordered_items
from verifier.symbolic.python.kinds.foretold import collected
from verifier.symbolic.python.kinds.segments import segments_of, values_in
from verifier.symbolic.python.library.core_numbers import number_of
from verifier.symbolic.python.library.sorting import sort_values
from verifier.symbolic.python.lifting import unfollowed_operand
from verifier.symbolic.python.model import DictView, GeneratorExpression
from verifier.symbolic.python.terms import as_formula, join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import (
    ExternalRef,
    Guarded,
    HostUse,
    Opaque,
    OpaqueOf,
    Range,
    Ref,
    unsure,
)

ORDER: Final = Table()

#: symbolic integers that are put in order by exchanging them
_MAX_EXCHANGED = 8


class _Cell:
    """A variable of the machine's own, which forks and joins as the program's do."""

    def __init__(self, vm: VM, value: object) -> None:
        self.vm = vm
        self.ref = vm.heap.new(StateBox("cell", {"value": value}))

    def get(self) -> object:
        box = self.vm.heap.get(self.ref.id)
        assert isinstance(box, StateBox)
        return self.vm.settled(box.fields["value"])

    def set(self, value: object) -> None:
        box = self.vm.heap.write(self.ref.id)
        assert isinstance(box, StateBox)
        box.fields["value"] = value


def _listed(vm: VM, iterable: object, span: Span) -> tuple[object, ...] | None:
    """The items of a container if they are all there; what runs code for them is not asked."""
    if isinstance(iterable, tuple):
        return iterable
    box = vm.box(iterable)
    if isinstance(box, SetBox):
        return _in_any_order(vm, iterable)
    return box.concrete if isinstance(box, ListBox) else None


def _in_any_order(vm: VM, iterable: object) -> tuple[object, ...] | None:
    """The items of a set for whom their order is all the same: integers, strings and such."""
    box = vm.box(iterable)
    if not isinstance(box, SetBox):
        return None
    items = unordered_items(vm, iterable, vm.trace.span)
    return items if items is not None and all(map(_ordered, items)) else None


def _segments(vm: VM, iterable: object, key: object, span: Span) -> tuple[Segment, ...] | None:
    """The items of an iterable that are put in order or compared."""
    items = _in_any_order(vm, iterable) if key is None else None
    return segments_of(vm, iterable, span) if items is None else ListBox.of(items).segments


def _ordered(item: object) -> bool:
    if isinstance(item, tuple):
        return all(map(_ordered, item))
    return isinstance(item, (Expr, bool, str, bytes))


# ------------------------------------------------------------------------ all, any


@ORDER.add("all")
def _all(vm: VM, span: Span, iterable: object, /) -> object:
    return vm.each(iterable, lambda v: _quantified(vm, v, False, span))


@ORDER.add("any")
def _any(vm: VM, span: Span, iterable: object, /) -> object:
    return vm.each(iterable, lambda v: _quantified(vm, v, True, span))


def _quantified(vm: VM, iterable: object, stops: bool, span: Span) -> object:
    """``any`` (``stops`` True) or ``all``: the items up to the first that settles it."""
    known = unfollowed_operand(vm, (iterable,), span)
    if known is not None:
        return known
    items = _listed(vm, iterable, span)
    if items is not None and all(_pure(vm, item) for item in items):
        tests = [vm.truth(item, span) for item in items]
        return E.or_(*tests) if stops else E.and_(*tests)
    answer = _Cell(vm, E.truth(not stops))

    def stop() -> None:
        answer.set(E.truth(stops))
        vm.leave(Exit.BREAK, None, span)

    def body(item: object) -> None:
        test = vm.truth(item, span)
        vm.fork(test if stops else E.not_(test), stop, lambda: None)

    vm.gathered(Wait.LOOP, lambda: vm.iterate(iterable, body, span))
    return answer.get()


def _pure(vm: VM, value: object) -> bool:
    if isinstance(value, Guarded):
        return all(vm.kind(item).pure for _, item in value.cases)
    return vm.kind(value).pure


# ------------------------------------------------------------------------ sum


@ORDER.add("sum")
def _sum(vm: VM, span: Span, iterable: object, /, start: object = UNBOUND) -> object:
    first = E.const(0) if start is UNBOUND else start
    if isinstance(first, (str, bytes)):
        name = type(first).__name__
        vm.fault(TypeError, f"sum() can't sum {name} objects: use `.join()`", span)
    return vm.each(iterable, lambda v: folded(vm, "+", v, first, span))


def folded(vm: VM, op: str, iterable: object, first: object, span: Span) -> object:
    """``first op item op item ...``."""
    known = unfollowed_operand(vm, (iterable,), span)
    if known is not None:
        return known
    items = _listed(vm, iterable, span)
    if isinstance(vm.box(iterable), SetBox):
        # the order of other sums than those of integers matters
        if not all(isinstance(item, (Expr, bool)) for item in (first, *(items or ()))):
            items = None
    if items is not None:
        held = [to_host(vm, item) for item in (first, *items)]
        if op == "+" and all(isinstance(value, (int, float)) for value in held):
            return run(vm, span, sum, held[1:], held[0])  # of floats with less rounding than `+`
        total = first
        for item in items:
            total = vm.binary(op, total, item, span)
        return total
    total = _closed(vm, iterable, first, span) if op == "+" else UNBOUND
    if total is not UNBOUND:
        return total
    cell = _Cell(vm, first)
    vm.iterate(iterable, lambda item: cell.set(vm.binary(op, cell.get(), item, span)), span)
    return cell.get()


def _of_entries(box: DictBox, first: Expr) -> object:
    """The sum of the integers in a dictionary, whose order is all the same."""
    total = first
    for value in box.items.values():
        for guard, item in value.cases if isinstance(value, Guarded) else ((E.TRUE, value),):
            if item is UNBOUND:
                continue
            if not isinstance(item, Expr):
                return UNBOUND
            total = total + E.ite(guard, item, 0)
    return total


def _closed(vm: VM, iterable: object, first: object, span: Span) -> object:
    """The sum of arithmetic progressions; :data:`UNBOUND` if the iterable is none."""
    if isinstance(iterable, DictView) and iterable.which == "values" and isinstance(first, Expr):
        box = vm.box(iterable.ref)
        return _of_entries(box, first) if isinstance(box, DictBox) else UNBOUND
    if not isinstance(iterable, Range) and not isinstance(vm.box(iterable), ListBox):
        return UNBOUND
    segments = segments_of(vm, iterable, span)
    if segments is None or not isinstance(first, Expr):
        return UNBOUND
    total = first
    for segment in segments:
        if isinstance(segment, Item):
            if not isinstance(segment.value, Expr):
                return UNBOUND
            total = total + segment.value
            continue
        for value in segment.values:
            parts = _progression(segment, value)
            if parts is None:
                return UNBOUND
            start, step = parts
            count = segment.count
            total = total + start * count + step * (count * (count - 1) // 2)
    return total


def _progression(run: Many, value: object) -> tuple[Expr, Expr] | None:
    """Where the values of a run start and what they go up by, if that is the same each time."""
    if not isinstance(value, Expr):
        return None
    index = E.from_atom(run.index)
    step = E.Substitution({run.index: index + 1}).expr(value) - value
    if run.index in step.free():
        return None
    return E.Substitution({run.index: E.const(0)}).expr(value), step


# ------------------------------------------------------------------------ min, max


@ORDER.add("min")
def _min(
    vm: VM, span: Span, /, *args: object, key: object = None, default: object = UNBOUND
) -> object:
    return _extremum(vm, "min", args, key, default, span)


@ORDER.add("max")
def _max(
    vm: VM, span: Span, /, *args: object, key: object = None, default: object = UNBOUND
) -> object:
    return _extremum(vm, "max", args, key, default, span)


def _extremum(
    vm: VM, which: str, args: tuple[object, ...], key: object, default: object, span: Span
) -> object:
    if not args:
        vm.fault(TypeError, f"{which} expected at least 1 argument, got 0", span)
    if len(args) > 1:
        if default is not UNBOUND:
            message = f"cannot specify a default for {which}() with several arguments"
            vm.fault(TypeError, message, span)
        return _best(vm, which, args, key, span)
    return vm.each(args[0], lambda v: _of_iterable(vm, which, v, key, default, span))


def _of_iterable(
    vm: VM, which: str, iterable: object, key: object, default: object, span: Span
) -> object:
    known = unfollowed_operand(vm, (iterable,), span)
    if known is not None:
        return known
    segments = _segments(vm, iterable, key, span)
    if segments is None:
        return vm.unfollowed(f"`{which}()` of a sequence that is not followed", span)
    items = values_in(segments)
    if items:
        return _best(vm, which, items, key, span)
    if items is not None:
        return _of_nothing(vm, which, default, span)
    told = spelt(vm, segments)
    if told is not None:
        return vm.apart(told, lambda v: _of_iterable(vm, which, v, key, default, span))
    empty = E.eq(ListBox(segments).length, 0)
    return vm.fork(
        empty,
        lambda: _of_nothing(vm, which, default, span),
        lambda: _of_runs(vm, which, segments, key, span),
    )


def _of_nothing(vm: VM, which: str, default: object, span: Span) -> object:
    if default is UNBOUND:
        vm.fault(ValueError, f"{which}() of an empty sequence", span)
    return default


def _of_runs(vm: VM, which: str, segments: Sequence[Segment], key: object, span: Span) -> object:
    """The extremum of a sequence whose length is a symbol; it is not empty."""
    best = E.maximum if which == "max" else E.minimum
    ends: list[Expr] = []
    for segment in segments:
        values = (segment.value,) if isinstance(segment, Item) else segment.values
        if key is not None or not all(isinstance(value, Expr) for value in values):
            return vm.unfollowed(f"`{which}()` of a run is not followed", span)
        for value in values:
            parts = _progression(segment, value) if isinstance(segment, Many) else None
            if parts is None or len(segments) > 1:  # a run among others may be empty
                return vm.unknown_int(f"the {which}imum of a sequence of symbolic length", span)
            start, step = parts
            assert isinstance(segment, Many)
            ends.extend((start, start + step * (segment.count - 1)))
    return best(*ends)


def _best(vm: VM, which: str, items: Sequence[object], key: object, span: Span) -> object:
    keys = [_key(vm, key, item, span) for item in items]
    if any(vm.of_device(HostUse.EXTREMUM, k, span) is not None for k in keys):
        return Opaque(f"{which}() of what only the device knows")
    if key is None and any(isinstance(candidate, Expr) for candidate in keys):
        # next to sizes, what is not followed is taken for one: the others bound the result
        keys = [_size(vm, candidate, span) for candidate in keys]
    best: object = items[0] if key is not None else keys[0]
    top = keys[0]
    op = ">" if which == "max" else "<"
    for item, candidate in zip(items[1:], keys[1:], strict=True):
        if key is None and isinstance(candidate, Expr) and isinstance(top, Expr):
            best = top = (E.maximum if which == "max" else E.minimum)(top, candidate)
            continue
        answer = vm.compare(op, candidate, top, span)
        lost = _undecided(vm, which, answer, span)
        if lost is not None:
            return lost
        better = vm.truth(answer, span)
        best = _chosen(vm, better, candidate if key is None else item, best)
        top = best if key is None else _chosen(vm, better, candidate, top)
    return best


def _undecided(vm: VM, which: str, answer: object, span: Span) -> Opaque | None:
    """What the extremum is if a comparison says nothing; None if it does."""
    for _, case in vm.cases(answer):
        if isinstance(case, Opaque):
            said = f"{which}() of what is not followed"
            return unsure(said) if isinstance(case, OpaqueOf) else Opaque(said, case.harmless)
        if as_formula(case) is None and not vm.kind(case).complete:
            return vm.unfollowed(f"`{which}()` of these is not followed", span)
    return None


def _size(vm: VM, value: object, span: Span) -> object:
    if isinstance(value, Opaque) and value.harmless:
        return value
    return vm.as_int(value, span) if isinstance(value, (Opaque, ExternalRef)) else value


def _chosen(vm: VM, test: Bool, then: object, other: object) -> object:
    known = vm.decide(test)
    if known is not None:
        return then if known else other
    return join(test, then, other)


def _key(vm: VM, key: object, item: object, span: Span) -> object:
    """What an item is compared by."""
    if key is None:
        return vm.each(item, lambda v: number_of(vm, v, span)) if _loose(item) else item
    return vm.call(key, (item,), span=span)


def _loose(item: object) -> bool:
    """Whether a value may turn out to be a number."""
    return not isinstance(item, (Expr, Bool, bool, float, str, tuple, Ref))


# ------------------------------------------------------------------------ sorted


@ORDER.add("sorted")
def _sorted(
    vm: VM, span: Span, iterable: object, /, *, key: object = None, reverse: object = False
) -> object:
    return vm.each(iterable, lambda v: _in_order(vm, v, key, reverse, span))


def _in_order(vm: VM, iterable: object, key: object, reverse: object, span: Span) -> object:
    known = unfollowed_operand(vm, (iterable,), span)
    if known is not None:
        return known
    settled = _in_any_order(vm, iterable) if key is None else None
    segments = collected(vm, iterable, span) if settled is None else ListBox.of(settled).segments
    items = None if segments is None else values_in(segments)
    if items is None:
        told = None if segments is None else spelt(vm, segments)
        if told is not None:
            return vm.apart(told, lambda v: _in_order(vm, v, key, reverse, span))
        if isinstance(iterable, GeneratorExpression) or segments is not None:
            return vm.unfollowed("sorting a sequence of symbolic length is not followed", span)
        return vm.unfollowed("`sorted()` of a sequence that is not followed", span)
    ordered = sort_values(vm, items, span, key=key, reverse=reverse)
    if ordered is None:
        numbers = [item for item in items if isinstance(item, Expr)]
        backwards = vm.decide(vm.truth(reverse, span))
        if key is not None or backwards is None or not len(numbers) == len(items) <= _MAX_EXCHANGED:
            return vm.unfollowed("the order of a sort depends on the inputs", span)
        exchanged = _exchanged(numbers)
        ordered = tuple(reversed(exchanged) if backwards else exchanged)
    return vm.heap.new(ListBox.of(ordered))


def _exchanged(numbers: list[Expr]) -> list[Expr]:
    out = list(numbers)
    for end in range(len(out) - 1, 0, -1):
        for k in range(end):
            out[k], out[k + 1] = E.minimum(out[k], out[k + 1]), E.maximum(out[k], out[k + 1])
    return out
