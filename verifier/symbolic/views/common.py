"""What the view operations share: products, substitution, masks, and raising the pending bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import registers
from verifier.symbolic.expr import TRUE, Bool, Div, Expr, Extremum, Substitution, Sym
from verifier.symbolic.instruction import AxisMap
from verifier.symbolic.machine import Machine
from verifier.symbolic.pretty import operand
from verifier.symbolic.tensors import Axis, Bound, Held, Placed, Storage, View
from verifier.symbolic.values import IndexMask, places


def product(sizes: Iterable[Expr]) -> Expr:
    total = E.const(1)
    for size in sizes:
        total = total * size
    return total


def is_one(size: Expr) -> bool:
    return size.is_const and size.const == 1


def whole(view: View) -> View:
    """The view of everything in the tensor that ``view`` is of, in the storage's own shape."""
    return whole_of(view.storage, view.instance, view.span)


def whole_of(storage: Storage, instance: tuple[Expr, ...], span: Span | None = None) -> View:
    """The view of everything in a tensor."""
    axes = tuple(_own_axis(size) for size in storage.shape)
    return View(
        storage=storage,
        instance=instance,
        frame=storage.shape,
        frame_partition=storage.partition_axis,
        axes=axes,
        coords=tuple(axis.index for axis in axes),
        dtype=storage.dtype,
        span=span,
    )


def _own_axis(size: Expr) -> Axis:
    symbol = E.fresh("axis", 0, None, E.Origin.AXIS).as_atom()
    assert isinstance(symbol, E.Sym)
    return Axis(symbol, size)


def is_whole(view: View) -> bool:
    """Whether the view is the whole frame, element for element."""
    return (
        view.exact
        and view.mask is TRUE
        and len(view.axes) == len(view.frame)
        and all(
            coord is axis.index and axis.size is size
            for coord, axis, size in zip(view.coords, view.axes, view.frame, strict=True)
        )
    )


def partition_position(view: View) -> int | None:
    """Which axis runs along the partitions; None off chip.

    In Beta 1 block dimensions come before it; everywhere else it is the first axis.
    """
    if view.frame_partition is None or not view.axes:
        return None
    inside = view.coords[view.frame_partition].free()
    for position, axis in enumerate(view.axes):
        if axis.symbol in inside:
            return position
    return 0


def inexact(view: View, axes: Sequence[Axis], reason: str, *, indirect: bool = False) -> View:
    """A view of that shape whose element addresses are not known."""
    return replace(
        view,
        axes=tuple(axes),
        coords=tuple(E.const(0) for _ in view.frame),
        exact=False,
        reason=view.reason or reason,
        indirect=view.indirect or indirect,
        bounds=closed_bounds(view, view.axes),
    )


def closed_bounds(view: View, axes: Sequence[Axis]) -> tuple[Bound, ...]:
    """The pending checks of a view as they are without these axes of its; some get lost."""
    gone = {axis.symbol for axis in axes}
    if view.mask is not TRUE and gone & set(view.mask.free()):
        return tuple(b for b in view.bounds if not gone & set(b.predicate.free()))
    closed = (replace(b, predicate=_at_extremes(b.predicate, axes)) for b in view.bounds)
    return tuple(b for b in closed if not gone & set(b.predicate.free()))


@lru_cache(maxsize=4096)
def limited(fact: Bool) -> Sym | None:
    """The symbol that a fact makes a number, or no more than one."""
    if fact.expr is None or len(fact.expr.terms) != 1:
        return None
    [(atoms, factor)] = fact.expr.terms
    above = fact.kind is E.BoolKind.EQ or (fact.kind is E.BoolKind.LE and factor > 0)
    symbol = atoms[0] if above and len(atoms) == 1 else None
    return symbol if isinstance(symbol, Sym) else None


