"""When one access happens before another: the ways, each as a renamed copy of the first access.

An operation stands for all its iterations. For an access ``later`` in a fixed iteration,
``earlier`` precedes it either in the same iteration of the loops they share (program order
decides), or in an earlier iteration of one of these loops. Every way is one :class:`Copy`: the view
of the first access over fresh symbols, the loops whose index is free in it, and what must hold
besides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.expr.settling import Settling
from verifier.symbolic.memory.index import Access, tensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.regions import coverage, same_frame
from verifier.symbolic.tensors import Axis, Box, Loop, LoopKind, View
from verifier.symbolic.units import parts, unit_of

#: choices that are told apart in one question
_CHOICES = 2
#: of places of which nothing is known
_NOTHING = Known()


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """An access in some other iteration: ``private`` loop indices range freely."""

    access: Access
    view: View
    private: tuple[Loop, ...]
    constraints: tuple[Bool, ...]
    #: index of each renamed loop, outermost first: a private one, or what the instance makes it
    at: tuple[Expr, ...] = ()
    #: the elements of which views it touches, as :func:`_touched` has found
    touched: dict[tuple[int, int], _Touched] = field(default_factory=dict, init=False)

    @property
    def ranges(self) -> tuple[Bool, ...]:
        """What holds of the copy's own symbols when they are read as universally quantified."""
        facts: list[Bool] = []
        for loop in self.private:
            facts += (E.ge(loop.index, 0), loop.within)
        facts.extend(axis.within for axis in self.view.axes)
        facts.append(self.view.mask)
        facts.extend(self.constraints)
        return tuple(fact for fact in facts if fact is not E.TRUE)


class _Touched(Struct, frozen=True, eq=False):
    """That a copy touches the element of a view: a formula, beside what is known."""

    view: View
    known: Known
    formula: Bool
    #: otherwise the formula is too strong
    exact: bool


def common_loops(a: Sequence[Loop], b: Sequence[Loop]) -> int:
    """How many outer loops two places share."""
    count = 0
    for left, right in zip(a, b, strict=False):
        if left is not right:
            break
        count += 1
    return count


def copy(
    access: Access,
    shared: int,
    *,
    below: Expr | None = None,
    above: Expr | None = None,
    instance: Sequence[Expr] | None = None,
) -> Copy | None:
    """The access with every loop but the outermost ``shared`` renamed.

    ``below`` and ``above`` bound the first renamed index (exclusive). ``instance`` is the tensor it
    must touch; the equations are used to eliminate renamed indices. None: no such iteration.
    """
    table: dict[E.Sym, Expr] = {}
    renamed = access.loops[shared:]
    for loop in renamed:
        table[loop.symbol] = E.fresh(loop.name or "i", 0, loop.symbol.hi, E.Origin.POINT)
    for axis in access.view.axes:
        table[axis.symbol] = E.fresh("t", 0, axis.symbol.hi, E.Origin.AXIS)
    rename = E.Substitution(table)

    facts: list[Bool] = [rename.bool(condition) for condition in (*access.path, *access.given)]
    trips = [rename.expr(loop.trips) for loop in renamed]
    if below is not None and renamed:
        # the index of the later access is below the trip count already
        trips[0] = below
    if above is not None and renamed:
        facts.append(E.gt(table[renamed[0].symbol], above))

    solved: dict[E.Sym, Expr] = {}
    if instance is not None:
        private = {table[loop.symbol].as_atom() for loop in renamed}
        for mine, theirs in zip(tensor(access.view), instance, strict=False):
            step = E.Substitution(solved)
            left, right = step.expr(rename.expr(mine)), step.expr(theirs)
            symbol = left.as_atom()
            if isinstance(symbol, E.Sym) and symbol in private and symbol not in right.free():
                one = E.Substitution({symbol: right})
                solved = {old: one.expr(value) for old, value in solved.items()}
                solved[symbol] = right
            else:
                facts.append(E.eq(left, right))

    kept: list[Loop] = []
    settle = E.Substitution(solved)
    for loop, count in zip(renamed, trips, strict=True):
        index = table[loop.symbol]
        symbol = index.as_atom()
        assert isinstance(symbol, E.Sym)
        if (value := solved.get(symbol)) is not None:
            facts += (E.ge(value, 0), E.lt(value, count))
        else:
            kept.append(dataclasses.replace(loop, index=index, trips=settle.expr(count)))

    facts = [fact for fact in map(settle.bool, facts) if fact is not E.TRUE]
    if any(fact is E.FALSE for fact in facts):
        return None
    view = _substituted(access.view, rename, settle, table)
    at = tuple(settle.expr(table[loop.symbol]) for loop in renamed)
    return Copy(access, view, tuple(kept), tuple(facts), at)


