"""Tiles placed by hand: two that are live at once share no memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from rules.memory import examples
from rules.memory.meetings import chosen
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.events import Life, Lived
from verifier.symbolic.memory.index import index
from verifier.symbolic.memory.lifetime import Lifetime
from verifier.symbolic.memory.lives import exclusive, lives
from verifier.symbolic.memory.physical import is_counted, tile_by_tile, window
from verifier.symbolic.tensors import LoopKind, Storage
from verifier.symbolic.trace import Trace


def address_overlap(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per two tiles placed by hand that are live at the same time."""
    table = index(trace)
    placed: list[Lifetime] = []
    rough: dict[int, Storage] = {}
    lost: list[Storage] = []
    for uses in table.storages:
        storage = uses.storage
        if not storage.buffer.on_chip or not (uses.reads or uses.writes):
            continue
        if storage.placed:
            moved = window(storage, target.psum_bank_bytes)
            if moved is None:
                lost.append(storage)
                continue
            if is_counted(storage):
                rough[id(moved)] = storage
            uses = replace(uses, storage=moved)
        if uses.storage.address is not None:
            placed += lives(table, uses)
    if lost:
        yield _anywhere(lost[0])
    for position, first in enumerate(placed):
        if first.together and not first.touches:
            yield _any_two(first)
        for second in placed[position + 1 :]:
            if first.storage.buffer is not second.storage.buffer:
                continue
            one, other = (rough.get(id(x.storage), x.storage) for x in (first, second))
            if tile_by_tile(one, other):
                continue
            for check in _meeting(first, second):
                several = rough.get(id(first.storage)) or rough.get(id(second.storage))
                yield check if several is None else _in_part(check, several)


def _in_part(found: Check, several: Storage) -> Check:
    """A tensor of several tiles: when each of them is in use is not told apart."""
    reason = f"which tiles of `{several.name}` are in use at a time is not known"
    return replace(found, exact=False, reason=found.reason or reason)


def _anywhere(storage: Storage) -> Check:
    """Where a tensor lies is not followed, so nothing is known of it and any other."""
    return Check(
        predicate=E.FALSE,
        span=storage.span,
        text=f"`{storage.name}` has a place of its own",
        message=f"`{storage.name}` may overlap what is still in use",
        facts=("NKI-B14",),
        exact=False,
        reason=f"where `{storage.name}` lies is not known",
        path=storage.path,
        order=storage.order,
    )


def _meeting(first: Lifetime, second: Lifetime) -> Iterator[Check]:
    """Two tensors that are there at once lie in different places.

    Where it is not certain how long one of them lives, what is certain is a check of its own.
    """
    if exclusive(first.path, second.path):
        return
    places = _placed(first), _placed(second)
    found = _apart(places[0].storage, places[1].storage)
    if first.storage is second.storage:
        found = _of_one_site(found, first)
    given = (*found.given, *places[0].given, *places[1].given, _different(first, second))
    points = [
        point
        for point in sorted({*first.begins, *second.begins})
        if first.at(point) is not E.FALSE is not second.at(point)
    ]
    sure = E.or_(*_overwritten(first, second), *_overwritten(second, first))
    maybe = E.or_(*(_there(first, second, point) for point in points))
    for there in dict.fromkeys((sure, maybe)):
        if there is E.FALSE:
            continue
        yield replace(
            found,
            given=(*given, there),
            exact=there is sure,
            reason="" if there is sure else "how long the tiles live is not known exactly",
        )


def _there(first: Lifetime, second: Lifetime, point: int) -> Bool:
    """When two tensors are there at one point."""
    return E.and_(*(E.and_(life.at(point), life.held(point)) for life in (first, second)))


def _overwritten(kept: Lifetime, other: Lifetime) -> Iterator[Bool]:
    """When it is certain that a write to one comes while what the other holds is still to be read.

    A tensor that is written anew in each trip of a loop is free between its last read in one and
    its first write in the next: others may lie there until then.
    """
    for point in sorted(other.filled):
        if kept.at(point) is not E.FALSE is not other.at(point):
            yield E.and_(kept.at(point), kept.needed(point), other.at(point), other.written(point))


def _different(first: Lifetime, second: Lifetime) -> Bool:
    """When two tensors are not the same one."""
    if first.storage is not second.storage:
        return E.TRUE
    one, two = chosen(first), chosen(second)
    return E.or_(*(E.ne(one.expr(x.index), two.expr(x.index)) for x in first.storage.loops))


def _placed_lived(event: Lived, target: Target) -> Iterator[Check]:
    """As :func:`address_overlap`, of the tensors of a run: the first two."""
    placed = []
    for life in event.lives:
        storage = life.storage
        if storage.placed and not is_counted(storage):
            moved = window(storage, target.psum_bank_bytes)
            life = life if moved is None else replace(life, storage=moved)
        if life.storage.address is not None:
            placed.append(life)
    apart: dict[tuple[int, int], bool] = {}
    live: list[Life] = []
    for life in sorted(placed, key=lambda life: life.first):
        live = [other for other in live if other.last >= life.first]
        for other in live:
            if other.storage.buffer is not life.storage.buffer:
                continue
            pair = id(other.storage), id(life.storage)
            if pair not in apart:
                apart[pair] = _apart(other.storage, life.storage).predicate is E.TRUE
            if not apart[pair]:
                own, its = (
                    replace(
                        each.storage,
                        name=each.name,
                        span=each.span,
                        order=each.first,
                        argument_spans={},
                    )
                    for each in (life, other)
                )
                yield replace(_apart(its, own), path=())
                return
        live.append(life)


