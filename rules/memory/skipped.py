"""Parts that a loop leaves out of what it adds up: its beginning, its end, every other block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from rules.memory import examples
from rules.memory.blocks import Left, blocks_left, sizes_of
from rules.memory.formulas import numbers_of
from rules.memory.wholes import Along, leaves_a_part, line, quotients, walks
from rules.memory.words import highest, lowest, subject
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, Whose, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Cause, Check, LeftOut, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.events import Reached
from verifier.symbolic.memory.index import Access, Uses, accumulation, index
from verifier.symbolic.parting import upper_bounds
from verifier.symbolic.tensors import Loop, Storage, StorageKind
from verifier.symbolic.trace import Trace


class _Gap(Struct, frozen=True):
    """An index of a dimension that a read leaves out, as ``what`` tells; ``given``: where it is."""

    place: Expr
    what: str
    given: tuple[Bool, ...] = ()
    by: Cause | None = None


def skipped_parts(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per read of an input and gap that the loop around it leaves there.

    Where a kernel itself says how much there is: else it may be given more than it means to use,
    unless it goes through as many blocks as there are, and reads most of each.
    Only of loops whose iterations write to one and the same place, as sums do: what goes to places
    of its own each time is a copy of a part, and may be meant. Nor is a part that begins or ends
    where a parameter says, or more than a step of the loop away from the beginning or end.
    """
    if trace.completes:
        asked = partial(_adds_up, trace), partial(_goes_on, trace), partial(_is_stated, trace)
        storages = index(trace).storages
        yield from _chosen(trace, filter(_is_only_read, storages))
        yield from unread_parts(storages, trace, *asked)
        yield from map(_block_left, blocks_left(trace, filter(_is_only_read, storages)))


def unread_parts(
    storages: Iterable[Uses],
    trace: Trace,
    adds_up: Callable[[Loop], bool],
    goes_on: Callable[[Loop], bool],
    stated: Callable[[Uses, Expr], bool] = lambda uses, extent: True,
) -> Iterator[Check]:
    """As :func:`skipped_parts`, of what is read as parts of these tensors.

    ``adds_up``: whether all iterations of a loop write to the same places, as long as these may be;
    ``goes_on``: and something in it reads what it has written there. ``stated``: the kernel says
    how long a dimension is.
    """
    sizes = numbers_of(trace)
    for uses in storages:
        if not _is_only_read(uses):
            continue
        for dimension, extent in enumerate(uses.reads[0].view.frame):
            along = Along([line(read, dimension) for read in uses.reads], extent, sizes)
            known = stated(uses, extent)
            yield from _along(uses, dimension, along, adds_up, goes_on, known)


def _chosen(trace: Trace, storages: Iterable[Uses]) -> Iterator[Check]:
    """That a part is read which an argument chooses is as it is meant: where it begins, of how
    many rounds it is, which of them read. Said of all sizes, it goes before what a number of that
    argument's says."""
    sizes = sizes_of(trace)
    for uses in storages:
        for read in uses.reads:
            if any(s.origin is E.Origin.INPUT and s not in sizes for s in _choosing(read)):
                yield replace(_part_read(uses.storage, read.span), predicate=E.TRUE, path=())


def _choosing(read: Access) -> Iterator[E.Sym]:
    """What says where a read begins, how many rounds it has, and in which of them it takes place;
    not how much it reads in each, and how far it goes from one to the next."""
    within = {loop.symbol for loop in read.loops} | {axis.symbol for axis in read.view.axes}
    first = E.Substitution({symbol: E.const(0) for symbol in within})
    steps = {symbol for axis in read.view.axes for symbol in axis.size.free()}
    steps.update(s for coord in read.view.coords for s in (coord - first.expr(coord)).free())
    terms = (*map(first.expr, read.view.coords), *(loop.trips for loop in read.loops))
    said = {atom for term in terms for atom in term.atoms() if isinstance(atom, E.Sym)}
    said.update(s for fact in read.path if within & {*fact.free()} for s in fact.free())
    yield from said - steps


