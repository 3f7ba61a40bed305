"""Inputs that a kernel admits, tried one after the other: what holds for one of them can hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod

from rules.memory import counted
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import Access
from verifier.symbolic.tensors import Storage
from verifier.symbolic.trace import AssumptionKind, Trace
from verifier.symbolic.views.common import conjuncts

#: sizes that kernels divide well, and some that they do not
_SIZES = (1, 2, 4, 128, 256, 512, 1024, 2048, 3, 96)
#: sizes of which elements are counted
_FEW = (2, 3, 5, 7, 1, 65, 130)
#: places along a dimension: its ends, its middle, and what lies between
_PARTS = ((0, 1), (1, 1), (1, 2), (1, 3))
#: indices that are tried, and for how many of them all together
_PLACES = (0, 1, 2)
_MOST = 4


def possible(trace: Trace, condition: Bool, point: Mapping[E.Sym, Expr]) -> bool:
    """Whether a condition holds for some input, at each of some places.

    ``point``: symbols that stand for a place, and the extents that they lie in. No proof: that no
    input is found says little.
    """
    demands = [item.condition for item in trace.assumptions]
    put = _equal(demands)
    # the demands on a program instance hold for the first one
    first = E.Substitution({loop.symbol: E.const(0) for loop in trace.grid})
    demands = [first.bool(demand) for demand in demands]
    wanted = put.bool(condition)
    extents = {symbol: put.expr(extent) for symbol, extent in point.items()}
    rest = [fact for fact in map(put.bool, demands) if fact is not E.TRUE]
    terms: list[Expr | Bool] = [wanted, *rest, *extents.values()]
    free = {symbol for term in terms for symbol in term.free()} - set(point)
    flags = {name for term in (wanted, *rest) for name in term.variables()}
    sizes = (*_SIZES, *_own(wanted))
    return any(_holds(wanted, rest, extents, values) for values in _values(free, flags, sizes))


def missed(trace: Trace, storage: Storage, writes: Sequence[Access], path: Sequence[Bool]) -> Bool:
    """That the input is not a certain one, of which a count of the elements that are written shows
    that some are not; TRUE: none is found."""
    found = counted.listed(writes, path)
    return E.TRUE if found is None else missed_by(trace, storage.shape, *found, path)


def missed_by(
    trace: Trace,
    shape: Sequence[Expr],
    every: Sequence[counted.Writing],
    named: Iterable[E.Sym],
    path: Sequence[Bool],
) -> Bool:
    """As :func:`missed`, of the units of a shape; ``named``: the symbols that writes hang on."""
    named = list(named)
    demands = [item.condition for item in trace.assumptions]
    put = _equal(demands)
    first = E.Substitution({loop.symbol: E.const(0) for loop in trace.grid})
    rest = [first.bool(put.bool(demand)) for demand in (*demands, *path)]
    shape = [put.expr(extent) for extent in shape]
    given = [put.expr(E.from_atom(symbol)) for symbol in named]
    terms: list[Expr | Bool] = [*rest, *shape, *given]
    free = list(dict.fromkeys(symbol for term in terms for symbol in term.free()))
    if any(symbol.origin not in E.GIVEN for symbol in free) or any(t.variables() for t in rest):
        return E.TRUE
    for values in _values(free, (), (*_FEW, *_bounds(rest))):
        if all(_true(fact, values) for fact in rest):
            numbers = {symbol: E.const(int(values[symbol.name])) for symbol in free}
            by = E.Substitution(numbers)
            total = prod(counted.number(by.expr(extent)) for extent in shape)
            known = {s: by.expr(term) for s, term in zip(named, given, strict=True)}
            missing = counted.first_missing(total, every, {**numbers, **known})
            if missing is not None and missing < total:
                return E.or_(*(E.ne(E.from_atom(s), value) for s, value in numbers.items()))
    return E.TRUE


def _true(fact: Bool, values: Mapping[str, int | bool]) -> bool:
    try:
        return bool(E.evaluate(fact, values))
    except E.EvaluationError:
        return False


def determined(trace: Trace, extents: Iterable[Expr]) -> bool:
    """Whether the kernel says what sizes are, in terms of others."""
    said = {
        symbol
        for item in trace.assumptions
        for fact in conjuncts(item.condition)
        if fact.kind is E.BoolKind.EQ
        and item.kind in (AssumptionKind.ASSERT, AssumptionKind.CONTRACT)
        for symbol in fact.free()
    }
    return all(symbol in said for extent in extents for symbol in extent.free())


def _own(condition: Bool) -> Iterator[int]:
    """The numbers that a kernel divides by, a few: tiles have these sizes."""
    quotients = E.divisions(condition)
    own = {quotient.den.const for quotient in quotients if quotient.den.is_const}
    yield from sorted(own - {*_SIZES})[:_MOST]


def _bounds(demands: Iterable[Bool]) -> Iterator[int]:
    """The smallest sizes that are demanded, and those behind them."""
    found: set[int] = set()
    for fact in (part for demand in demands for part in conjuncts(demand)):
        if fact.kind is E.BoolKind.LE and fact.expr is not None and len(fact.free()) == 1:
            at = E.from_atom(fact.free()[0])
            least = fact.expr + at
            found.update({least.const} if least.is_const and least.const > 0 else ())
    for size in sorted(found)[:_MOST]:
        yield from range(size, size + len(_PLACES))


def _values(
    free: Iterable[E.Sym], flags: Iterable[str], sizes: Iterable[int] = _SIZES
) -> Iterator[dict[str, int | bool]]:
    for size in sizes:
        for flag in (True, False):
            values: dict[str, int | bool] = dict.fromkeys(flags, flag)
            for symbol in free:
                low = symbol.lo if symbol.lo is not None else 0
                high = symbol.hi if symbol.hi is not None else size
                values[symbol.name] = max(low, min(high, size))
                if symbol.origin is E.Origin.GRID:
                    values[symbol.name] = max(low, min(high, size, 2))
            yield values


def _holds(
    wanted: Bool,
    rest: list[Bool],
    extents: Mapping[E.Sym, Expr],
    values: dict[str, int | bool],
) -> bool:
    try:
        if not all(E.evaluate(fact, values) for fact in rest):
            return False
        sizes = [int(E.evaluate(extent, values)) for extent in extents.values()]
        if any(size < 1 for size in sizes):
            return False
        for parts in product(_PARTS, repeat=len(sizes)):
            place = {
                symbol.name: (size - 1) * part // whole
                for symbol, size, (part, whole) in zip(extents, sizes, parts, strict=True)
            }
            if not E.evaluate(wanted, {**values, **place}):
                return False
    except E.EvaluationError:
        return False
    return True


def _equal(demands: Iterable[Bool]) -> E.Substitution:
    """What the kernel's equations say of its sizes, each by those that are left."""
    found: dict[E.Sym, Expr] = {}
    for demand in demands:
        for fact in conjuncts(demand):
            if fact.kind is not E.BoolKind.EQ or fact.expr is None:
                continue
            term = E.Substitution(found).expr(fact.expr)
            for mono, coef in term.terms:
                symbol = mono[0]
                if len(mono) > 1 or not isinstance(symbol, E.Sym) or abs(coef) != 1:
                    continue
                value = (term - E.from_atom(symbol) * coef) * -coef
                if symbol in value.free():
                    continue
                one = E.Substitution({symbol: value})
                found = {old: one.expr(each) for old, each in found.items()}
                found[symbol] = value
                break
    return E.Substitution(found)