def _substituted(
    view: View, rename: E.Substitution, settle: E.Substitution, table: dict[E.Sym, Expr]
) -> View:
    axes: list[Axis] = []
    for axis in view.axes:
        symbol = table[axis.symbol].as_atom()
        assert isinstance(symbol, E.Sym)
        axes.append(Axis(symbol, settle.expr(rename.expr(axis.size))))
    return replace(
        view,
        instance=tuple(settle.expr(rename.expr(e)) for e in view.instance),
        frame=tuple(settle.expr(rename.expr(e)) for e in view.frame),
        axes=tuple(axes),
        coords=tuple(settle.expr(rename.expr(e)) for e in view.coords),
        mask=settle.bool(rename.bool(view.mask)),
    )


def other_element(view: View) -> View:
    """The same elements under axis symbols of their own: any element beside that one."""
    table = {axis.symbol: E.fresh("t", 0, axis.symbol.hi, E.Origin.AXIS) for axis in view.axes}
    none = E.Substitution({})
    return _substituted(view, E.Substitution(table), none, table)


def depends_on(access: Access, loops: Sequence[Loop]) -> bool:
    """Whether where or when the access happens depends on the index of one of the loops."""
    wanted = {loop.symbol.id for loop in loops}
    view = access.view
    terms: list[Expr | Bool] = [*view.coords, *view.instance, *access.path, *access.given]
    terms.append(view.mask)
    terms.extend(axis.size for axis in view.axes)
    terms.extend(loop.trips for loop in access.loops)
    return any(sym.id in wanted for term in terms for sym in term.free())


def before(
    earlier: Access,
    later: Access,
    *,
    inside: int = 0,
    private_grid: bool = False,
) -> Iterator[Copy]:
    """The ways in which ``earlier`` happens before ``later`` on the same tensor.

    ``inside``: only within one iteration of the outermost ``inside`` shared loops. With
    ``private_grid``, other program instances count as earlier.
    """
    instance = tensor(later.view)
    common = common_loops(earlier.loops, later.loops)
    if common < inside:
        return  # what stands outside of these loops is not within an iteration of them
    grids = [n for n in range(common) if earlier.loops[n].kind is LoopKind.GRID]
    if grids and private_grid:
        found = copy(earlier, min(grids), instance=instance)
        if found is not None:
            yield found
        return
    yield from (found for _, found in preceding(earlier, later, inside=inside))


def preceding(earlier: Access, later: Access, *, inside: int = 0) -> Iterator[tuple[int, Copy]]:
    """As :func:`before`, with how many outer loops of ``later`` share their iteration."""
    instance = tensor(later.view)
    common = common_loops(earlier.loops, later.loops)
    precedes = earlier.order < later.order
    if precedes:
        found = copy(earlier, common, instance=instance)
        if found is not None:
            yield common, found
    for level in range(inside, common):
        loop = earlier.loops[level]
        if loop.kind is LoopKind.GRID:
            continue
        if precedes and not depends_on(earlier, earlier.loops[level:common]):
            continue  # the same iteration does what the earlier one did
        found = copy(earlier, level, below=loop.index, instance=instance)
        if found is not None:
            yield level, found


def following(later: Access, earlier: Access) -> Iterator[Copy]:
    """The ways in which an access happens after another one, on its tensor, in one program."""
    instance = tensor(earlier.view)
    common = common_loops(earlier.loops, later.loops)
    if later.order > earlier.order:
        found = copy(later, common, instance=instance)
        if found is not None:
            yield found
    for level in range(common):
        if earlier.loops[level].kind is LoopKind.GRID:
            continue  # another instance is another program
        found = copy(later, level, above=earlier.loops[level].index, instance=instance)
        if found is not None:
            yield found