def _is_only_read(uses: Uses) -> bool:
    """Whether a tensor is an input that is read, each time in the same shape, and not written."""
    if uses.storage.kind is not StorageKind.INPUT or not uses.storage.buffer.off_chip:
        return False
    frame = uses.reads[0].view.frame if uses.reads else ()
    alike = all(r.view.exact and r.view.frame == frame for r in uses.reads)
    return bool(frame) and alike and not uses.writes


def _is_stated(trace: Trace, uses: Uses, extent: Expr) -> bool:
    """Whether a kernel says how long a dimension is: a number, or what it makes of its arguments.

    A size that is only asked for may be that of more than it means to use, as of a sample.
    """
    if trace.generation.states_inputs or E.Substitution(numbers_of(trace)).expr(extent).is_const:
        return True
    return extent.as_atom() is None and any(extent is size for size in uses.storage.shape)


def _along(
    uses: Uses,
    dimension: int,
    along: Along,
    adds_up: Callable[[Loop], bool],
    goes_on: Callable[[Loop], bool],
    stated: bool,
) -> Iterator[Check]:
    told: set[tuple[object, ...]] = set()
    for read, flat in zip(uses.reads, along.lines, strict=True):
        walking = walks(flat)
        adding = [loop for loop in walking if adds_up(loop)]
        extent = E.Substitution(along.numbers).expr(along.extent)
        gaps = _gaps if stated else _gaps_of_all
        between = gaps(flat, walking, adding, extent) if adding else ()
        found = [(gap, adding[0]) for gap in between]
        for loop in filter(goes_on, filter(adds_up, read.loops)) if stated else ():
            found += ((gap, loop) for gap in _standing(read, flat, loop, along.extent))
        for gap, loop in found:
            key = (gap.place, *map(id, read.path))
            if key in told:
                continue
            told.add(key)
            yield _missing(uses, dimension, read, gap, along, loop)


def _adds_up(trace: Trace, loop: Loop) -> bool:
    """Whether all iterations of a loop write to the same places, as long as these may be.

    A tensor that each iteration makes anew is none of them.
    """
    inside = [op for op in trace.operations if any(loop is other for other in op.loops)]
    views = [view for op in inside for _, view in op.writes]
    return bool(views) and not any(
        loop.symbol in term.free()
        for view in views
        if all(loop is not other for other in view.storage.loops)
        for term in (*view.coords, *view.instance)
    )


def _goes_on(trace: Trace, loop: Loop) -> bool:
    """Whether something in a loop adds to what it finds where it writes."""
    inside = (op for op in trace.operations if any(loop is other for other in op.loops))
    return any(
        accumulation(op) is not E.FALSE
        or any(a.storage is b.storage for (_, a), (_, b) in product(op.writes, op.reads))
        for op in inside
    )


def _gaps(
    flat: Access, walking: Sequence[Loop], adding: Sequence[Loop], extent: Expr
) -> Iterator[_Gap]:
    (coord,) = flat.view.coords
    first = lowest(coord, flat.loops, flat.view.axes)
    last = highest(coord, flat.loops, flat.view.axes)
    if first is None:
        return
    width = _width(flat)
    steps = [abs(coord.coefficient(loop.symbol)) for loop in walking]
    most = max(*steps, width, 1)
    ends = not any(_hangs_on_others(loop, coord, flat.loops) for loop in adding)
    if ends and first.is_const and 0 < first.const <= most:
        yield _Gap(E.const(0), "the first of them is")
    behind = extent - last - 1 if last is not None else E.const(0)
    if ends and behind.is_const and 0 < behind.const <= most:
        yield _Gap(extent - 1, "the last of them is", by=Cause.ENDS)
    for _, together in _partly(flat, walking, adding):
        yield _gap_between(flat, first + together)


