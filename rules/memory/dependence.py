"""Loops that promise independent iterations, and program instances that share their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.beta1 import TWINS
from rules.memory import examples
from rules.memory.alike import alike
from rules.memory.cases import Copy, apart, before, contains, copy, covered, dominates
from rules.memory.order import (
    Barriers,
    Foreign,
    disordered,
    reader,
    reads_of_others,
    result_of,
    writing,
)
from rules.memory.runtime import apart_there
from rules.memory.winners import Winner, seen_within, winners
from rules.memory.words import allocation_note, element
from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import Chip
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Rule, Whose, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.events import (
    CarriedRead,
    CarriedWrite,
    Met,
    Reordered,
)
from verifier.symbolic.memory.index import Access, Index, Uses, index, tensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import LoopKind, StorageKind
from verifier.symbolic.trace import Trace


class SideBySide(Struct, frozen=True, eq=False):
    """What runs at the same time, and how a report speaks of it.

    ``words`` and ``help`` are filled with the index of the loop, ``words`` first with what leads to
    it.
    """

    words: str
    facts: tuple[str, ...]
    #: what is said where the index is made
    place: str
    help: str


ITERATIONS: Final = SideBySide(
    "iterations of {}`{}`",
    ("NKI-LP02", "NKI-E32"),
    "the loop is here",
    "an affine_range promises independent iterations: make the place depend on `{}`, or use a "
    "sequential_range",
)
INSTANCES: Final = SideBySide(
    "program instances",
    ("NKI-L65", "NKI-E32"),
    "the program index",
    "make the place that is written depend on the program index",
)
CORES: Final = SideBySide(
    "cores",
    ("PPL-B13",),
    "the program index",
    "make the place that is written depend on the index of the core",
)


def carried_dependences(trace: Trace, target: Target) -> Iterable[Check]:
    """Per loop without order: no two iterations write one place, none reads what another writes."""
    table = index(trace)
    barriers = Barriers.of(trace)
    for uses in table.storages:
        # A constant is an array of the host, filled before any instance or iteration starts.
        if not uses.writes or uses.storage.kind is StorageKind.CONSTANT:
            continue
        buffer = uses.storage.buffer
        if trace.generation.on_cores:
            for level in range(len(trace.grid)):
                yield from _overlapping_writes(table, uses, level, CORES, barriers)
        elif trace.grid and uses.storage.common:
            told = chain.from_iterable(
                _overlapping_writes(table, uses, level, INSTANCES, barriers)
                for level in range(len(trace.grid))
            )
            read = map(_read_of_other, reads_of_others(table, uses, barriers))
            for check in chain(told, read):
                yield check if trace.grid_asked else _left_open(check)
        if trace.generation.reorders:
            for level in _levels(uses):
                yield from _overlapping_writes(table, uses, level, ITERATIONS, _NONE)
                if buffer.on_chip:
                    yield from (_last_one(found, level) for found in winners(table, uses, level))
                yield from _carried(uses, level)


def _left_open(check: Check) -> Check:
    """Of instances that all do the same; one may still spoil what another one needs."""
    if check.predicate is E.TRUE:
        return check
    reason = "all program instances do the same: whether that is meant is not known"
    return replace(check, exact=False, reason=reason)


#: iterations of a loop wait for nobody
_NONE = Barriers((), ())


def _levels(uses: Uses) -> list[int]:
    """The depths at which an access lies in an affine loop that does not make the storage anew."""
    found: dict[int, None] = {}
    for access in uses.writes:
        for level, loop in enumerate(access.loops):
            if loop.kind.unordered and loop not in uses.storage.loops:
                found.setdefault(level)
    return sorted(found)


def _unordered(access: Access, uses: Uses, level: int, beside: SideBySide) -> bool:
    if level >= len(access.loops):
        return False
    loop = access.loops[level]
    if access.view.buffer.on_chip and beside is CORES:
        return False  # each core has its own
    if beside is ITERATIONS:
        return loop.kind.unordered and loop not in uses.storage.loops
    return loop.kind is LoopKind.GRID


def _overlapping_writes(
    table: Index, uses: Uses, level: int, beside: SideBySide, barriers: Barriers
) -> Iterator[Check]:
    writes = [
        write
        for write in uses.writes
        if _unordered(write, uses, level, beside) and not write.operation.adds
    ]  # (a sum reads what it adds to)
    if beside is ITERATIONS:
        writes = _first_of_each(table, uses, writes, level)
    for position, first in enumerate(writes):
        for second in writes[position:]:
            if first.loops[level] is not second.loops[level]:
                continue
            deed = writing(table, first)
            if beside is not ITERATIONS and not deed.needs_order(writing(table, second)):
                continue
            tied = barriers.tied(first, second)
            if tied is None:
                continue
            yield from _disjoint(table, *tied, level, beside)
            if first is not second:
                yield from _disjoint(table, tied[1], tied[0], tied[2], level, beside)


def _first_of_each(table: Index, uses: Uses, writes: list[Access], level: int) -> list[Access]:
    """Those that show alone where iterations of loops at a depth write one element.

    One that only writes over what its iteration has written before shows nothing more; nor does
    one over what it has read before, for that is a read of what another iteration writes.
    """
    own = [write for write in writes if not result_of(table, write.operation, write.loops[level])]
    return [
        write
        for write in own
        if not seen_within(uses, own, write)
        and not any(
            level < len(before.loops)
            and dominates(before, write)
            and contains(before.view, write.view)
            for before in own
        )
    ]


def _disjoint(
    table: Index, first: Access, second: Access, known: bool, level: int, beside: SideBySide
) -> Iterator[Check]:
    """``first`` in one iteration and ``second`` in a later one touch different elements.

    Program instances that write the same numbers may touch the same elements.

    ``known``: what is given of them says all there is of barriers between them.
    """
    loop, storage = first.loops[level], first.view.storage
    other = copy(second, level, above=loop.index, instance=tensor(first.view))
    predicate, given, reason = _no_common_element(first, known, other)
    apart, same, open_ = predicate, E.FALSE, ""
    if other is not None and predicate is not E.TRUE and beside is not ITERATIONS:
        same, open_ = _alike(table, first, second, level, other)
        predicate = E.or_(predicate, same)
    later = loop.index if other is None else other.at[0]
    index_name = loop.name or "i"
    one = E.fresh(f"one {index_name}", 0, None, E.Origin.POINT)
    another = E.fresh(f"another {index_name}", 0, None, E.Origin.POINT)
    where = element(first.view)
    if predicate is not E.TRUE:
        given = (*given, E.eq(one, loop.index), E.eq(another, later), *where.given)
    again = second.operation.span if second is not first else None
    words = _written_once(beside, index_name, storage.name, first.span, again, loop.span)
    check = replace(
        words,
        predicate=predicate,
        given=given,
        values=(
            (f"one {index_name}", one),
            (f"another {index_name}", another),
            *where.values,
        ),
        notes=(*words.notes, allocation_note(storage)),
        severity=_severity(loop.kind),
        exact=not reason,
        reason=reason,
        runtime=apart_there(first.view, other.view, loop) if known and other is not None else "",
        enough=apart if predicate is not apart else E.FALSE,
        path=first.path,
        order=first.order,
    )
    yield check
    if open_ and same is not E.FALSE and not reason:
        alone = (*check.given, same)
        doubt = f"whether {open_} is not known"
        held = f"{open_}: taken to be so"
        yield replace(check, predicate=apart, given=alone, exact=False, reason=doubt, runtime=held)


def _written_once(
    beside: SideBySide,
    index: str,
    name: str,
    span: Span,
    again: Span | None,
    around: Span,
    used: Span | None = None,
) -> Check:
    """No two of those that run side by side write one element of ``name``.

    ``again``: where the second of them writes. ``around``: the loop, or the program index.
    ``used``: where a sum on chip that one of them sets and another adds to is read.
    """
    notes = [Note(around, beside.place)]
    if again is not None:
        notes.insert(0, Note(again, "and written here"))
    if used is not None:
        notes.append(Note(used, "behind the loop, this is what one of them has left"))
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"no two {beside.words.format('', index)} write the same element of `{name}`",
        message=f"two {beside.words.format('the loop over ', index)} write the same part of "
        f"`{name}`",
        facts=beside.facts,
        notes=tuple(notes),
        help=(beside.help.format(index),),
    )


def _no_common_element(
    first: Access, known: bool, other: Copy | None
) -> tuple[Bool, tuple[Bool, ...], str]:
    """What must hold of them, what is given, and why that is not exact, if so."""
    if other is None:
        return E.TRUE, (), ""
    predicate, exact = apart(first.view, other.view)
    reason = ""
    if not exact:
        reason = f"where `{first.view.storage.name}` is written is not known exactly"
    elif not known:
        reason = "how often the instances wait for each other is not known"
    return predicate, (*first.ranges, *other.ranges), reason


def _last_one(found: Winner, level: int) -> Check:
    """What is read behind a loop without order is not what its last iteration has left."""
    first, second, read = found.first, found.second, found.read
    loop, storage = first.loops[level], read.view.storage
    spans = {write.operation.span for write in (first, second)}
    # either of them may come last: said once, in the order of the text
    one, *other = sorted(spans, key=lambda span: (span.line, span.column))
    again = other[0] if other else None
    where = element(read.view)
    words = _written_once(
        ITERATIONS, loop.name or "i", storage.name, one, again, loop.span, read.span
    )
    return replace(
        words,
        predicate=found.predicate,
        given=(*found.given, *where.given) if found.predicate is not E.TRUE else (),
        values=where.values,
        severity=_severity(loop.kind),
        exact=found.exact,
        reason="" if found.exact else f"what the loop leaves in `{storage.name}` is not known",
        path=read.path,
        order=read.order,
    )


def _alike(
    table: Index, first: Access, second: Access, level: int, other: Copy
) -> tuple[Bool, str]:
    """When the instance of ``first`` and that of ``second``, which is ``other``, write the same.

    Where sizes are no numbers, that is asked of the same iteration of the loops around them only.
    The text says what it rests on besides.
    """
    loops = second.loops[level:]
    if len(other.private) != len(loops):
        return E.FALSE, ""
    pairs = [(loop, its.index) for loop, its in zip(loops, other.private, strict=True)]
    there = {loop.symbol: index for loop, index in pairs if loop.kind is LoopKind.GRID}
    turn = {loop.symbol: index for loop, index in pairs if loop.kind is not LoopKind.GRID}
    terms = (*first.view.coords, *first.view.shape, *(loop.trips for loop in loops))
    if not any(s.origin is E.Origin.INPUT for term in terms for s in term.free()):
        return alike(table, first.operation, second.operation, there, turn)
    same, open_ = alike(table, first.operation, second.operation, there, {})
    together = (E.eq(E.from_atom(symbol), index) for symbol, index in turn.items())
    return E.and_(same, *together), open_


def _read_of_other(found: Foreign) -> Check:
    """No instance reads what another one writes, unless all wait for each other in between."""
    read, name = found.read, found.read.view.storage.name
    values: list[tuple[str, Expr]] = []
    given = found.given
    for position, (here, there) in enumerate(zip(found.here, found.there, strict=True)):
        which = f" {position}" if len(found.here) > 1 else ""
        for role, index_ in (("reads", here), ("writes", there)):
            named = E.fresh(f"program{which} that {role}", 0, None, E.Origin.POINT)
            values.append((f"program{which} that {role}", named))
            given = (*given, E.eq(named, index_))
    exact = found.exact
    return replace(
        _own_only(name, read.span, found.write.operation.span),
        predicate=found.predicate,
        given=given,
        values=tuple(values),
        exact=exact,
        reason="" if exact else f"where `{name}` is accessed, and when, is not known exactly",
        path=read.path,
        order=read.order,
    )


def _own_only(name: str, span: Span, written: Span) -> Check:
    """No instance reads what another one writes, unless something orders the two."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"no program instance reads what another one writes to `{name}`",
        message=(
            f"a program instance reads what another one writes to `{name}`, with no barrier in "
            "between"
        ),
        facts=("NKI-BAR03",),
        notes=(Note(written, "written here"),),
        help=(
            f"call `nisa.core_barrier(data={name}, ...)` before reading what another core writes: "
            "a barrier for another tensor does not order these",
        ),
    )