def numbers_said(facts: Iterable[Bool]) -> dict[Sym, Expr]:
    """The numbers that facts make of symbols."""
    found: dict[Sym, Expr] = {}
    for fact in (part for each in facts for part in conjuncts(each)):
        if fact.kind is E.BoolKind.EQ and fact.expr is not None and len(fact.expr.terms) == 1:
            [(atoms, factor)] = fact.expr.terms
            if len(atoms) == 1 and isinstance(atoms[0], Sym) and abs(factor) == 1:
                found[atoms[0]] = E.const(-factor * fact.expr.const)
    return found


@lru_cache(maxsize=4096)
def conjuncts(fact: Bool) -> tuple[Bool, ...]:
    """The fact as several facts: conjunctions split, and ``e <= min(a, b)`` into two.

    Facts recur from operation to operation: each is gone through once.
    """
    if fact.kind is E.BoolKind.AND:
        return tuple(part for arg in fact.args for part in conjuncts(arg))
    if fact.kind is E.BoolKind.LE and fact.expr is not None:
        for mono, coef in fact.expr.terms:
            atom = mono[0]
            if len(mono) != 1 or not isinstance(atom, Extremum):
                continue
            if (atom.kind == "min") == (coef < 0):
                rest = fact.expr - E.from_atom(atom) * coef
                each = (E.le(rest + arg * coef, 0) for arg in atom.args)
                return tuple(part for bound in each for part in conjuncts(bound))
            if any(
                E.le(fact.expr + (arg - E.from_atom(atom)) * coef, 0) is TRUE for arg in atom.args
            ):
                return ()  # one argument of the minimum is small enough

        if _is_remainder_bound(fact.expr):
            return ()
    return (fact,)


def _is_remainder_bound(e: Expr) -> bool:
    """Whether ``e <= 0`` says ``0 <= a % b`` or ``a % b < b`` for a positive ``b``."""
    for atom in e.atoms():
        if isinstance(atom, Div) and (E.bounds(atom.den)[0] or 0) >= 1:
            remainder = atom.num - atom.den * E.from_atom(atom)
            if _at_most(e + remainder, 0) or _at_most(e - remainder + atom.den, 1):
                return True
    return False


def _at_most(e: Expr, number: int) -> bool:
    high = E.bounds(e)[1]
    return high is not None and high <= number


def rewrite(view: View, replacement: Substitution, axes: Sequence[Axis]) -> View:
    """The view with its axes replaced: ``replacement`` maps the old symbols to the new ones."""
    return replace(
        view,
        axes=tuple(axes),
        coords=tuple(replacement.expr(coord) for coord in view.coords),
        mask=replacement.bool(view.mask),
        bounds=tuple(
            replace(bound, predicate=replacement.bool(bound.predicate)) for bound in view.bounds
        ),
    )


def substitute_view(view: View, replacement: Substitution) -> View:
    """The view with loop symbols (or inputs) replaced everywhere; its axis symbols are kept."""
    return replace(
        view,
        instance=tuple(replacement.expr(index) for index in view.instance),
        frame=tuple(replacement.expr(size) for size in view.frame),
        axes=tuple(Axis(axis.symbol, replacement.expr(axis.size)) for axis in view.axes),
        coords=tuple(replacement.expr(coord) for coord in view.coords),
        dtype=replace(view.dtype, code=replacement.expr(view.dtype.code)),
        real=None if view.real is None else tuple(replacement.expr(size) for size in view.real),
        mask=replacement.bool(view.mask),
        bounds=_put(view.bounds, replacement),
        placed=tuple(
            replace(
                item,
                index=None if item.index is None else substitute_view(item.index, replacement),
                bounds=_put(item.bounds, replacement),
            )
            for item in view.placed
        ),
    )


def _put(bounds: Sequence[Bound], replacement: Substitution) -> tuple[Bound, ...]:
    return tuple(
        replace(
            bound,
            predicate=replacement.bool(bound.predicate),
            values=tuple((text, replacement.expr(value)) for text, value in bound.values),
        )
        for bound in bounds
    )


