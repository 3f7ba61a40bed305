"""Parts that nothing touches: the dropped tail of an input, the unused end of a tile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rules.memory import examples
from rules.memory.cases import copy, covered_point
from rules.memory.words import highest, reach
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Monitor, Note, On, Replayed, Rule, Shown, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import TRUE, Bool, Div, Expr, Extremum, Sym
from verifier.symbolic.memory.events import Reached
from verifier.symbolic.memory.index import Access, Index, Uses, index
from verifier.symbolic.memory.known import Known
from verifier.symbolic.pretty import pretty
from verifier.symbolic.tensors import Loop, LoopKind, Storage, StorageKind, View
from verifier.symbolic.trace import Trace
from verifier.symbolic.views.common import conjuncts


def dropped_tails(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per dimension, of an input or a filled tile, of which only whole tiles are read."""
    if trace.dies:  # what would have been read after the error is not known
        return
    table = index(trace)
    targets = [uses for uses in table.storages if uses.writes]
    pinned = _pinned(trace)
    for uses in table.storages:
        if not uses.reads or any(not r.view.exact for r in uses.reads):
            continue
        frame = uses.reads[0].view.frame
        if any(r.view.frame != frame for r in uses.reads):
            continue
        for dimension, extent in enumerate(frame):
            if _filled(uses, dimension, extent):
                yield from _tail(uses, dimension, targets, pinned)


def _pinned(trace: Trace) -> E.Substitution:
    """The sizes that the kernel demands to be a number."""
    found: dict[Sym, Expr] = {}
    for item in trace.assumptions:
        for fact in conjuncts(item.condition):
            if fact.kind is E.BoolKind.EQ and fact.expr is not None and len(fact.expr.terms) == 1:
                [(atoms, factor)] = fact.expr.terms
                if len(atoms) == 1 and isinstance(atoms[0], Sym) and abs(factor) == 1:
                    found[atoms[0]] = E.const(-factor * fact.expr.const)
    return E.Substitution(found)


def _filled(uses: Uses, dimension: int, extent: Expr) -> bool:
    """Whether there is something to read up to the end of a dimension."""
    storage = uses.storage
    if storage.kind is StorageKind.INPUT:
        return storage.buffer.off_chip
    if storage.kind is not StorageKind.ALLOC or not storage.buffer.on_chip:
        return False
    for write in uses.writes:
        if write.view.exact and write.view.frame == uses.reads[0].view.frame:
            ends = reach(write, dimension)
            if ends is not None and ends[1] is extent:
                return True
    return False


def _tail(
    uses: Uses, dimension: int, targets: list[Uses], pinned: E.Substitution
) -> Iterator[Check]:
    name = uses.storage.name
    extent = uses.reads[0].view.frame[dimension]
    tiling = next(
        (
            found
            for read in uses.reads
            if (found := _tiling(read, dimension, extent, pinned)) is not None
        ),
        None,
    )
    if tiling is None:
        return
    if any(_mirrors(target, extent, tiling) for target in targets if target is not uses):
        return  # the same tail is missing there, and reported there
    predicate, given, exact = _touched(uses.reads, dimension, extent, tiling.end)
    read = tiling.read
    end = tiling.end
    upto = pretty(end) if end is not None else "the last whole tile"
    yield replace(
        _read_to_the_end(name, dimension, tiling.span, extent, end),
        predicate=predicate,
        given=(*tiling.given, *given),
        notes=(
            Note(
                read.span,
                f"`{name}` is read here, up to index {upto} of dimension {dimension}",
            ),
        ),
        exact=exact,
        reason="" if exact else f"the reads of `{name}` are too irregular to add up",
        path=read.path,
        order=read.order,
    )


def _read_to_the_end(
    name: str, dimension: int, span: Span, extent: Expr, end: Expr | None
) -> Check:
    """An input is read up to its last index along a dimension; ``end``: how far it is."""
    size = f"{name}.shape[{dimension}]"
    upto = pretty(end) if end is not None else "the last whole tile"
    return Check(
        predicate=E.FALSE,
        span=span,
        text=_whole(extent, end, size, upto),
        message=f"the tail of `{name}` along dimension {dimension} is never read",
        facts=("NKI-X11",),
        values=((size, extent), ("read up to", end if end is not None else extent)),
        help=(
            "the trip count rounds down: assert that the tile size divides the dimension, "
            "or handle the rest",
        ),
    )


def tail_unread(event: Reached, target: Target) -> Iterator[Check]:
    """An input, or a tile filled to its end, that a run reads up to an index that it leaves out;
    which loop should have come there it cannot say."""
    storage = event.storage
    filled = storage.kind is StorageKind.INPUT
    if not filled and not (event.read and event.written):
        return
    for dimension, (end, extent) in enumerate(zip(event.read_ends, storage.shape, strict=True)):
        if end < extent.const and (filled or event.ends[dimension] == extent.const):
            end_ = E.const(end)
            yield _read_to_the_end(storage.name, dimension, storage.span, extent, end_)