def met(event: Met, target: Hardware) -> Iterator[Check]:
    """Two instances of a run, or two cores of a TPU, come to one element."""
    if not disordered(event):
        return
    # told where the first of them writes, whichever is run before the other
    first, second = reader(event)
    if first.deed.combines or not first.deed.writes:
        yield _own_only(event.name, first.span, second.span)
        return
    again = second.span if second.span != first.span else None
    beside = CORES if isinstance(target, Chip) else INSTANCES
    words = _written_once(beside, "", event.name, first.span, again, first.span)
    yield replace(words, notes=tuple(note for note in words.notes if note.span != first.span))


def carried_write(event: CarriedWrite, target: Target) -> Iterator[Check]:
    """Two iterations of a run write one element."""
    # which of them was run first is chance: said once, in the order of the text
    first, second = sorted((event.span, event.again), key=lambda span: (span.line, span.column))
    again = second if second != first else None
    words = _written_once(ITERATIONS, event.index, event.name, first, again, event.loop, event.used)
    yield replace(words, severity=_severity(event.kind))


def _carried(uses: Uses, level: int) -> Iterator[Check]:
    """No iteration reads what another one writes, unless it has written it anew itself.

    That holds of a later one as of an earlier one: nobody promises which of them comes first. A
    sum may be carried on, but no iteration may look at what it has come to (NKI-LP02).
    """
    for read in uses.reads:
        if not _unordered(read, uses, level, ITERATIONS) or _carried_on(read):
            continue
        loop = read.loops[level]
        inside = [w for w in uses.writes if level < len(w.loops) and w.loops[level] is loop]
        anew = [write for write in inside if not write.operation.adds]
        if not inside or any(dominates(w, read) and contains(w.view, read.view) for w in anew):
            continue
        own, own_exact, _ = covered(
            (way for w in anew for way in before(w, read, inside=level + 1)),
            read.view,
            Known((*read.path, *read.ranges), read.loops),
        )
        if own is E.TRUE:
            continue
        for write in inside:
            earlier = copy(write, level, below=loop.index, instance=tensor(read.view))
            yield _carried_check(read, write, level, earlier, (own, own_exact))
            later = copy(write, level, above=loop.index, instance=tensor(read.view))
            yield _carried_check(read, write, level, later, (own, own_exact))