def between(write: Access, first: Copy, level: int, later: Access) -> Iterator[Copy]:
    """The ways in which ``write`` happens after ``first`` and before ``later``.

    ``first`` shares one iteration of the outermost ``level`` loops with ``later``. It is of an
    earlier iteration of the next loop if they share that too; else it precedes in program order.
    """
    old = first.access
    shared = common_loops(old.loops, later.loops)
    with_later = common_loops(write.loops, later.loops)
    if level < shared:
        if with_later > level:
            # in the iteration of `later`, or in one between the two
            yield from before(write, later, inside=level + 1)
            yield from _after(write, first, level, later, below=later.loops[level].index)
    elif with_later > shared:
        if write.follows(old):
            yield from before(write, later, inside=shared)
    elif with_later == shared and write.order < later.order:
        yield from _after(write, first, shared, later)


def _after(
    write: Access, first: Copy, level: int, later: Access, *, below: Expr | None = None
) -> Iterator[Copy]:
    """The ways in which ``write`` follows ``first``, on the tensor of ``later``.

    Both share one iteration of the outermost ``level`` loops with ``later``; ``below`` bounds the
    index of the next loop (exclusive).
    """
    found = copy(write, level, below=below, instance=tensor(later.view))
    if found is None:
        return
    old = first.access
    together = common_loops(write.loops, old.loops)
    after = write.follows(old)
    same: list[Bool] = []
    others: list[Copy] = []
    for depth in range(level, together):
        mine, its = found.at[depth - level], first.at[depth - level]
        # where it does the same in each iteration, that of the first access says it all
        if not after or depends_on(write, write.loops[depth:together]):
            others.append(_where(found, (*same, E.gt(mine, its))))
        same.append(E.eq(mine, its))
    if after:
        yield _where(found, same)
    yield from others


def _where(way: Copy, facts: Iterable[Bool]) -> Copy:
    return dataclasses.replace(way, constraints=(*way.constraints, *facts))


def renewed(access: Access, writes: Iterable[Access], found: Copy, level: int) -> tuple[Bool, bool]:
    """Whether a write of before is of other elements, or one of ``writes`` comes after it.

    ``found`` is the copy of it that precedes ``access`` in one iteration of the outermost ``level``
    loops. The last value: whether the formula is exact.
    """
    different, exact = apart(access.view, found.view)
    if different is E.TRUE:
        return E.TRUE, True
    anew = tuple(writes)
    known = Known((*access.path, *access.ranges), access.loops)
    exact = exact and access.view.exact
    formulas: list[Bool] = []
    unit = unit_of(access.view, (found.view, *(write.view for write in anew)))
    for part in parts(access.view, unit):
        if part is not access.view:
            different, sure = apart(part, found.view)
            exact = exact and sure
        ways = (way for write in anew for way in between(write, found, level, access))
        formula, covers, _ = covered(ways, part, known)
        formulas.append(E.or_(different, formula))
        exact = exact and covers
    return E.and_(*formulas), exact


def covered(
    copies: Iterable[Copy], view: View, known: Known | None = None
) -> tuple[Bool, bool, Access | None]:
    """Whether one of the copies touches the element of ``view`` that its axis symbols name.

    Returns the formula, whether it is exact (otherwise it is too strong), and the access that is to
    blame if it is not. What is ``known`` of the symbols of ``view`` may be left out of the formula.
    """
    facts = known if known is not None else _NOTHING
    inexact: Access | None = None
    ways: list[Copy] = []
    for way in copies:
        if not way.view.exact:
            inexact = way.access
        elif _matched(way, view, facts):
            return E.TRUE, True, None
        else:
            ways.append(way)
    blame = inexact
    found: list[Bool] = []
    # other ways may cover other parts of an element
    for part in parts(view, unit_of(view, (way.view for way in ways))):
        formula, culprit = _covered(ways, part, facts)
        if formula is E.FALSE and culprit is None:
            return formula, inexact is None, inexact
        blame = culprit or blame
        found.append(formula)
    formula = E.and_(*found)
    if formula is E.TRUE:
        return E.TRUE, True, None
    return formula, blame is None, blame