# ------------------------------------------------------------------------------- masks and use


def axes_of_mask(
    machine: Machine, view: View, mask: IndexMask
) -> tuple[dict[E.Sym, Expr], set[int]]:
    """What the axes of a mask are in a view, but for its own; and those that it does not have."""
    own = {axis.symbol.id for axis in view.axes}
    taken = {position for position, axis in mask.axes if axis.symbol.id in own}
    renaming: dict[E.Sym, Expr] = {}
    foreign: set[int] = set()
    lift = view.rank - mask.ndim
    for position, axis in mask.axes:
        if axis.symbol.id in own:
            continue
        place = position + lift
        there = view.axes[place].size if position not in taken and 0 <= place < view.rank else None
        if there is not None and machine.decide(E.eq(there, axis.size)) is True:
            renaming[axis.symbol] = view.axes[place].index
        elif is_one(axis.size):
            renaming[axis.symbol] = E.const(0)
        else:
            foreign.add(axis.symbol.id)
    return renaming, foreign


def with_mask(machine: Machine, view: View, mask: IndexMask | Bool | None, span: Span) -> View:
    """The view restricted by a call's ``mask=`` (Beta 1).

    The mask's axes are matched with the view's by symbol, then by position. Conjuncts about axes
    that the view does not have restrict some other operand (NKI-X71) and are left out. Whether an
    axis is as long as that of the view may not be known: then they hold where it is.
    """
    if mask is None:
        return view
    if isinstance(mask, Bool):
        return replace(view, mask=E.and_(view.mask, mask))
    renaming, foreign = axes_of_mask(machine, view, mask)
    alike = _maybe_alike(machine, view, mask, foreign)
    put = Substitution({symbol: index for symbol, (_, index) in alike.items()})
    condition = Substitution(renaming).bool(mask.condition)
    kept: list[Bool] = []
    for part in condition.args if condition.kind is E.BoolKind.AND else (condition,):
        others = [symbol for symbol in part.free() if symbol.id in foreign]
        if all(symbol in alike for symbol in others):
            differs = (E.not_(alike[symbol][0]) for symbol in others if isinstance(symbol, E.Sym))
            kept.append(E.or_(*differs, put.bool(part)))
    return replace(view, mask=E.and_(view.mask, *kept))


def mask_of_result(
    machine: Machine, mask: IndexMask, maps: Sequence[AxisMap], rank: int
) -> IndexMask | None:
    """What a mask of operands says of a result whose axes are theirs in another order (Beta 1).

    Conditions on what is summed over leave out no element of the result. None: what becomes of an
    axis of the mask is not known.
    """
    by_operand: dict[int, dict[Sym, AxisMap]] = {}
    for each in maps:
        by_operand.setdefault(id(each.view), {})[each.view.axes[each.axis].symbol] = each
    if len(by_operand) == 1:  # axes that are no operand's stand for those at their places
        renaming, _ = axes_of_mask(machine, maps[0].view, mask)
        mask = replace(mask, condition=Substitution(renaming).bool(mask.condition))
    axes: dict[int, Axis] = {}
    kept: list[Bool] = []
    for part in conjuncts(mask.condition):
        own = {symbol for symbol in part.free() if symbol.origin is E.Origin.AXIS}
        about = [becomes for becomes in by_operand.values() if own <= becomes.keys()]
        if not about:
            return None
        for becomes in about:
            put: dict[Sym, Expr] = {}
            for symbol in own:
                one = becomes[symbol]
                if one.result is not None:
                    axis = _own_axis(one.view.axes[one.axis].size)
                    put[symbol] = axes.setdefault(one.result, axis).index
            if 0 < len(put) < len(own):
                return None  # which elements it leaves out depends on what is summed over
            if len(put) == len(own):
                kept.append(Substitution(put).bool(part))
    return IndexMask(E.and_(*kept), rank, tuple(axes.items()))


