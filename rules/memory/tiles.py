"""Tiles that share a place: what is read is what was written last, of the same tile.

Modulo allocation of Beta 1 gives fewer places than there are tiles. That is right as long as no
more tiles are in use at once than there are places: a tile that is read must not have been written
over by another one of the same place since it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, permutations
from typing import TypeAlias

from msgspec.structs import replace

from rules.memory import examples
from rules.memory.cases import apart, before, between, covered
from rules.memory.words import element
from verifier.dialects.names import NKI
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Rule, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.events import Displaced, Made, made
from verifier.symbolic.memory.index import Access, Uses, index
from verifier.symbolic.memory.known import Known
from verifier.symbolic.memory.physical import Places, Spot, is_counted, places, spot, tile_by_tile
from verifier.symbolic.regions import same_frame
from verifier.symbolic.tensors import Storage, View
from verifier.symbolic.trace import Trace


def displaced_tiles(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per read of a tile and write of another one that may lie in the same place."""
    table = index(trace)
    placed = [uses for uses in table.storages if uses.storage.buffer.on_chip]
    for uses in placed:
        storage = uses.storage
        if not is_counted(storage) or not uses.writes or not _read(uses):
            continue
        found = places(storage)
        if found is None:
            yield _not_known(storage)
        elif not found.enough(storage):
            for read in _read(uses):
                for write in uses.writes:
                    yield from _kept(uses, read, write, partial(_of_one, found))
    for uses, others in permutations(placed, 2):
        if tile_by_tile(uses.storage, others.storage):
            by_bytes = partial(_of_two, target.psum_bank_bytes)
            for read in _read(uses):
                for write in others.writes:
                    yield from _kept(uses, read, write, by_bytes)


def _read(uses: Uses) -> list[Access]:
    """What reads the tiles of a tensor."""
    return [*uses.reads, *uses.targets, *uses.sums]


def _begun(uses: Uses, read: Access) -> Iterator[tuple[Bool, bool, tuple[Bool, ...]]]:
    """For each way in which there is something to read: when it is elsewhere, whether that is
    exact, and what holds besides. A sum that begins reads nothing."""
    if read not in uses.sums:
        yield E.FALSE, True, ()
        return
    for own in uses.writes:
        for way in before(own, read):
            elsewhere, exact = apart(read.view, way.view)
            if elsewhere is not E.TRUE:
                yield elsewhere, exact, way.ranges


#: when what is written lies elsewhere than what is read, and whether that is exact
_Apart: TypeAlias = Callable[[View, View], tuple[Bool, bool]]


def _kept(uses: Uses, read: Access, write: Access, elsewhere: _Apart) -> Iterator[Check]:
    """No tile that ``write`` writes takes the place of what is read before it is read."""
    storage = uses.storage
    for other in before(write, read):
        distinct, exact = elsewhere(read.view, other.view)
        if distinct is E.TRUE:
            continue
        shared = len(write.loops) - len(other.at)
        ways = chain.from_iterable(between(own, other, shared, read) for own in uses.writes)
        again, covers, _ = covered(ways, read.view, Known((*read.path, *read.ranges), read.loops))
        exact = exact and covers and read.view.exact
        where = element(read.view)
        fault = _still_there(
            made(storage), made(write.view.storage), read.span, write.operation.span
        )
        for unbegun, sure, besides in _begun(uses, read):
            known = exact and sure
            yield replace(
                fault,
                predicate=E.or_(distinct, again, unbegun),
                given=(*read.ranges, *other.ranges, *besides, *where.given),
                values=where.values,
                exact=known,
                reason="" if known else f"which tiles of `{storage.name}` are in use is not known",
                path=read.path,
                order=read.order,
            )


def _of_one(found: Places, read: View, write: View) -> tuple[Bool, bool]:
    """Of two views of one tensor: they name elements of one tile, or of different places."""
    a, b = same_frame(read, write)
    storage = read.storage
    if read.indirect or write.indirect or not (a.exact and b.exact) or a.frame != storage.shape:
        return E.FALSE, False
    blocks = len(found.counts)
    pairs = list(zip(a.coords, b.coords, strict=True))
    other_place = (
        E.ne(E.mod(mine, count), E.mod(its, count))
        for (mine, its), counts in zip(pairs, found.counts, strict=False)
        for count in counts
    )
    other_element = (E.ne(mine, its) for mine, its in pairs[blocks:])
    same_tile = E.and_(*(E.eq(mine, its) for mine, its in pairs[:blocks]))
    return E.or_(*other_place, *other_element, same_tile), True


def _of_two(bank: int, read: View, write: View) -> tuple[Bool, bool]:
    """Of views of two tensors: they name elements of different places."""
    spots: list[tuple[Spot, Expr]] = []
    for view in (read, write):
        found = spot(view.storage, view.coords, bank) if view.exact else None
        if found is None or view.frame != view.storage.shape:
            return E.FALSE, False
        spots.append((found, view.storage.dtype.itemsize))
    (mine, size), (its, other) = spots
    behind = E.le(mine.byte + size, its.byte), E.le(its.byte + other, mine.byte)
    return E.or_(E.ne(mine.row, its.row), *behind), True


def _not_known(storage: Storage) -> Check:
    """Nothing is known of the places."""
    return replace(
        _still_there(made(storage), made(storage), storage.span, storage.span),
        exact=False,
        reason=f"where the tiles of `{storage.name}` lie is not known",
        notes=(),
        path=storage.path,
        order=storage.order,
    )


def _still_there(mine: Made, its: Made, span: Span, written: Span) -> Check:
    """No other tile has been written to the place of one that is read."""
    if mine == its:
        text = f"no other tile of `{mine.name}` is written to the place of the one that is read"
        message = f"a tile of `{mine.name}` is read after another one was written to its place"
        notes: tuple[Note, ...] = (Note(mine.span, "fewer places than tiles are asked for here"),)
        help_ = "ask for as many tiles as are in use at once"
    else:
        text = f"no tile of `{its.name}` is written to the place of the one of `{mine.name}`"
        message = f"`{mine.name}` is read after `{its.name}` was written to its place"
        notes = (Note(mine.span, "placed here"), Note(its.span, "placed here, over it"))
        help_ = "place tensors whose tiles are in use at once apart"
    return Check(
        predicate=E.FALSE,
        span=span,
        text=text,
        message=message,
        facts=("NKI-B15",) if mine == its else ("NKI-B14",),
        notes=(Note(written, "written here"), *notes),
        help=(help_,),
    )


def displaced(event: Displaced, target: Target) -> Iterator[Check]:
    """A tile is read of which another one has taken the place, in a run."""
    yield _still_there(event.tile, event.other, event.span, event.written)


register(
    Rule(
        id="tile-displaced",
        code="MEM315",
        family="memory",
        summary="no more tiles are in use at once than there are places for them",
        silent=True,
        reason=(
            "`mod_alloc` puts tiles whose block indices are alike modulo the number of tiles into "
            "one place: writing one of them destroys the other."
        ),
        facts=("NKI-B15", "NKI-B14"),
        on=On.TRACE,
        dialects=(NKI,),
        check=displaced_tiles,
        monitors=(Monitor(Displaced, displaced),),
        failing=examples.TILES_FAILING,
        passing=examples.TILES_PASSING,
    )
)