def _gaps_of_all(
    flat: Access, walking: Sequence[Loop], adding: Sequence[Loop], extent: Expr
) -> Iterator[_Gap]:
    """What is left of each block where there are as many rounds as a size that may be any has.

    All that is known then is that each block is meant. What takes samples of them leaves out as
    much as it reads, or more; and what leaves out the beginning of each leaves out a margin. A loop
    over the blocks behind the first one forgets it; one over single rows may leave out one that is
    another thing, such as a token that stands for the others.
    """
    (coord,) = flat.view.coords
    first = lowest(coord, flat.loops, flat.view.axes)
    if first is None:
        return
    partly = list(_partly(flat, walking, adding))
    for loop, together in partly:
        step = abs(coord.coefficient(loop.symbol))
        every = _every(loop, step, extent)
        if every and 2 * together > step and E.mod(first, step) is E.const(0):
            yield _gap_between(flat, first + together)
    for loop in adding if not partly else ():
        step = coord.coefficient(loop.symbol)
        alone = not _hangs_on_others(loop, coord, flat.loops)
        if alone and step > 1 and first is E.const(step) and _every(loop, step, extent):
            yield _Gap(E.const(0), "the first of them is", _runs(flat))


def _every(loop: Loop, step: int, extent: Expr) -> bool:
    """Whether a loop has as many rounds as a dimension has blocks of so many."""
    counts = (each for each in quotients([loop.trips]) if each.den is E.const(step))
    return any(not set(extent.free()).isdisjoint(each.num.free()) for each in counts)


def _partly(
    flat: Access, walking: Sequence[Loop], adding: Sequence[Loop]
) -> Iterator[tuple[Loop, int]]:
    """The loops whose rounds read less than a step of theirs, and how much."""
    (coord,) = flat.view.coords
    width = _width(flat)
    for loop in walking:
        inner = [each for each in walking if _is_inside(each, loop, flat.loops)]
        judged = loop in adding or any(each in adding for each in inner)
        together = _together(coord, inner, width) if judged else 0
        if 0 < together < abs(coord.coefficient(loop.symbol)):
            yield loop, together


def _gap_between(flat: Access, place: Expr) -> _Gap:
    return _Gap(place, "what lies between its steps is", _runs(flat), Cause.EACH_ROUND)


def _runs(flat: Access) -> tuple[Bool, ...]:
    return tuple(E.ge(each.trips, 1) for each in flat.loops)


def _hangs_on_others(loop: Loop, coord: Expr, loops: Sequence[Loop]) -> bool:
    """Whether each round of a loop around it lets it go through another part of the same, as sums
    of all that came before do."""
    step = abs(coord.coefficient(loop.symbol))
    around = (each for each in loops if each.symbol in loop.trips.free())
    return any(abs(coord.coefficient(each.symbol)) <= step for each in around)


def _is_inside(loop: Loop, other: Loop, loops: Sequence[Loop]) -> bool:
    order = [each.symbol for each in loops]
    return order.index(loop.symbol) > order.index(other.symbol)


def _together(coord: Expr, loops: Sequence[Loop], width: int) -> int:
    """How many indices some loops read at most, one beside the other; 0: that is not known."""
    for loop in sorted(loops, key=lambda loop: abs(coord.coefficient(loop.symbol))):
        most = _most(loop.trips)
        if coord.coefficient(loop.symbol) != width or most is None:
            return 0
        width *= most
    return width


def _most(size: Expr) -> int | None:
    rounded = (
        E.Substitution({}, atoms={atom: E.floordiv(end, atom.den)}).expr(size)
        for atom in size.atoms()
        if isinstance(atom, E.Div) and atom.den.is_const and size.coefficient(atom) > 0
        for end in upper_bounds(atom.num)
    )
    ends = (E.bounds(each)[1] for each in (*upper_bounds(size), *rounded))
    return min((end for end in ends if end is not None), default=None)


