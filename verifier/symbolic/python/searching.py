"""Loops that look for a number: ``while n % size: size -= 1``, ``while p < n: p *= 2``.

What they stop at has no closed form. It is still a number that the inputs settle: the first that
does not meet the loop's condition (:class:`verifier.symbolic.expr.Least`). That there is one has to
be proved: a loop that may go on for ever is not followed so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.python.carried import Form
from verifier.symbolic.python.forms import Linear
from verifier.symbolic.python.vm import VM

#: places that are looked at for one where a condition does not hold
_PLACES = 8


class First(Struct, frozen=True):
    """The first trip that there is not: ``number`` of them come before it, at ``most`` so many."""

    number: Expr
    most: tuple[Expr, ...]
    index: Sym
    goes_on: Bool

    def at(self, index: Expr) -> Bool:
        """Whether the trip of that index comes about."""
        return E.Substitution({self.index: index}).bool(self.goes_on)


def first_not(
    vm: VM, index: Sym, goes_on: Bool, name: str, carried: Iterable[Form], *, older_than: Expr
) -> First | None:
    """The first trip, by its ``index``, for which a condition does not hold; None: there may be
    none. What is newer than a symbol is another unknown in each trip. ``carried``: what the trips
    hand on, which tells where to look for one."""
    newest = older_than.as_atom()
    assert newest is not None
    if index not in goes_on.free() or any(
        symbol is not index and (symbol.id >= newest.id or symbol.origin in E.OPEN)
        for symbol in goes_on.free()
    ):
        return None
    round_ = E.fresh("round", 0, origin=E.Origin.LOOP)
    bound = round_.as_atom()
    assert isinstance(bound, Sym)
    most = []
    for place in islice(_places(index, goes_on, carried), _PLACES):
        ends = _without_quotients(vm, E.Substitution({index: place}).bool(goes_on))
        if vm.decide(E.ge(place, 0)) is True and vm.decide(ends) is False:
            most.append(place)
    if not most:
        return None
    test = E.Substitution({index: round_}).bool(goes_on)
    return First(E.least(name, bound, test), tuple(most), bound, test)


def _without_quotients(vm: VM, condition: Bool) -> Bool:
    """The condition with what is left where a power divides something smaller."""
    left: dict[E.Atom, Expr] = {}
    for item in E.walk(condition):
        if isinstance(item, E.Div) and any(isinstance(a, E.Power) for a in item.den.atoms()):
            if vm.decide(E.and_(E.ge(item.num, 0), E.lt(item.num, item.den))) is True:
                left[item] = E.const(0)
            elif vm.decide(E.and_(E.lt(item.num, 0), E.ge(item.num + item.den, 0))) is True:
                left[item] = E.const(-1)
    return E.Substitution({}, atoms=left).bool(condition) if left else condition


def _places(index: Sym, goes_on: Bool, carried: Iterable[Form]) -> Iterator[Expr]:
    """Indices for which a condition may not hold: where what counts down has come to one or to
    nothing, where something is divided by itself, where powers have overtaken all else."""
    seen: dict[Expr, None] = {}
    for form in carried:
        if isinstance(form, Linear) and form.step.is_const and form.step.const == -1:
            if isinstance(form.start, Expr):
                for place in (form.start, form.start - 1):
                    seen[place] = None
                    yield place
    for item in E.walk(goes_on):
        if isinstance(item, Expr) and index in item.free():
            for place in _ends(index, item):
                if place not in seen:
                    seen[place] = None
                    yield place


def _ends(index: Sym, number: Expr) -> Iterator[Expr]:
    powers = [atom for atom in number.atoms() if isinstance(atom, E.Power)]
    quotients = [atom for atom in number.atoms() if isinstance(atom, E.Div)]
    if any(index in E.atom_free(atom) for atom in powers):
        rest = E.Substitution({}, atoms={atom: E.const(0) for atom in powers}).expr(number)
        for side in (rest, -rest):
            if index not in side.free():
                yield side - min(side.const, 0)
    for atom in quotients:
        if index in atom.den.free() and index not in atom.num.free():
            yield from (atom.num, -atom.num)
            below = E.Substitution({index: E.const(0)}).expr(atom.den)
            if atom.den - below is E.from_atom(index):
                yield atom.num - below  # where it is divided by itself
