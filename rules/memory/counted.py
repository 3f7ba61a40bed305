"""Which elements are written, counted one by one: where all sizes are numbers, or few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from msgspec import Struct

from rules.memory.runtime import elements
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.memory.index import Access
from verifier.symbolic.tensors import Loop, Storage, View

#: units of a tensor that are gone through one by one
_UNITS: Final = 1 << 24
#: iterations, and runs of units, that are gone through for one tensor
_STEPS: Final = 1 << 14
_RUNS: Final = 1 << 19
#: values that numbers of programs may have together
_VALUES: Final = 64


class UncountableError(Exception):
    """Something is not a number, or there are too many of them."""


class Grid(Struct, frozen=True):
    """Runs of ``length`` units from ``start`` on, at all sums of multiples of steps.

    ``steps``: how many multiples, and of what, the largest step first.
    """

    start: int
    steps: tuple[tuple[int, int], ...]
    length: int = 1


class Writing(Struct, frozen=True):
    """A write: when it happens, and what it writes then."""

    loops: tuple[Loop, ...]
    facts: tuple[Bool, ...]
    grid: Callable[[E.Substitution], Grid]


def number(value: Expr) -> int:
    if not value.is_const:
        raise UncountableError
    return value.const


def first_missing(
    total: int,
    writes: Iterable[Writing],
    values: dict[Sym, Expr] | None = None,
    budget: list[int] | None = None,
) -> int | None:
    """The first of ``total`` units that none of the writes has; ``total`` if all are written.

    None: it cannot be told so. ``values``: of symbols that are no loop's. ``budget``: iterations
    and runs that may still be gone through.
    """
    if total > _UNITS:
        return None
    there = bytearray(total)
    budget = [_STEPS, _RUNS] if budget is None else budget
    known = dict(values or {})
    try:
        for write in writes:
            for put in _iterations(write.loops, E.Substitution(known), known, budget):
                if _happens(write.facts, put):
                    _mark(there, write.grid(put), budget)
    except UncountableError:
        return None
    at = there.find(b"\0")
    return total if at < 0 else at


def _mark(there: bytearray, grid: Grid, budget: list[int]) -> None:
    length, steps = grid.length, list(grid.steps)
    if any(count <= 0 for count, _ in steps):
        return
    while steps and (steps[-1][0] == 1 or steps[-1][1] == length):
        count, _ = steps.pop()
        length *= count
    ranges = [range(0, count * step, step) if step else range(1) for count, step in steps]
    for offsets in product(*ranges):
        budget[1] -= 1
        if budget[1] < 0:
            raise UncountableError
        start = grid.start + sum(offsets)
        begin, end = max(start, 0), min(start + length, len(there))
        if begin < end:
            there[begin:end] = b"\1" * (end - begin)


def _happens(facts: Iterable[Bool], put: E.Substitution) -> bool:
    for fact in map(put.bool, facts):
        if fact is E.FALSE:
            return False
        if fact is not E.TRUE:
            raise UncountableError
    return True


def _iterations(
    loops: Sequence[Loop], put: E.Substitution, values: dict[Sym, Expr], budget: list[int]
) -> Iterator[E.Substitution]:
    """Every iteration of loops, those around first."""
    if not loops:
        budget[0] -= 1
        if budget[0] < 0:
            raise UncountableError
        yield put
        return
    loop, *inner = loops
    for at in range(number(put.expr(loop.trips))):
        deeper = {**values, loop.symbol: E.const(at)}
        yield from _iterations(inner, E.Substitution(deeper), deeper, budget)


# ----------------------------------------------------------------------------- of tensors


def written(
    storage: Storage, writes: Sequence[Access], path: Sequence[Bool], sizes: Mapping[Sym, Expr]
) -> Bool | None:
    """When all of a tensor is written, where its size is a number and the programs are few.

    None: it cannot be told so. ``path``: what holds at the end. ``sizes``: those that are numbers.
    """
    total = 1
    for extent in map(E.Substitution(dict(sizes)).expr, storage.shape):
        if not extent.is_const:
            return None
        total *= extent.const
    found = listed(writes, path)
    if found is None:
        return None
    every, named = found
    symbols = [symbol for symbol in named if symbol not in sizes]
    choices: list[range] = []
    combinations = 1
    for symbol in symbols:
        if symbol.origin is not E.Origin.GRID or symbol.lo is None or symbol.hi is None:
            return None
        choices.append(range(symbol.lo, symbol.hi + 1))
        combinations *= len(choices[-1])
    if combinations > _VALUES:
        return None
    wanted: list[Bool] = []
    budget = [_STEPS, _RUNS]
    for chosen in product(*choices):
        values = {s: E.const(value) for s, value in zip(symbols, chosen, strict=True)}
        missing = first_missing(total, every, {**sizes, **values}, budget)
        if missing is None:
            return None
        if missing < total:
            wanted.append(E.or_(*(E.ne(E.from_atom(s), value) for s, value in values.items())))
    return E.and_(*wanted)


def listed(
    writes: Sequence[Access], path: Sequence[Bool]
) -> tuple[list[Writing], dict[Sym, None]] | None:
    """The writes, and the symbols that stand for numbers in them; None: not all say where they are.

    ``path``: what holds at the end.
    """
    found: list[Writing] = []
    symbols: dict[Sym, None] = {}
    for access in writes:
        view = access.view
        if not _is_plain(view):
            return None
        facts = tuple(f for f in (*access.path, *access.given, view.mask) if f not in path)
        own = {axis.symbol for axis in view.axes} | {loop.symbol for loop in access.loops}
        terms: list[Expr | Bool] = [*view.coords, *facts, *(axis.size for axis in view.axes)]
        terms += [loop.trips for loop in access.loops]
        symbols.update((s, None) for term in terms for s in term.free() if s not in own)
        found.append(Writing(access.loops, facts, _of_view(view)))
    return found, symbols


def _is_plain(view: View) -> bool:
    """Whether a view says exactly which elements of its storage it has."""
    storage = view.storage
    as_many = elements(view.frame) is elements(storage.shape)
    same = as_many and view.dtype.itemsize is storage.dtype.itemsize
    return same and view.exact and not view.indirect and not view.instance


def _of_view(view: View) -> Callable[[E.Substitution], Grid]:
    """The elements of a view in the row-major order of its frame."""
    zero = E.Substitution({axis.symbol: E.const(0) for axis in view.axes})

    def grid(put: E.Substitution) -> Grid:
        start, steps, step = 0, {axis.symbol: 0 for axis in view.axes}, 1
        counts = {axis.symbol: number(put.expr(axis.size)) for axis in view.axes}
        for extent, coord in reversed(list(zip(view.frame, view.coords, strict=True))):
            extent, coord = put.expr(extent), put.expr(coord)
            first = rest = zero.expr(coord)
            low = high = number(first)
            for axis in view.axes:
                if axis.symbol not in coord.free():
                    continue
                slope = E.Substitution({axis.symbol: E.const(1)}).expr(coord)
                by = number(zero.expr(slope) - first)
                rest = rest + axis.index * by
                steps[axis.symbol] += by * step
                reach = by * (counts[axis.symbol] - 1)
                low, high = low + min(reach, 0), high + max(reach, 0)
            if rest is not coord or low < 0 or high >= extent.const:
                raise UncountableError
            start += low * step
            step *= extent.const
        found = [(counts[symbol], abs(by)) for symbol, by in steps.items()]
        return Grid(start, tuple(sorted(found, key=lambda item: item[1], reverse=True)))

    return grid


__all__ = ["Grid", "UncountableError", "Writing", "first_missing", "listed", "number", "written"]