def _maybe_alike(
    machine: Machine, view: View, mask: IndexMask, foreign: set[int]
) -> dict[E.Sym, tuple[Bool, Expr]]:
    """Of the axes of a mask that a view is not known to have: when it has them, and as what."""
    own = {axis.symbol.id for axis in view.axes}
    taken = {position for position, axis in mask.axes if axis.symbol.id in own}
    found: dict[E.Sym, tuple[Bool, Expr]] = {}
    for position, axis in mask.axes:
        place = position + view.rank - mask.ndim
        if axis.symbol.id in foreign and position not in taken and 0 <= place < view.rank:
            same = E.eq(view.axes[place].size, axis.size)
            if machine.decide(same) is not False:
                found[axis.symbol] = same, view.axes[place].index
    return found


def use_index(
    machine: Machine, index: View, view: View, mask: IndexMask | Bool | None, span: Span
) -> View:
    """A tile of indices as it is read for the elements of ``view`` that a mask lets through.

    What the mask says of axes along which one index stands for several elements is left out.
    """
    if not isinstance(mask, IndexMask) or not view.rank == index.rank == mask.ndim:
        return use(machine, index, None, span)
    _, foreign = axes_of_mask(machine, view, mask)  # they restrict some other operand
    known = (p for p in conjuncts(mask.condition) if not any(s.id in foreign for s in p.free()))
    return use(machine, index, replace(mask, condition=E.and_(*known)), span)


def use(
    machine: Machine,
    view: View,
    mask: IndexMask | Bool | None,
    span: Span,
    skips: bool = False,
    unclear: str = "",
) -> View:
    """The view as an operand of an operation: masked, and its pending bounds raised.

    It begins where its registers say by now. ``skips``: what lies outside is left out. ``unclear``:
    why the mask may leave out more than is known.
    """
    view = with_mask(machine, view, mask, span)
    if view.held:
        view = _settled(machine, view)
        if skips and not all(machine.decide(bound.predicate) is True for bound in view.bounds):
            return as_device_says(replace(view, bounds=()))
    for bound in view.bounds:
        _raise(machine, view, bound, unclear)
    return replace(view, bounds=()) if view.bounds else view


def _settled(machine: Machine, view: View) -> View:
    """The view with the numbers that its registers hold; inexact where one is not known."""
    numbers: dict[E.Sym, Expr] = {}
    lost: list[Held] = []
    for held in view.held:
        number = registers.settled(machine, held.register)
        if number is not None and held.symbol is not None:
            numbers[held.symbol] = number
        else:
            lost.append(held)
    unknown = {held.symbol: E.const(0) for held in lost if held.symbol is not None}
    known = Substitution(numbers)
    placed = [_placed(machine, view.bounds, held, set(unknown), known) for held in lost]
    bounds = tuple(b for b in view.bounds if not unknown.keys() & set(b.predicate.free()))
    view = replace(view, bounds=bounds, held=())
    view = substitute_view(view, Substitution({**numbers, **unknown}))
    placed_ = tuple(item for item in placed if item is not None)
    view = replace(view, placed=(*view.placed, *placed_))
    return as_device_says(view) if unknown else view


def _placed(
    machine: Machine, bounds: Sequence[Bound], held: Held, unknown: set[E.Sym], known: Substitution
) -> Placed | None:
    """What the number in memory must keep to that a view begins at; ``unknown``: all such."""
    where = places(held.register)
    if not where or not registers.of_device(machine, held.register):
        registers.assume_inside(machine, held.register, held.text, held.span)
        return None
    mine = [b for b in bounds if unknown & set(b.predicate.free()) == {held.symbol}]
    return Placed(where[0], held.symbol, _put(mine, known), held.text, held.span)