def _carried_on(read: Access) -> bool:
    """Whether it is what a sum is added to."""
    operation = read.operation
    return operation.adds and any(view is read.view for _, view in operation.writes)


def _carried_check(
    read: Access, write: Access, level: int, other: Copy | None, renewed: tuple[Bool, bool]
) -> Check:
    """``read`` and ``other``, the write of another iteration, are of different elements.

    ``other`` None: there is no such iteration. ``renewed``: when the iteration that reads has
    written the element anew itself, and whether that is exact.
    """
    own, own_exact = renewed
    loop = read.loops[level]
    name = read.view.storage.name
    index_name = loop.name or "i"
    predicate: Bool = E.TRUE
    exact = True
    given: tuple[Bool, ...] = ()
    values: tuple[tuple[str, Expr], ...] = ()
    if other is not None:
        different, exact = apart(read.view, other.view)
        predicate = E.or_(different, own)
        exact = exact and own_exact
        given = (*read.ranges, *other.ranges)
        if other.private:
            written = E.fresh(f"{index_name} of the write", 0, None, E.Origin.POINT)
            values = ((f"{index_name} of the write", written),)
            given = (*given, E.eq(written, other.private[0].index))
    where = element(read.view)
    words = _own_iteration(name, read.span, write.operation.span, loop.span, index_name)
    return replace(
        words,
        predicate=predicate,
        given=(*given, *where.given),
        values=(*values, *where.values),
        severity=_severity(loop.kind),
        exact=exact,
        reason="" if exact else f"where `{name}` is accessed is not known exactly",
        path=read.path,
        order=read.order,
    )