def _standing(read: Access, flat: Access, loop: Loop, extent: Expr) -> Iterator[_Gap]:
    """What lies behind the part that each round of a loop reads, if it has as many rounds as there
    are parts."""
    (coord,) = flat.view.coords
    width = _width(flat)
    first = lowest(coord, flat.loops, flat.view.axes)
    moves = any(each.symbol in coord.free() for each in read.loops)
    if moves or first is not E.const(0) or width < 1:
        return
    if E.floordiv(extent + width - 1, width) is loop.trips:
        yield _Gap(E.const(width), "what lies behind the first part is", (E.ge(loop.trips, 1),))


def _width(flat: Access) -> int:
    """How many indices one iteration reads at most, one beside the other; 0 if that is not known
    or they are apart."""
    (coord,) = flat.view.coords
    width = 1
    for axis in flat.view.axes:
        if axis.symbol not in coord.free():
            continue
        most = _most(axis.size)
        if coord.coefficient(axis.symbol) != 1 or most is None or width > 1:
            return 0
        width = most
    return width


def _missing(
    uses: Uses, dimension: int, read: Access, gap: _Gap, along: Along, loop: Loop
) -> Check:
    name = uses.storage.name
    predicate, exact = along.at(gap.place)
    index_ = f"index of dimension {dimension}"
    return replace(
        _part_read(uses.storage, read.span),
        predicate=predicate,
        given=(*gap.given, E.ge(gap.place, 0), E.lt(gap.place, along.extent)),
        values=((f"{index_} that is not read", gap.place), ("its size", along.extent)),
        notes=(
            Note(loop.span, f"this loop adds up what it reads of `{name}`: {gap.what} left out"),
        ),
        exact=exact,
        reason="" if exact else f"the reads of `{name}` are too irregular to add up",
        path=read.path,
        order=read.order,
        left_out=None if gap.by is None else LeftOut(subject(uses.storage, dimension), gap.by),
    )


def _block_left(left: Left) -> Check:
    """That rounds gone through one by one come to all blocks."""
    name, dimension = left.uses.storage.name, left.dimension
    last = left.to - 1
    which = f"index {last}" if left.place == last else f"indices {left.place} to {last}"
    said = f"what is read here of `{name}` is added up: {left.what} left out"
    return replace(
        _part_read(left.uses.storage, left.read.span),
        given=left.given,
        notes=(Note(left.read.span, f"{said}, {which} of dimension {dimension}"),),
        path=(),
        order=left.read.order,
        left_out=LeftOut(subject(left.uses.storage, dimension), Cause.ROUNDS),
    )


def _part_read(storage: Storage, span: Span) -> Check:
    """All of a tensor is read."""
    name = storage.name
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"every element of `{name}` is read",
        message=f"a part of `{name}` is never read",
        facts=("NKI-X11",),
        subject=subject(storage),
        help=("let the loop begin with the first block, end with the last one, and skip none",),
    )


def part_unread(event: Reached, target: Target) -> Iterator[Check]:
    """An input of which a run leaves out indices of a dimension; what for it cannot say."""
    storage = event.storage
    if storage.kind is StorageKind.INPUT and not event.written:
        sizes = zip(event.unread, storage.shape, strict=True)
        if any(first < extent.const for first, extent in sizes):
            yield _part_read(storage, storage.span)


register(
    Rule(
        id="input-part-skipped",
        code="MEM317",
        family="memory",
        summary="a loop that adds up an input leaves out no part of it",
        silent=True,
        reason=(
            "A sum that begins with the second block, ends before the last one or takes every "
            "other block is complete and wrong. Loops that copy a part to places of its own are "
            "not judged, nor what begins or ends where a parameter says. Of inputs of which "
            "neither the kernel nor its contract says how large they are, only what each of as "
            "many rounds as there are blocks leaves of its own is: less than it reads. Where sizes "
            "are numbers, rounds are gone through one by one, whatever chooses them."
        ),
        facts=("NKI-X11",),
        on=On.TRACE,
        of_loops=leaves_a_part,
        check=skipped_parts,
        whose=Whose.OF_TENSORS,
        monitors=(Monitor(Reached, part_unread, meant=True),),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        failing=examples.SKIPPED_FAILING,
        passing=examples.SKIPPED_PASSING,
    )
)