def within_extent(view: View, index: View, dim: int, text: str, span: Span) -> Placed:
    """That each number in a tile of indices names a place along a dimension of a view."""
    where = f"dimension {dim} of `{view.name}`"
    facts = ("NKI-X09", "NKI-D11")
    return within(index, E.const(1), view.axes[dim].size, where, text, span, facts)


def within(
    index: View,
    width: Expr,
    size: Expr,
    where: str,
    text: str,
    span: Span,
    facts: tuple[str, ...],
    *,
    every: bool | None = None,
) -> Placed:
    """That ``width`` elements from each number in a tile of indices on are of ``size``."""
    number = E.symbol(f"{index.name}[...]", origin=E.Origin.HAVOC)
    symbol = number.as_atom()
    assert isinstance(symbol, E.Sym)
    end = number + width
    single = width is E.const(1)
    bound = Bound(
        "slice-bounds",
        E.and_(E.ge(number, 0), E.le(end, size)),
        span,
        f"0 <= {operand(number)} < {operand(size)}"
        if single
        else f"0 <= {operand(number)} and {operand(end)} <= {operand(size)}",
        f"index is outside {where}",
        facts,
        (("index", number), ("size", size)),
    )
    return Placed(index, symbol, (bound,), text, span, every)


def _waits(view_held: Sequence[Held], predicate: Bool) -> bool:
    """Whether what a check says depends on a register, so that it is for the use to raise."""
    free = predicate.free()
    return any(held.symbol in free for held in view_held)


def as_device_says(view: View, taken: Sequence[View] = ()) -> View:
    """The view that begins where only the device knows: ``taken`` hold its offsets."""
    reason = view.reason or "the offset is known at run time only"
    return replace(view, exact=False, indirect=True, reason=reason, indices=(*view.indices, *taken))


def ask(machine: Machine, held: Sequence[Held], bound: Bound, waiting: list[Bound]) -> None:
    """Raise a check, or leave it to whoever uses the view if it depends on a register."""
    if _waits(held, bound.predicate):
        waiting.append(bound)
        return
    machine.check(
        bound.rule,
        bound.predicate,
        bound.span,
        bound.text,
        bound.message,
        facts=bound.facts,
        values=bound.values,
    )


def _raise(machine: Machine, view: View, bound: Bound, unclear: str) -> None:
    predicate, given = bound.predicate, []
    if view.mask is TRUE:
        predicate = _at_extremes(predicate, view.axes)
    for axis in view.axes:
        if axis.symbol in predicate.free() or axis.symbol in view.mask.free():
            given.append(axis.within)
        else:
            given.append(E.ge(axis.size, 1))
    if view.mask is not TRUE:
        given.append(view.mask)
    machine.check(
        bound.rule,
        predicate,
        bound.span,
        bound.text,
        bound.message,
        given=tuple(part for part in given if part is not TRUE),
        values=bound.values,
        facts=bound.facts,
        exact=not unclear,
        reason=unclear,
    )


def _at_extremes(predicate: Bool, axes: Sequence[Axis]) -> Bool:
    """An equivalent formula without axis symbols, where each conjunct is monotone in them."""
    if predicate.kind is E.BoolKind.AND:
        return E.and_(*(_at_extremes(part, axes) for part in predicate.args))
    if predicate.kind is not E.BoolKind.LE or predicate.expr is None:
        return predicate
    expr, extremes = predicate.expr, {}
    for axis in axes:
        if axis.symbol not in expr.free():
            continue
        coef = expr.coefficient(axis.symbol)
        if not coef or axis.symbol in (expr - axis.index * coef).free():
            return predicate
        extremes[axis.symbol] = axis.size - 1 if coef > 0 else E.const(0)
    return E.le(Substitution(extremes).expr(expr), 0) if extremes else predicate


__all__ = [
    "conjuncts",
    "inexact",
    "is_one",
    "is_whole",
    "partition_position",
    "product",
    "rewrite",
    "substitute_view",
    "use",
    "use_index",
    "whole",
    "with_mask",
    "within",
    "within_extent",
]
