"""Parts that nothing touches: the dropped tail of an input, the unused end of a tile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.memory import examples
from rules.memory.formulas import Sizes
from rules.memory.wholes import Along, fillings, leaves_a_part, line, quotients, walks
from rules.memory.words import reach, subject
from verifier.hardware.catalogue import Hardware
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, Whose, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Cause, Check, LeftOut, Note
from verifier.symbolic.expr import TRUE, Bool, Div, Expr
from verifier.symbolic.memory.events import Reached
from verifier.symbolic.memory.index import Access, Index, Uses, index
from verifier.symbolic.memory.known import Known
from verifier.symbolic.pretty import factor, operand, pretty
from verifier.symbolic.tensors import Loop, LoopKind, Storage, StorageKind, View
from verifier.symbolic.trace import Trace

_ROUNDED: Final = (
    "the size of what is read rounds down: assert that nothing is left, or read it, too"
)
#: tiles, and what calls give back
_FILLED: Final = (StorageKind.ALLOC, StorageKind.RESULT)


def dropped_tails(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per dimension, of an input or a filled tile, of which only whole tiles are read."""
    if not trace.completes:  # what would have been read after the error is not known
        return
    yield from unread_tails(index(trace).storages, trace)


def unread_tails(storages: Sequence[Uses], trace: Trace) -> Iterator[Check]:
    """As :func:`dropped_tails`, of what is read and written as parts of these tensors."""
    targets = [uses for uses in storages if uses.writes]
    sizes = Sizes.of(trace)
    for uses in storages:
        if not uses.reads or any(not r.view.exact for r in uses.reads):
            continue
        frame = uses.reads[0].view.frame
        if any(r.view.frame != frame for r in uses.reads):
            continue
        for dimension, extent in enumerate(frame):
            if _filled(uses, dimension, extent):
                yield from _tail(uses, dimension, targets, sizes, index(trace))


def _filled(uses: Uses, dimension: int, extent: Expr) -> bool:
    """Whether there is something to read up to the end of a dimension."""
    storage = uses.storage
    if storage.kind is StorageKind.INPUT:
        return storage.buffer.off_chip
    if storage.kind not in _FILLED or not storage.buffer.on_chip:
        return False
    for write in uses.writes:
        if write.view.exact and write.view.frame == uses.reads[0].view.frame:
            ends = reach(write, dimension)
            if ends is not None and ends[1] is extent:
                return True
    return False


def _tail(
    uses: Uses, dimension: int, targets: list[Uses], sizes: Sizes, table: Index
) -> Iterator[Check]:
    """Where reads of a dimension come to its end at sizes that their tiles fill.

    Its size may be known by the name of an integer, too, of which the tiles are.
    """
    lines = [line(read, dimension) for read in uses.reads]
    extent = uses.reads[0].view.frame[dimension]
    named = E.Substitution(sizes.integers).expr(extent)
    for each in dict.fromkeys((extent, named)):
        numbers = sizes.numbers if each is extent else {**sizes.numbers, **sizes.integers}
        checks = [*_left(uses, dimension, targets, Along(lines, each, numbers), table)]
        yield from checks
        if checks:
            return


def _left(
    uses: Uses, dimension: int, targets: list[Uses], along: Along, table: Index
) -> Iterator[Check]:
    asked: set[tuple[int, ...]] = set()
    for read, flat in zip(uses.reads, along.lines, strict=True):
        where = tuple(map(id, _around(read)))
        if where in asked:
            continue
        tiling = _tiling(read, flat, along)
        if tiling is None:
            early = _early(flat, along)
            if early is not None and not any(_goes_along(t, early) for t in targets):
                asked.add(where)
                yield _last_one_left(uses, dimension, read, early, along)
            continue
        asked.add(where)
        known = table.assumed(read.order)
        others = (target for target in targets if target is not uses)
        if not any(_mirrors(target, along.extent, tiling, known) for target in others):
            yield _missing(uses, dimension, tiling, along)  # else it is reported there


def _missing(uses: Uses, dimension: int, tiling: _Tiling, along: Along) -> Check:
    storage, read = uses.storage, tiling.read
    (predicate, exact), given = along.last, tiling.given
    if not along.from_the_start and tiling.complete:
        (predicate, exact), given = along.everywhere, (*given, along.inside)
    ends = reach(read, dimension)
    end = ends[1] if ends is not None else None
    whole = _read_to_the_end(
        storage, dimension, tiling.span, along.extent, end, reshaped=_reshaped(read)
    )
    rounded = (_ROUNDED,) if tiling.walk is None else whole.help
    return replace(
        _of_read(whole, dimension, read),
        help=rounded,
        predicate=predicate,
        given=given,
        exact=exact,
        reason="" if exact else f"the reads of `{storage.name}` are too irregular to add up",
    )


