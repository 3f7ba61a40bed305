"""Reads that take in a dimension as a whole wherever their tiles fill it.

Which indices of a dimension all reads together touch is one formula, over every loop and every
program. What tells a tail that is dropped from a part that is left out on purpose is the same
formula at the sizes that come out even: where a quotient of the size, one that a walk through the
dimension depends on, has no remainder. Reads that come to the end there and nowhere else forget
the rest; a head, a sample, or every other block are not complete there, either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.cases import Copy, copy, covered_point, quotient
from rules.memory.formulas import numbers_of
from rules.memory.words import highest, lowest
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Bool, Div, Expr, Sym
from verifier.symbolic.memory.index import Access, index
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Loop, StorageKind
from verifier.symbolic.trace import Trace
from verifier.symbolic.views.common import conjuncts, limited

#: tiles that fill a dimension, where formulas alone do not say whether all of it is read
_TILES: Final = (2, 3, 4, 6, 12)
#: so many of these show it
_SHOWN: Final = 2
#: sizes and values that nothing else settles, in these cases
_OTHERS: Final = (2, 3)
#: indices of a dimension that are looked at, at most
_LOOKED_AT: Final = 97


class Filling(Struct, frozen=True):
    """A quotient without a remainder, and the size at which it has none.

    It may be one of other quotients, which have none there, either: ``n // 128 // blocks``.
    ``up``: one that is rounded up, ``(n + 127) // 128``: ``n`` itself has no remainder.
    """

    quotient: Div
    symbol: Sym
    up: bool = False

    @property
    def chosen(self) -> bool:
        """Whether the size says how large its tiles are: there is no one size for their number."""
        return any(self.symbol in division.den.free() for division in self._levels())

    def _levels(self) -> Iterator[Div]:
        division: Div | None = self.quotient
        while division is not None:
            yield division
            _, division = _within_dividend(division, self.symbol)

    def size(self, tiles: Expr, put: E.Substitution) -> Expr | None:
        """The symbol's value for which the quotient is ``tiles``, other symbols as in ``put``."""
        return self._filled(tiles, put, {each.den: put.expr(each.den) for each in self._levels()})

    def _filled(self, tiles: Expr, put: E.Substitution, steps: Mapping[Expr, Expr]) -> Expr | None:
        value: Expr | None = tiles
        for division in self._levels():
            if value is not None:
                factor, inner = _within_dividend(division, self.symbol)
                part = E.from_atom(self.symbol if inner is None else inner)
                rest, step = put.expr(division.num - factor * part), steps[division.den]
                added = E.const(0) if self.up and _is_remainder(rest, step) else rest
                value = quotient(step * value - added, E.const(factor))
        return value

    def sizes(self, tiles: int, put: E.Substitution) -> Iterator[Expr]:
        """The sizes that so many tiles fill: one for each size of a tile that they choose."""
        steps = {each.den: put.expr(each.den) for each in self._levels()}
        looked: list[dict[Expr, Expr]] = []
        for number in _turns(steps.values()) if self.chosen else (0,):
            chosen = self._chosen(steps, E.const(number))
            if chosen in looked or not all(step.is_const for step in chosen.values()):
                continue
            looked.append(chosen)
            size = self._filled(E.const(tiles), put, chosen)
            if size is not None and size.is_const and self._chosen(steps, size) == chosen:
                yield size

    def _chosen(self, steps: Mapping[Expr, Expr], size: Expr) -> dict[Expr, Expr]:
        """The sizes of tiles that a size chooses."""
        put = E.Substitution({self.symbol: size})
        return {den: put.expr(step) for den, step in steps.items()}


def _turns(terms: Iterable[Expr]) -> list[int]:
    """Numbers about which terms may change what they are: those that stand in them."""
    parts = [part for term in terms for part in E.walk(term) if isinstance(part, Expr)]
    said = {abs(number) for part in parts for number in (part.const, *dict(part.terms).values())}
    return [
        near for number in sorted(said)[:_LOOKED_AT] for near in (number - 1, number, number + 1)
    ]