def _whole(extent: Expr, end: Expr | None, size: str, upto: str) -> str:
    """``end == extent`` in words: that a tile size divides the extent, where it says so."""
    if end is not None:
        for atom in end.atoms():
            if isinstance(atom, Div) and atom.num is extent and end is extent - (extent % atom.den):
                return f"{size} % {_factor(atom.den)} == 0"
    return f"{upto} == {size}"


def _factor(term: Expr) -> str:
    text = pretty(term)
    return text if term.is_const or term.as_atom() is not None else f"({text})"


@dataclass(frozen=True, slots=True)
class _Tiling:
    """A read that goes through a dimension in whole tiles, however these come about.

    ``end``: how far it is that all iterations read, the extent itself wherever tiles fill it.
    ``loop``: the one that walks, if its number of trips is what rounds down.
    """

    read: Access
    end: Expr | None
    loop: Loop | None
    span: Span
    given: tuple[Bool, ...]


def _tiling(read: Access, dimension: int, extent: Expr, pinned: E.Substitution) -> _Tiling | None:
    coord = read.view.coords[dimension]
    walking = [loop for loop in read.loops if loop.symbol in coord.free()]
    if any(loop.kind is LoopKind.GRID for loop in walking):
        return None  # what a core leaves may be another one's
    ends = reach(read, dimension)
    loop = _tiling_loop(read, dimension, extent)
    if loop is not None:
        others = tuple(E.ge(other.trips, 1) for other in read.loops if other is not loop)
        return _Tiling(read, ends[1] if ends is not None else None, loop, loop.span, others)
    if ends is None or not walking:
        return None
    for end, chosen in _chosen(ends[1]):
        if _whole_tiles(pinned.expr(end), pinned.expr(extent)):
            others = tuple(E.ge(other.trips, 1) for other in read.loops if other not in walking)
            return _Tiling(read, end, None, walking[0].span, (*others, *chosen))
    return None


def _chosen(end: Expr, depth: int = 3) -> Iterator[tuple[Expr, tuple[Bool, ...]]]:
    """``end`` with an operand in the place of each minimum in it, and what makes it the least."""
    least = next(_minima(end), None)
    if least is None:
        yield end, ()
        return
    if depth == 0:
        return
    for operand in least.args:
        rest = E.Substitution({}, atoms={least: operand}).expr(end)
        is_least = tuple(E.le(operand, other) for other in least.args if other is not operand)
        for found, given in _chosen(rest, depth - 1):
            yield found, (*is_least, *given)


def _minima(term: Expr) -> Iterator[Extremum]:
    for atom in term.atoms():
        if isinstance(atom, Extremum) and atom.kind == "min":
            yield atom
        for part in atom.children():
            if isinstance(part, Expr):
                yield from _minima(part)


def _whole_tiles(end: Expr, extent: Expr) -> bool:
    """Whether ``end`` is the extent where some quotient in it has no remainder, and else is not."""
    if end is extent:
        return False
    return any(
        _fills(quotient, symbol, end, extent)
        for quotient in _divisions(end)
        for symbol in extent.free()
    )


def _fills(quotient: Div, symbol: Sym, end: Expr, extent: Expr) -> bool:
    size = E.from_atom(symbol)
    rest = quotient.num - size
    if symbol in rest.free() or symbol in quotient.den.free():
        return False
    tiles = E.symbol("whole tiles", 1)
    filled = E.Substitution({symbol: quotient.den * tiles - rest}, atoms={quotient: tiles})
    return filled.expr(end) is filled.expr(extent)


def _tiling_loop(read: Access, dimension: int, extent: Expr) -> Loop | None:
    """The loop that walks the dimension tile by tile, a floor division of it long."""
    view = read.view
    coord = view.coords[dimension]
    start = E.Substitution({axis.symbol: E.const(0) for axis in view.axes}).expr(coord)
    for loop in read.loops:
        if loop.symbol not in start.free() or loop.kind is LoopKind.GRID:
            continue
        # tiles must lie side by side: one step further starts where this tile ended
        inner = [other for other in read.loops if other is not loop]
        first = E.Substitution({loop.symbol: E.const(0)}).expr(coord)
        deeper = [other for other in inner if other.symbol in coord.free()]
        width = highest(first, deeper, view.axes)
        step = E.Substitution({loop.symbol: loop.index + 1}).expr(start) - start
        low = E.Substitution(
            {loop.symbol: E.const(0), **{other.symbol: E.const(0) for other in deeper}}
        ).expr(start)
        if width is None or width - low + 1 is not step:
            continue
        if loop.trips.is_const:  # on plain numbers the division has been carried out
            if extent.is_const and step.is_const and step.const > 0:
                if loop.trips.const == extent.const // step.const:
                    return loop
        elif any(_rounds_down(atom, extent) for atom in _divisions(loop.trips)):
            return loop
    return None


def _divisions(term: Expr) -> Iterator[Div]:
    for atom in term.atoms():
        if isinstance(atom, Div):
            yield atom
        for part in atom.children():
            if isinstance(part, Expr):
                yield from _divisions(part)