def _of_read(whole: Check, dimension: int, read: Access) -> Check:
    """The check, with the read that it is about."""
    ends = reach(read, dimension)
    upto = f"index {operand(ends[1])}" if ends is not None else "the last whole tile"
    said = f"`{read.view.storage.name}` is read here, up to {upto} of dimension {dimension}"
    return replace(whole, notes=(Note(read.span, said),), path=_around(read), order=read.order)


def _around(read: Access) -> tuple[Bool, ...]:
    """The conditions around the loops of a read: what holds in some of their iterations only says
    which of them read, and is no reason not to look."""
    inside = {loop.symbol for loop in read.loops if loop.kind is not LoopKind.GRID}
    return tuple(fact for fact in read.path if inside.isdisjoint(fact.free()))


def _early(read: Access, along: Along) -> Loop | None:
    """A loop over the blocks of a dimension that would come to the end in one trip more.

    What goes through a number of blocks that nothing says is all of them takes a part on purpose.
    """
    for loop in walks(read):
        if loop.kind is LoopKind.GRID:
            continue
        counts = quotients([loop.trips])
        blocks = [f for f in fillings(read, along.extent) if f.quotient in counts]
        if not blocks or not along.last[1]:
            continue
        further = along.further(loop)
        if any(further.always_complete(each) for each in blocks):
            return loop
    return None


def _goes_along(target: Uses, loop: Loop) -> bool:
    """Whether something is written block by block, in as many trips as the loop goes.

    Then one block less may be meant: what is moved by a block has one less.
    """
    return any(
        other.trips is loop.trips and any(other.symbol in coord.free() for coord in view.coords)
        for write in target.writes
        for view in [write.view]
        for other in write.loops
    )


def _last_one_left(uses: Uses, dimension: int, read: Access, loop: Loop, along: Along) -> Check:
    """What a loop leaves that stops before the last block."""
    whole = _read_to_the_end(uses.storage, dimension, loop.span, along.extent, None)
    trips = pretty(loop.trips)
    return replace(
        _of_read(whole, dimension, read),
        predicate=along.last[0],
        text=f"the last block of {uses.storage.name}.shape[{dimension}] is read",
        given=tuple(E.ge(other.trips, 1) for other in read.loops if other is not loop),
        help=(f"the loop makes {trips} trips: one more comes to the last block",),
    )


def _reshaped(read: Access) -> bool:
    """Whether a tensor is read in another shape than its own."""
    return read.view.frame != read.view.storage.shape


def _read_to_the_end(
    storage: Storage,
    dimension: int,
    span: Span,
    extent: Expr,
    end: Expr | None,
    *,
    reshaped: bool = False,
) -> Check:
    """A tensor is read up to its last index along a dimension; ``end``: how far it is."""
    name = storage.name
    size = "its size" if reshaped else f"{name}.shape[{dimension}]"
    upto = operand(end) if end is not None else "the last whole tile"
    return Check(
        predicate=E.FALSE,
        span=span,
        text=_whole(extent, end, size, upto),
        message=f"the tail of `{name}` along dimension {dimension} is never read",
        facts=("NKI-X11",),
        values=((size, extent), *((("read up to", end),) if end is not None else ())),
        help=(
            "the trip count rounds down: assert that the tile size divides the dimension, "
            "or handle the rest",
        ),
        # a dimension of another shape is none of the tensor's own
        subject=subject(storage, None if reshaped else dimension),
        left_out=LeftOut(subject(storage, dimension), Cause.ROUNDING),
    )


def tail_unread(event: Reached, target: Hardware) -> Iterator[Check]:
    """An input, or a tile filled to its end, that a run reads up to an index that it leaves out,
    or not at all; which loop should have come there it cannot say."""
    storage = event.storage
    filled = storage.kind is StorageKind.INPUT
    for dimension, (end, extent) in enumerate(zip(event.read_ends, storage.shape, strict=True)):
        if end < extent.const and (filled or event.ends[dimension] == extent.const):
            end_ = E.const(end)
            yield _read_to_the_end(storage, dimension, storage.span, extent, end_)


def _whole(extent: Expr, end: Expr | None, size: str, upto: str) -> str:
    """``end == extent`` in words: that a tile size divides the extent, where it says so."""
    if end is not None:
        for atom in end.atoms():
            if isinstance(atom, Div) and atom.num is extent and end is extent - (extent % atom.den):
                return f"{size} % {factor(atom.den)} == 0"
    return f"{upto} == {size}"