def _within_dividend(division: Div, symbol: Sym) -> tuple[int, Div | None]:
    """How often a symbol stands in a dividend, or else a quotient of it, alone; 0: it does not."""
    parts = [atom for atom in division.num.atoms() if atom is symbol or _is_of(atom, symbol)]
    if len(parts) != 1:
        return 0, None
    (part,) = parts
    factor = division.num.coefficient(part)
    rest = division.num - factor * E.from_atom(part)
    if factor < 1 or symbol in rest.free():
        return 0, None
    return factor, part if isinstance(part, Div) else None


def _is_of(atom: E.Atom, symbol: Sym) -> bool:
    return isinstance(atom, Div) and symbol in E.from_atom(atom).free()


def _is_remainder(rest: Expr, step: Expr) -> bool:
    """Whether it is less than a step: of what is rounded, then, nothing comes of it."""
    return E.le(0, rest) is TRUE and E.lt(rest, step) is TRUE


def _fills(division: Div | None, symbol: Sym) -> bool:
    """Whether a quotient, and those in it, hang on one symbol in one way."""
    while division is not None:
        factor, division = _within_dividend(division, symbol)
        if not factor:
            return False
    return True


def _rounds_up(division: Div | None, symbol: Sym) -> bool:
    """Whether a quotient, or one in it, is of what has been raised by less than a step."""
    while division is not None:
        factor, inner = _within_dividend(division, symbol)
        rest = division.num - factor * E.from_atom(symbol if inner is None else inner)
        if rest is not E.const(0) and _is_remainder(rest, division.den):
            return True
        division = inner
    return False


def fillings(read: Access, extent: Expr) -> list[Filling]:
    """The quotients of an extent's size on which a read of one dimension depends."""
    found: dict[tuple[int, int, bool], Filling] = {}
    for division in _quotients(_terms(read)):
        for symbol in extent.free():
            if _fills(division, symbol):
                up = _rounds_up(division, symbol)
                found.setdefault((division.id, symbol.id, up), Filling(division, symbol, up))
    return list(found.values())


def _terms(read: Access) -> Iterator[Expr | Bool]:
    view = read.view
    yield from view.coords
    yield view.mask
    yield from (axis.size for axis in view.axes)
    yield from (loop.trips for loop in read.loops)
    yield from (*read.path, *read.given)


def quotients(terms: Iterable[Expr | Bool]) -> set[Div]:
    """The divisions in terms, also within others."""
    return set(_quotients(terms))


def _quotients(terms: Iterable[Expr | Bool]) -> Iterator[Div]:
    seen: set[int] = set()
    left: list[Expr | Bool] = list(terms)
    while left:
        term = left.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        if isinstance(term, Bool):
            left += term.args if term.expr is None else (term.expr,)
            continue
        for atom in term.atoms():
            if isinstance(atom, Div):
                yield atom
            left += atom.children()


def line(access: Access, dimension: int) -> Access:
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
    used |= {s for axis in flat.axes for s in axis.size.free()}
    loops = [loop for loop in access.loops if loop.symbol in used]
    for loop in reversed(access.loops):  # trip counts may depend on outer loops
        needed = {s for kept in loops for s in kept.trips.free()}
        if loop not in loops and loop.symbol in needed:
            loops.append(loop)
    ordered = tuple(loop for loop in access.loops if loop in loops)
    return replace(access, view=flat, loops=ordered, reaches={})


def walks(read: Access) -> list[Loop]:
    """The loops that go through the dimension of a line, programs among them."""
    coord = read.view.coords[0]
    sizes = {s for axis in read.view.axes for s in axis.size.free()}
    return [loop for loop in read.loops if loop.symbol in coord.free() or loop.symbol in sizes]