def _severity(kind: LoopKind) -> str | None:
    """Of iterations that need an order: a schedule that is asked for may keep it."""
    return "warning" if kind is LoopKind.SCHEDULED else None


def _own_iteration(name: str, span: Span, written: Span, loop: Span, index: str) -> Check:
    """No iteration reads what another one writes."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"no iteration of `{index}` reads what another one writes to `{name}`",
        message=(
            f"an iteration of the loop over `{index}` reads what another one writes to `{name}`"
        ),
        facts=("NKI-LP02",),
        notes=(
            Note(written, "written here"),
            Note(loop, f"the loop promises independent iterations of `{index}`"),
        ),
        help=("use a sequential_range where iterations need an order",),
    )


def carried_read(event: CarriedRead, target: Target) -> Iterator[Check]:
    """An iteration of a run reads what another one writes."""
    words = _own_iteration(event.name, event.span, event.written, event.loop, event.index)
    yield replace(words, severity=_severity(event.kind))


def reordered(event: Reordered, target: Target) -> Iterator[Check]:
    """A result that hangs on the order of iterations."""
    yield Check(
        predicate=E.FALSE,
        span=event.span,
        text=f"the same result in {event.order} order",
        message=f"result {event.number} depends on the order of `affine_range` iterations",
    )


register(
    Rule(
        id="loop-carried-dependence",
        code="MEM304",
        family="memory",
        summary="iterations that may run in any order do not depend on each other",
        silent=True,
        reason=(
            "`nl.affine_range` lets the Beta 1 compiler run iterations in any order and side by "
            "side; only sums into one tile may be carried. Each iteration has to write to places "
            "of its own, in HBM as on chip: a tile from outside the loop that every iteration "
            "writes anew is rejected ('unexpected output dependencies'), whatever it writes and "
            "whoever reads it. Make it in the loop, or give it the index. Program instances of a "
            "grid have no order either: two that store to one place leave a random winner."
        ),
        facts=("NKI-LP02", "NKI-E32", "NKI-L65", "NKI-BAR03", "PPL-B13"),
        on=On.TRACE,
        whose=Whose.OF_TENSORS,
        check=carried_dependences,
        monitors=(
            Monitor(CarriedRead, carried_read),
            Monitor(CarriedWrite, carried_write),
            Monitor(Met, met),
            Monitor(Reordered, reordered),
        ),
        twins=TWINS["loop-carried-dependence"],
        failing=examples.DEPENDENCE_FAILING,
        passing=examples.DEPENDENCE_PASSING,
    )
)