class _Tiling(Struct, frozen=True):
    """A read that walks through a dimension in tiles, or of its last part, at sizes they fill.

    ``quotient``: what has no remainder at these sizes; None: on plain numbers nothing is left of
    it. ``complete``: all of the dimension is read at them. ``given``: where the read takes place.
    ``walk``: None where each part is read on its own.
    """

    read: Access
    walk: Loop | None
    quotient: Div | None
    complete: bool
    given: tuple[Bool, ...]

    @property
    def span(self) -> Span:
        return self.read.span if self.walk is None else self.walk.span

    @property
    def of_parts(self) -> bool:
        """Whether the quotient is how large the parts are, not only how many there are.

        Where the parts are one row of windows, of which a pool has a rounded number, a dimension
        that is written may have that many; parts of a rounded size are all of what there is.
        """
        if self.quotient is None:
            return False
        return any(
            self.quotient in quotients([coord])
            and self.quotient
            in quotients(axis.size for axis in view.axes if axis.symbol in coord.free())
            for view in [self.read.view]
            for coord in view.coords
        )


def _tiling(read: Access, flat: Access, along: Along) -> _Tiling | None:
    walking = walks(flat)
    if not walking:
        return _last_part(read, flat, along)
    others = tuple(E.ge(other.trips, 1) for other in read.loops if other not in walking)
    found = [(f, along.read_to_the_end(f)) for f in fillings(flat, along.extent)]
    found = [(filling, whole) for filling, whole in found if whole is not E.FALSE]
    if found:
        # at the sizes of one quotient less may be read than at those of another
        filling = next((f for f, whole in found if whole is TRUE), found[0][0])
        whole = E.or_(*(whole for _, whole in found))
        rounding = (loop for loop in walking if filling.quotient in quotients([loop.trips]))
        walk = next(rounding, walking[0])
        # a parameter may say how much is meant; a number that limits it leaves the rest out,
        # but one from which the loop starts leaves out only what lies before
        by_numbers = set(whole.free()) <= set(along.extent.free())
        meant = E.or_(whole, E.ge(walk.trips, 1)) if by_numbers else whole
        complete = any(along.complete(f) for f, _ in found)
        return _Tiling(read, walk, filling.quotient, complete, (*others, meant))
    if along.falls_short_of_a_step(flat):
        return _Tiling(read, walking[0], None, True, others)
    return None


def _last_part(read: Access, flat: Access, along: Along) -> _Tiling | None:
    """A read without loops that ends with a dimension at sizes at which all of it is read."""
    (coord,) = flat.view.coords
    own = quotients((coord, *(axis.size for axis in flat.view.axes)))
    alone = Along([flat], along.extent, along.numbers)
    for filling in fillings(flat, along.extent):
        if filling.quotient in own and alone.read_to_the_end(filling) is TRUE:
            if along.complete(filling):
                given = tuple(E.ge(loop.trips, 1) for loop in read.loops)
                return _Tiling(read, None, filling.quotient, True, given)
    return None


def _mirrors(target: Uses, extent: Expr, tiling: _Tiling, known: Known) -> bool:
    """Whether what is written has the input's tiling, too, or is a quotient of the input.

    A buffer on the chip counts if it is used to its end: then its own missing tail is an error.
    """
    shape = target.storage.shape
    off_chip = target.storage.buffer.off_chip
    if off_chip and tiling.quotient in quotients(shape) and not tiling.of_parts:
        return True
    for write in target.writes:
        if not write.view.exact or write.view.frame != shape:
            continue
        for dimension, size in enumerate(shape):
            if not _tiled_alike(line(write, dimension), tiling):
                continue
            if size is extent or known.decide(E.eq(size, extent)):
                if off_chip or _used_to_the_end(target, dimension):
                    return True
    return False


def _tiled_alike(write: Access, tiling: _Tiling) -> bool:
    walking = walks(write)
    if tiling.quotient is None:
        walk = tiling.walk
        return walk is not None and any(loop.trips is walk.trips for loop in walking)
    terms = [*write.view.coords, *(loop.trips for loop in walking)]
    return tiling.quotient in quotients(terms)


def _used_to_the_end(uses: Uses, dimension: int) -> bool:
    for read in uses.reads:
        if read.view.frame == uses.storage.shape:
            ends = reach(read, dimension)
            if ends is None or ends[1] is uses.storage.shape[dimension]:
                return True
    return False