@dataclass(frozen=True)
class Along:
    """All reads of a tensor along one dimension: their lines, and how long it is.

    ``numbers``: the sizes that the kernel demands to be a number.
    """

    lines: Sequence[Access]
    extent: Expr
    numbers: Mapping[Sym, Expr]

    @cached_property
    def pinned(self) -> E.Substitution:
        """The numbers, but for those of the dimension itself: what its size is says nothing of
        what its loops are for."""
        own = self.extent.free()
        return E.Substitution({s: put for s, put in self.numbers.items() if s not in own})

    @cached_property
    def place(self) -> Expr:
        """Any index of the dimension."""
        return E.fresh("index", 0, None, E.Origin.POINT)

    @property
    def _symbol(self) -> Sym:
        return _symbol(self.place)

    @cached_property
    def inside(self) -> Bool:
        return E.lt(self.place, self.extent)

    @cached_property
    def everywhere(self) -> tuple[Bool, bool]:
        """Whether the reads touch the index ``place``, and exactness."""
        return self._touched(self.place, (self.inside,))

    @cached_property
    def last(self) -> tuple[Bool, bool]:
        """Whether they touch the last one."""
        return self.at(self.extent - 1)

    def at(self, place: Expr) -> tuple[Bool, bool]:
        """Whether they touch an index of the dimension."""
        return self._touched(place, ())

    def _touched(self, place: Expr, given: tuple[Bool, ...]) -> tuple[Bool, bool]:
        copies = [copy(read, 0) for read in self.lines]
        ways: list[Copy] = [way for way in copies if way is not None]
        formula, exact, _ = covered_point(ways, self.lines[0].view, (place,), Known(given))
        return self.pinned.bool(formula), exact

    @cached_property
    def from_the_start(self) -> bool:
        """Whether nothing is left out before an index that is touched, as the formula shows."""
        return _falls(self.everywhere[0], self._symbol)

    @cached_property
    def is_whole(self) -> bool:
        """Whether the formula shows that nothing is left out."""
        formula, exact = self.everywhere
        return exact and E.Substitution(self.numbers).bool(formula) is TRUE

    def read_to_the_end(self, filling: Filling) -> Bool:
        """Whether the last index is read where the tiles fill the dimension, any number of them."""
        if filling.chosen:
            return TRUE if self._shown(filling, last=True) else FALSE
        tiles = E.symbol("whole tiles", 1)
        size = filling.size(tiles, self.pinned)
        if size is None:
            return FALSE
        by = E.Substitution({filling.symbol: size}, atoms={filling.quotient: tiles})
        formula = self.pinned.bool(by.bool(self.last[0]))
        if formula is TRUE or formula is FALSE:
            return formula
        end = by.expr(self.extent) - 1
        formula = self._at(self.everywhere[0], by, end)
        if formula is TRUE or formula is FALSE:
            return formula
        if not self._shown(filling, last=True):
            return FALSE
        there = E.Substitution({_symbol(tiles): E.from_atom(filling.quotient)})
        return E.or_(E.lt(E.from_atom(filling.quotient), 1), there.bool(formula))

    def _at(self, formula: Bool, by: E.Substitution, place: Expr) -> Bool:
        found = E.Substitution({self._symbol: place}).bool(by.bool(formula))
        return self.pinned.bool(found)

    def further(self, loop: Loop) -> Along:
        """The same reads if a loop went one trip further."""
        longer = Loop(loop.index, loop.trips + 1, loop.kind, loop.name, loop.span)
        lines = [
            replace(
                each,
                loops=tuple(longer if other is loop else other for other in each.loops),
                reaches={},
            )
            for each in self.lines
        ]
        return Along(lines, self.extent, self.numbers)

    def complete(self, filling: Filling) -> bool:
        """Whether all of the dimension is read where tiles fill it, as far as samples show."""
        return self._shown(filling, last=False)

    def always_complete(self, filling: Filling) -> bool:
        """As :meth:`complete`, however many tiles there are, and whatever parameters say."""
        found = [self._sampled(filling, tiles, False) for tiles in _TILES]
        return found.count(True) >= _SHOWN and False not in found

    def falls_short_of_a_step(self, read: Access) -> bool:
        """Whether reads on plain numbers end less than a step of a walk before the dimension.

        A walk that leaves gaps between its steps takes samples, and has no tail to read; windows
        that lie across each other end where the last whole one does.
        """
        extent = E.Substitution(self.numbers).expr(self.extent)
        if not extent.is_const or self._reads(extent.const - 1):
            return False
        coord = read.view.coords[0]
        step = max(abs(coord.coefficient(loop.symbol)) for loop in walks(read))
        first, last = (end(coord, (), read.view.axes) for end in (lowest, highest))
        if first is None or last is None or E.lt(last - first, step) is not TRUE:
            return False
        ends = range(extent.const - 2, max(0, extent.const - step) - 1, -1)
        end = next((index for index in ends if self._reads(index)), None)
        if end is None:
            return False
        return all(map(self._reads, _spread(range(end, max(-1, end - step), -1))))

    def _reads(self, index: int) -> bool:
        put = E.Substitution({**self.numbers, self._symbol: E.const(index)})
        return put.bool(self.everywhere[0]) is TRUE

    def _shown(self, filling: Filling, *, last: bool) -> bool:
        """Whether two samples show it; the others need no look then."""
        shown = (tiles for tiles in _TILES if self._sampled(filling, tiles, last))
        return len(list(islice(shown, _SHOWN))) == _SHOWN

    def _sampled(self, filling: Filling, tiles: int, last: bool) -> bool | None:
        for other in _OTHERS:
            found = self._sample(filling, tiles, other, last)
            if not found:
                return found
        return True

    def _sample(self, filling: Filling, tiles: int, other: int, last: bool) -> bool | None:
        """Whether a dimension that so many tiles fill is read, or its last index; None: there is
        none of that size."""
        formula, symbol = self.everywhere[0], self._symbol
        free = {*formula.free(), *self.extent.free(), *filling.quotient.num.free()}
        free |= {*filling.quotient.den.free()} - {symbol, filling.symbol}
        values = {s: E.const(_within(s, other)) for s in free - {symbol, filling.symbol}}
        found = None
        for size in filling.sizes(tiles, E.Substitution(values)):
            put = E.Substitution({**values, filling.symbol: size})
            extent = put.expr(self.extent)
            if size.const != _within(filling.symbol, size.const):
                continue
            if not extent.is_const or extent.const < 1:
                continue
            looked = range(extent.const - 1, extent.const - 2 if last else -1, -1)
            there = put.bool(formula)
            found = all(_holds(there, symbol, index) for index in _spread(looked))
            if not found:
                return False
        return found