def _covered(ways: Sequence[Copy], view: View, facts: Known) -> tuple[Bool, Access | None]:
    """:func:`covered` by elimination, of no parts; whom to blame if the formula is too strong."""
    cases: list[Bool] = []
    blame: Access | None = None
    for way in ways:  # none of them is the plain case
        found = _touched(way, view, facts)
        if found.formula is E.TRUE:
            return E.TRUE, None
        cases.append(found.formula)
        if not found.exact:
            blame = way.access
    return E.or_(*cases), blame


def _touched(way: Copy, view: View, facts: Known) -> _Touched:
    """:func:`_covered` of one way, found once: elimination is what costs."""
    key = id(view), id(facts)
    found = way.touched.get(key)
    if found is None:
        formula, exact = E.FALSE, False
        mine, theirs = same_frame(way.view, view)
        if mine.exact and theirs.exact:
            inner = facts.inside(way.access.loops, way.access.view.axes)
            formula, exact = _by_cases(
                dataclasses.replace(way, view=mine), theirs.coords, inner, _CHOICES
            )
            formula = E.or_(*_beyond(theirs, view), unfolded(formula))
            if facts.decide(formula):
                formula, exact = E.TRUE, True
        found = way.touched[key] = _Touched(view, facts, formula, exact)
    return found


def _by_cases(way: Copy, at: Sequence[Expr], known: Known, choices: int) -> tuple[Bool, bool]:
    """When a copy covers a point. Where a stride is a choice, in each of its cases."""
    view = way.view
    formula, exact = coverage(view, at, way.private, way.constraints, decide=known.decide)
    test = None if exact or not choices else _choice_in((*view.coords, *at))
    if test is None:
        return formula, exact
    cases: list[Bool] = []
    exact = True
    for case in (test, E.not_(test)):
        put = Settling((case,))
        settled = dataclasses.replace(
            way,
            view=replace(
                view,
                coords=tuple(map(put.expr, view.coords)),
                axes=tuple(Axis(axis.symbol, put.expr(axis.size)) for axis in view.axes),
                mask=put.bool(view.mask),
            ),
            private=tuple(
                dataclasses.replace(loop, trips=put.expr(loop.trips)) for loop in way.private
            ),
            constraints=tuple(map(put.bool, way.constraints)),
        )
        part, known_exactly = _by_cases(settled, [put.expr(x) for x in at], known, choices - 1)
        cases.append(E.implies(case, part))
        exact = exact and known_exactly
    return E.and_(*cases), exact


def _choice_in(coords: Iterable[Expr]) -> Bool | None:
    """What decides a choice that is a factor of places, if the inputs do; None: there is none."""
    for coord in coords:
        for mono, _ in coord.terms:
            for atom in mono if len(mono) > 1 else ():
                if isinstance(atom, E.Ite) and all(s.origin in E.GIVEN for s in atom.test.free()):
                    return atom.test
    return None


def _matched(way: Copy, view: View, known: Known) -> bool:
    """Whether one iteration that can be named covers the whole box of a view.

    The common case, a loop that fills and a loop that uses what it filled, without elimination:
    each private index is what makes the two boxes start at the same place.
    """
    mine = way.view
    if mine.mask is not E.TRUE or not view.exact:
        return False
    entire = _entire(mine)
    if not entire:
        if mine.frame != view.frame or mine.dtype.itemsize is not view.dtype.itemsize:
            return False
    left, right = (None, None) if entire else (mine.box, view.box)
    if not entire and (left is None or right is None):
        return False
    pairs = list(zip(left or (), right or (), strict=True))
    trips = {loop.symbol: loop.trips for loop in way.private}
    chosen = starting([(start, wanted) for (start, _), (wanted, _) in pairs], trips)
    if chosen is None:
        return False
    put = E.Substitution(chosen)
    for symbol, count in trips.items():
        value = chosen.get(symbol, E.const(0))
        chosen.setdefault(symbol, value)
        if known.decide(E.ge(value, 0)) is not True:
            return False
        if known.decide(E.lt(value, put.expr(count))) is not True:
            return False
    put = E.Substitution(chosen)
    if any(known.decide(put.bool(fact)) is not True for fact in way.constraints):
        return False
    for (start, size), (lo, extent) in pairs:
        start, size = put.expr(start), put.expr(size)
        if known.decide(E.le(start, lo)) is not True:
            return False
        if known.decide(E.le(lo + extent, start + size)) is not True:
            return False
    return True