def oversized_tiles(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per tile: every free dimension is used up to its end, for some input at least.

    Only what folds is judged: a tail that some inputs use is no fault.
    """
    if trace.dies:  # what would have been used after the error is not known
        return
    table: Index = index(trace)
    for uses in table.storages:
        storage = uses.storage
        if not storage.buffer.on_chip or storage.kind is not StorageKind.ALLOC or not uses.reads:
            continue
        accesses = uses.all
        if not uses.writes or any(not _plain(access.view, storage) for access in accesses):
            continue
        if _of_banks(storage, target):
            continue
        yield _oversized(uses, accesses)


def _plain(view: View, storage: Storage) -> bool:
    return view.exact and view.frame == storage.shape


def _of_banks(storage: Storage, target: Target) -> bool:
    """Whether a tile is whole banks: less of them is no place for another tile."""
    shape = storage.shape[1:]
    if storage.buffer is not Buffer.PSUM or not all(extent.is_const for extent in shape):
        return False
    size = storage.dtype.itemsize * prod(extent.const for extent in shape)
    return size.is_const and size.const % target.psum_bank_bytes == 0


def _used(access: Access, dimension: int) -> Expr | None:
    """How far an access comes along a dimension, with what the last of its steps leaves out."""
    found = reach(access, dimension)
    if found is None:
        return None
    coord = access.view.coords[dimension]
    steps = [
        abs(coord.coefficient(axis.symbol))
        for axis in access.view.axes
        if axis.symbol in coord.free() and axis.size is not E.const(1)
    ]
    return found[1] + max(min(steps, default=1) - 1, 0)


def _oversized(uses: Uses, accesses: list[Access]) -> Check:
    storage = uses.storage
    worst: tuple[int, Expr] | None = None
    for dimension, extent in enumerate(storage.shape):
        if storage.partition_axis is None or dimension <= storage.partition_axis:
            continue
        ends = [_used(access, dimension) for access in accesses]
        used = E.const(0)
        for end in ends:
            if end is None:
                used = extent
                break
            used = E.maximum(used, end)
        if E.lt(used, extent) is TRUE:
            worst = (dimension, used)
            break
    check = replace(
        _used_to_its_end(storage, worst),
        span=storage.argument_spans.get("shape", storage.span),
        path=storage.path,
        order=storage.order,
    )
    if worst is None:
        return check
    widest = next((a for a in accesses if _used(a, worst[0]) is worst[1]), accesses[0])
    return replace(check, notes=(Note(widest.span, "the farthest use"),))


def _used_to_its_end(storage: Storage, worst: tuple[int, Expr] | None) -> Check:
    """A tile is no larger than what is used of it; else ``worst``: a dimension, and how much is."""
    name = storage.name
    text = f"every free dimension of `{name}` is used up to its end"
    fine = Check(predicate=TRUE, span=storage.span, text=text, message=text, facts=("NKI-B03",))
    if worst is None:
        return fine
    dimension, used = worst
    extent = storage.shape[dimension]
    return replace(
        fine,
        predicate=E.FALSE,
        message=(
            f"`{name}` is allocated {pretty(extent)} wide along dimension {dimension}, "
            f"but only {pretty(used)} of it are ever used"
        ),
        values=((f"{name}.shape[{dimension}]", extent), ("used", used)),
        help=("allocate the tile in the size that is used",),
    )


def too_large(event: Reached, target: Target) -> Iterator[Check]:
    """A tile of which a run uses the beginning only, whatever else is wrong with it."""
    storage = event.storage
    axis = storage.partition_axis
    if storage.kind is not StorageKind.ALLOC or axis is None or _of_banks(storage, target):
        return
    for dimension in range(axis + 1, len(storage.shape)):
        end = event.stepped_ends[dimension]
        if end < storage.shape[dimension].const:
            yield _used_to_its_end(storage, (dimension, E.const(end)))
            return


register(
    Rule(
        id="input-tail-dropped",
        code="MEM303",
        family="memory",
        summary="a loop over `n // tile` tiles leaves no rest of an input or tile unread",
        silent=True,
        reason=(
            "When the tile size does not divide the dimension, the last partial tile is skipped. "
            "Along a dimension that is summed over, such as the contraction of a matrix "
            "multiplication, the result is complete and wrong. So it is with parts of `n // 4` "
            "elements, in a loop or one by one."
        ),
        facts=("NKI-X11",),
        on=On.TRACE,
        of_loops=leaves_a_part,
        check=dropped_tails,
        whose=Whose.OF_TENSORS,
        monitors=(Monitor(Reached, tail_unread, meant=True),),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        failing=examples.TAIL_FAILING,
        passing=examples.TAIL_PASSING,
    )
)

register(
    Rule(
        id="oversized-tile",
        code="MEM309",
        family="memory",
        summary="a tile is used to its end, for some input at least",
        reason=(
            "On-chip memory is scarce; a tile that is wider than every use of it was most likely "
            "allocated with another tile's size."
        ),
        facts=("NKI-B03",),
        on=On.TRACE,
        check=oversized_tiles,
        monitors=(Monitor(Reached, too_large, asked=True),),
        replayed=Replayed(whole=True),
        severity="warning",
        remark=True,
        failing=examples.OVERSIZED_FAILING,
        passing=examples.OVERSIZED_PASSING,
    )
)