def _rounds_down(atom: Div, extent: Expr) -> bool:
    """``extent // tile`` as written; ``(extent + tile - 1) // tile`` is not one."""
    rest = atom.num - extent
    return rest.is_const and rest.const <= 0


def _mirrors(target: Uses, extent: Expr, tiling: _Tiling) -> bool:
    """Whether what is written has the input's tiling, too, or is a quotient of the input.

    A buffer on the chip counts if it is used to its end: then its own missing tail is an error.
    """
    shape = target.storage.shape
    off_chip = target.storage.buffer.off_chip
    rounded = tiling.loop.trips if tiling.loop is not None else tiling.end
    if off_chip and rounded is not None:
        quotients = {id(atom) for atom in _divisions(rounded)}
        if any(id(atom) in quotients for size in shape for atom in _divisions(size)):
            return True
    for write in target.writes:
        if not write.view.exact or write.view.frame != shape:
            continue
        for dimension, (coord, size) in enumerate(zip(write.view.coords, shape, strict=True)):
            if size is not extent:
                continue
            ends = reach(write, dimension)
            tiled = (ends is not None and ends[1] is tiling.end) or any(
                other.symbol in coord.free()
                and tiling.loop is not None
                and other.trips is tiling.loop.trips
                for other in write.loops
            )
            if tiled and (off_chip or _used_to_the_end(target, dimension)):
                return True
    return False


def _used_to_the_end(uses: Uses, dimension: int) -> bool:
    for read in uses.reads:
        if read.view.frame == uses.storage.shape:
            ends = reach(read, dimension)
            if ends is None or ends[1] is uses.storage.shape[dimension]:
                return True
    return False


def _line(access: Access, dimension: int) -> Access:
    """The access seen along one dimension only."""
    view = access.view
    coord = view.coords[dimension]
    names = {*coord.free(), *view.mask.free()}
    storage = replace(view.storage, shape=(view.frame[dimension],), partition_axis=None, loops=())
    flat = replace(
        view,
        storage=storage,
        instance=(),
        frame=storage.shape,
        frame_partition=None,
        axes=tuple(axis for axis in view.axes if axis.symbol in names),
        coords=(coord,),
    )
    used = {*names, *(s for fact in (*access.path, *access.given) for s in fact.free())}
    loops = [loop for loop in access.loops if loop.symbol in used]
    for loop in reversed(access.loops):  # trip counts may depend on outer loops
        needed = {s for kept in loops for s in kept.trips.free()}
        if loop not in loops and loop.symbol in needed:
            loops.append(loop)
    ordered = tuple(loop for loop in access.loops if loop in loops)
    return replace(access, view=flat, loops=ordered, reaches={})


def _touched(
    accesses: list[Access], dimension: int, extent: Expr, end: Expr | None
) -> tuple[Bool, tuple[Bool, ...], bool]:
    """Whether some access touches each index of a dimension from the ``end`` of tiles on.

    That is a condition, what is given of the index that it speaks of, and exactness. Where nothing
    but the tiles comes behind their end, or that is not known, it is about the last index alone.
    """
    lines = [_line(access, dimension) for access in accesses]
    copies = [copy(line, 0) for line in lines]
    place = extent - 1
    given: tuple[Bool, ...] = ()
    if end is not None and any(_goes_beyond(access, dimension, end) for access in accesses):
        rest = E.fresh("index", 0, None, E.Origin.POINT)
        place, given = end + rest, (E.lt(end + rest, extent),)
    formula, exact, _ = covered_point(
        [way for way in copies if way is not None],
        lines[0].view,
        (place,),
        Known(given, accesses[0].loops),
    )
    return formula, given, exact


def _goes_beyond(access: Access, dimension: int, end: Expr) -> bool:
    ends = reach(access, dimension)
    return ends is None or E.le(ends[1], end) is not TRUE


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
        yield _oversized(uses, accesses)


def _plain(view: View, storage: Storage) -> bool:
    return view.exact and view.frame == storage.shape


def _oversized(uses: Uses, accesses: list[Access]) -> Check:
    storage = uses.storage
    worst: tuple[int, Expr] | None = None
    for dimension, extent in enumerate(storage.shape):
        if storage.partition_axis is None or dimension <= storage.partition_axis:
            continue
        ends = [reach(access, dimension) for access in accesses]
        used = E.const(0)
        for end in ends:
            if end is None:
                used = extent
                break
            used = E.maximum(used, end[1])
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
    reaching = ((a, reach(a, worst[0])) for a in accesses)
    widest = next((a for a, end in reaching if end is not None and end[1] is worst[1]), accesses[0])
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
    if storage.kind is not StorageKind.ALLOC or axis is None:
        return
    for dimension in range(axis + 1, len(storage.shape)):
        if event.ends[dimension] < storage.shape[dimension].const:
            yield _used_to_its_end(storage, (dimension, E.const(event.ends[dimension])))
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
            "multiplication, the result is complete and wrong."
        ),
        facts=("NKI-X11",),
        on=On.TRACE,
        check=dropped_tails,
        monitors=(Monitor(Reached, tail_unread, meant=True),),
        replayed=Replayed(Shown.STATED, whole=True),
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