def starting(
    starts: list[tuple[Expr, Expr]], private: Mapping[E.Sym, Expr]
) -> dict[E.Sym, Expr] | None:
    """The private indices that make each first place the second; None if it cannot be said."""
    chosen: dict[E.Sym, Expr] = {}
    for start, wanted in starts:
        start = E.Substitution(chosen).expr(start)
        free = [symbol for symbol in start.free() if symbol in private]
        if not free:
            continue
        if len(free) > 1:
            return None
        origin = E.Substitution({free[0]: E.const(0)}).expr(start)
        step = E.Substitution({free[0]: E.const(1)}).expr(start) - origin
        value = quotient(wanted - origin, step)
        if value is None or start is not origin + step * E.from_atom(free[0]):
            return None
        chosen[free[0]] = value
    return chosen


def quotient(value: Expr, step: Expr) -> Expr | None:
    """``value / step`` where it is a polynomial with integer coefficients."""
    if not step.is_const:
        return E.exact_quotient(value, step)
    d = step.const
    if d == 0 or value.const % d or any(coef % d for _, coef in value.terms):
        return None
    return E.Expr.make({mono: coef // d for mono, coef in value.terms}, value.const // d)


def unfolded(formula: Bool) -> Bool:
    """Bounds on quotients of a place as bounds on the place: ``x // 128 < k`` is ``x < 128*k``."""
    if formula.kind is E.BoolKind.OR:
        return E.or_(*(unfolded(arg) for arg in formula.args))
    if formula.kind is E.BoolKind.AND:
        parts = [unfolded(arg) for arg in formula.args]
        return E.and_(*(part for part in parts if not _said_by_another(part, parts)))
    if formula.kind is not E.BoolKind.LE or formula.expr is None:
        return formula
    found: list[tuple[E.Div, int]] = []
    for mono, coef in formula.expr.terms:
        for atom in mono:
            if isinstance(atom, E.Div) and any(s.origin not in E.GIVEN for s in atom.num.free()):
                if len(mono) > 1 or abs(coef) != 1 or not atom.den.is_const:
                    return formula
                found.append((atom, coef))
    if len(found) != 1 or found[0][0].den.const <= 0:
        return formula
    (quotient, coef), step = found[0], found[0][0].den.const
    rest = formula.expr - E.from_atom(quotient) * coef
    if coef > 0:  # x // step <= -rest
        return E.le(quotient.num, rest * -step + (step - 1))
    return E.le(rest * step, quotient.num)  # rest <= x // step


def _said_by_another(part: Bool, parts: Sequence[Bool]) -> bool:
    """Whether ``k >= 1`` follows from ``x < c*k`` with ``x >= 0`` among the parts."""
    if part.kind is not E.BoolKind.LE or part.expr is None or part.expr.const != 1:
        return False
    if len(part.expr.terms) != 1 or part.expr.terms[0][1] >= 0:
        return False
    mono = part.expr.terms[0][0]
    count = E.Expr.make({mono: 1}, 0)
    for other in parts:
        if other is part or other.kind is not E.BoolKind.LE or other.expr is None:
            continue
        coef = dict(other.expr.terms).get(mono, 0)
        if coef < 0:
            low, _ = E.bounds(other.expr - count * coef)
            if low is not None and low >= 1:
                return True
    return False


def _beyond(moved: View, original: View) -> list[Bool]:
    """Outside the ranges of axes that a change of frame added."""
    known = {axis.symbol for axis in original.axes}
    return [E.not_(axis.within) for axis in moved.axes if axis.symbol not in known]


def covered_point(
    copies: Iterable[Copy], whole: View, point: Sequence[Expr], known: Known | None = None
) -> tuple[Bool, bool, Access | None]:
    """:func:`covered` for a point of the storage of ``whole``."""
    storage = whole.storage
    probe = replace(
        whole,
        frame=storage.shape,
        frame_partition=storage.partition_axis,
        axes=(),
        coords=tuple(point),
        dtype=storage.dtype,
        mask=E.TRUE,
        exact=True,
        indirect=False,
    )
    return covered(copies, probe, known)


def apart(first: View, second: View) -> tuple[Bool, bool]:
    """Whether the elements that the symbols of two views name are different, and exactness."""
    if first.indirect:
        return E.FALSE, False
    a, b = same_frame(first, second)
    if not a.exact or not b.exact:
        return E.FALSE, False
    different = (E.ne(x, y) for x, y in zip(a.coords, b.coords, strict=True))
    return E.or_(*different, *_beyond(a, first), *_beyond(b, second)), True


def contains(outer: View, inner: View) -> bool:
    """Whether one part of a tensor provably contains another, by folding alone."""
    if not outer.exact or outer.mask is not E.TRUE:
        return False
    if tensor(outer) != tensor(inner):
        return False
    if _entire(outer):
        return True  # whatever the other one is
    if not inner.exact or outer.frame != inner.frame:
        return False
    if outer.dtype.itemsize is not inner.dtype.itemsize:
        return False
    return _axes_of(outer, inner) is not None or _box_contains(outer, inner)


def _entire(view: View) -> bool:
    """Whether the view is all of its tensor."""
    box = view.box
    return box is not None and all(
        start is E.const(0) and size is extent
        for (start, size), extent in zip(box, view.frame, strict=True)
    )


def same_elements(first: View, second: View) -> E.Substitution | None:
    """The axes of the second view for those of the first, if both name the same elements so."""
    if not first.exact or first.mask is not E.TRUE:
        return None
    if not second.exact or tensor(first) != tensor(second):
        return None
    if first.frame != second.frame or first.dtype.itemsize is not second.dtype.itemsize:
        return None
    return _axes_of(first, second)


def _axes_of(outer: View, inner: View) -> E.Substitution | None:
    if len(outer.axes) != len(inner.axes):
        return None
    if any(a.size is not b.size for a, b in zip(outer.axes, inner.axes, strict=True)):
        return None
    rename = E.Substitution(
        {a.symbol: b.index for a, b in zip(outer.axes, inner.axes, strict=True)}
    )
    same = all(rename.expr(a) is b for a, b in zip(outer.coords, inner.coords, strict=True))
    return rename if same else None


def _box_contains(outer: View, inner: View) -> bool:
    return outer.box is not None and inner.box is not None and holds_box(outer.box, inner.box)


def holds_box(outer: Box, inner: Box) -> bool:
    """Whether all of one box surely lies in another one of the same dimensions."""
    return all(
        E.le(start, lo) is E.TRUE and E.le(lo + extent, start + size) is E.TRUE
        for (start, size), (lo, extent) in zip(outer, inner, strict=True)
    )


def boxes_apart(one: Box, other: Box) -> bool:
    """Whether two boxes of the same dimensions surely have nothing in common."""
    return any(
        E.le(start + size, lo) is E.TRUE or E.le(lo + extent, start) is E.TRUE
        for (start, size), (lo, extent) in zip(one, other, strict=True)
    )


def dominates(earlier: Access, later: Access) -> bool:
    """Whether ``earlier`` certainly happened, in the same iteration, when ``later`` happens."""
    if earlier.order >= later.order or len(earlier.loops) > len(later.loops):
        return False
    if common_loops(earlier.loops, later.loops) != len(earlier.loops):
        return False
    held = {id(condition) for condition in (*later.path, *later.given)}
    return all(id(condition) in held for condition in (*earlier.path, *earlier.given))


def narrowed(access: Access, when: Bool | None, where: Bool | None) -> Access:
    """The access of a part of its elements, under a condition."""
    view, given = access.view, access.given
    if where is not None and where is not E.TRUE:
        view = replace(view, mask=E.and_(view.mask, where))
    if when is not None and when is not E.TRUE:
        given = (*given, when)
    if view is access.view and given is access.given:
        return access
    return replace(access, view=view, given=given, reaches={})


def given(access: Access, condition: Bool) -> Access:
    """The access where a condition holds besides."""
    if condition is E.TRUE:
        return access
    return replace(access, given=(*access.given, condition), reaches={})


__all__ = [
    "Copy",
    "apart",
    "before",
    "between",
    "boxes_apart",
    "common_loops",
    "contains",
    "copy",
    "covered",
    "covered_point",
    "depends_on",
    "dominates",
    "given",
    "holds_box",
    "narrowed",
    "other_element",
    "preceding",
    "quotient",
    "renewed",
    "same_elements",
    "starting",
]