class _Placed(Struct, frozen=True):
    """The storage of one tensor, at its own place; ``given``: what makes it is gone through."""

    storage: Storage
    given: tuple[Bool, ...]


def _placed(life: Lifetime) -> _Placed:
    put = chosen(life)
    given = tuple(put.bool(loop.within) for loop in life.storage.loops)
    return _Placed(_moved(life.storage, put), given)


def _moved(storage: Storage, put: E.Substitution) -> Storage:
    assert storage.address is not None
    row, byte = storage.address
    return replace(
        storage,
        shape=tuple(put.expr(extent) for extent in storage.shape),
        address=(put.expr(row), put.expr(byte)),
        path=tuple(put.bool(condition) for condition in storage.path),
    )


def _of_one_site(found: Check, life: Lifetime) -> Check:
    """Two tensors that one allocation makes in different iterations occupy different places."""
    storage = life.storage
    return replace(
        found,
        text=f"tensors of `{storage.name}` that are used together occupy different places",
        message=f"`{storage.name}` overlaps what it was in another iteration, still in use",
        notes=tuple(
            Note(loop.span, "each iteration of this loop places one")
            for loop in storage.loops
            if loop.kind is not LoopKind.GRID
        ),
        help=("let the address depend on the iteration",),
    )


def _any_two(life: Lifetime) -> Check:
    """Two of the tensors of a site that live at once, of which no particular ones are known."""
    storage = life.storage
    fresh: dict[E.Sym, Expr] = {}
    given: list[Bool] = []
    later: list[Bool] = []
    for together in life.together:
        index = together.loop.index
        other = E.fresh(together.loop.name or "i", 0, together.loop.symbol.hi, E.Origin.POINT)
        fresh[together.loop.symbol] = other
        later.append(E.gt(other, index))
        if together.most is not None:
            given += [E.le(other, index + together.most), E.le(index, other + together.most)]
    put = E.Substitution(fresh)
    given += (condition for x in storage.loops for condition in (x.within, put.bool(x.within)))
    if len(life.together) == 1:  # of two, the earlier one lives on
        given += [together.kept for together in life.together]
    exact = all(together.exact for together in life.together)
    found = _of_one_site(_apart(storage, _moved(storage, put)), life)
    return replace(
        found,
        given=(*found.given, *given, E.or_(*later)),
        exact=exact,
        reason="" if exact else f"which of `{storage.name}` are in use together is not known",
    )


def _rectangle(storage: Storage) -> tuple[Expr, Expr, Expr, Expr]:
    """Partitions ``[p0, p1)`` and bytes ``[b0, b1)``."""
    assert storage.address is not None
    row, byte = storage.address
    rows = storage.shape[storage.partition_axis or 0] if storage.shape else E.const(1)
    return row, row + rows, byte, byte + storage.bytes_per_partition


def _apart(first: Storage, second: Storage) -> Check:
    p0, p1, b0, b1 = _rectangle(first)
    q0, q1, c0, c1 = _rectangle(second)
    later = second if second.order >= first.order else first
    earlier = first if later is second else second
    names = [first.name, second.name]
    other = f"`{earlier.name}`"
    if first.name == second.name:
        names = [
            f"the {'later' if each is later else 'earlier'} {each.name}" for each in (first, second)
        ]
        where = "here before" if first.span == second.span else f"in line {earlier.span.line}"
        other = f"the `{earlier.name}` that was placed {where}"
    return Check(
        predicate=E.or_(E.le(p1, q0), E.le(q1, p0), E.le(b1, c0), E.le(c1, b0)),
        span=later.argument_spans.get("address", later.span),
        text=f"`{first.name}` and `{second.name}` occupy different places",
        message=f"`{later.name}` overlaps {other}, which is still in use",
        facts=("NKI-B14",),
        values=(
            (f"first byte of {names[0]}", b0),
            (f"end of {names[0]}", b1),
            (f"first byte of {names[1]}", c0),
            (f"end of {names[1]}", c1),
        ),
        notes=(Note(earlier.span, f"`{earlier.name}` is placed here"),),
        help=("move one of them past the end of the other",),
        path=(*first.path, *(c for c in second.path if c not in first.path)),
        order=later.order,
    )


register(
    Rule(
        id="address-overlap",
        code="MEM310",
        family="memory",
        summary="tiles placed by hand share no memory while they are in use",
        silent=True,
        reason="The compiler does not move tiles with an address: one overwrites the other.",
        facts=("NKI-B14",),
        on=On.TRACE,
        check=address_overlap,
        monitors=(Monitor(Lived, _placed_lived),),
        replayed=Replayed(Shown.AT_THE_END),
        failing=examples.ADDRESS_FAILING,
        passing=examples.ADDRESS_PASSING,
    )
)