def _holds(formula: Bool, symbol: Sym, value: int) -> bool:
    """Whether a formula of one symbol is true for a value of it, whatever its flags are."""
    if formula.flags():
        return E.Substitution({symbol: E.const(value)}).bool(formula) is TRUE
    try:
        return bool(E.evaluate(formula, {symbol.name: value}))
    except E.EvaluationError:
        return False


def _spread(indices: range) -> Sequence[int]:
    """Some of the indices, if there are many: an odd step meets what leaves out every other. The
    last one is among them: that is what a head leaves out."""
    return [*indices[:: max(1, len(indices) // _LOOKED_AT) | 1], *indices[-1:]]


def _symbol(term: Expr) -> Sym:
    symbol = term.as_atom()
    assert isinstance(symbol, Sym)
    return symbol


def _within(symbol: Sym, value: int) -> int:
    if symbol.lo is not None:
        value = max(value, symbol.lo)
    return value if symbol.hi is None else min(value, symbol.hi)


def _falls(formula: Bool, symbol: Sym) -> bool:
    """Whether a formula that holds for a value of a symbol holds for each smaller one."""
    if symbol not in formula.free():
        return True
    if formula.kind in (E.BoolKind.AND, E.BoolKind.OR):
        return all(_falls(part, symbol) for part in formula.args)
    if formula.kind is not E.BoolKind.LE or formula.expr is None:
        return False
    rest = formula.expr - formula.expr.coefficient(symbol) * E.from_atom(symbol)
    return formula.expr.coefficient(symbol) > 0 and symbol not in rest.free()


def leaves_a_part(trace: Trace) -> bool:
    """Whether something is left of a tensor, and numbers hide what is gone through in loops.

    Where a contract says how large an input is that may be any tensor, else inputs that are read
    without loops though the kernel says how large they may be.
    """
    table = index(trace)
    numbers = numbers_of(trace)
    given = [uses for uses in table.storages if uses.storage.kind is StorageKind.INPUT]
    fixed = any(extent.is_const for uses in given for extent in uses.storage.shape)
    facts = (fact for item in trace.assumptions for fact in conjuncts(item.condition))
    known = {limited(fact) for fact in facts}
    for uses in table.storages if fixed else given:
        frame = uses.reads[0].view.frame if uses.reads else ()
        if not all(read.view.exact and read.view.frame == frame for read in uses.reads):
            continue
        for dimension, extent in enumerate(frame):
            if not extent.is_const and known.isdisjoint(extent.free()):
                continue
            along = Along([line(read, dimension) for read in uses.reads], extent, numbers)
            if (fixed or not any(map(walks, along.lines))) and not along.is_whole:
                return True
    return False
