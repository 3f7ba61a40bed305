"""The words in which a condition is told: they mean the same as the condition, which stays as it is
for whoever reasons with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import gcd

from verifier.engine.forms import steps_of
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Atom, Bool, Expr, Sym
from verifier.symbolic.pretty import python
from verifier.symbolic.python.entry import Run


def own_names(run: Run) -> dict[Sym, str]:
    """What the kernel calls the sizes of its inputs."""
    return {symbol: said.name for symbol, said in run.sizes.items()}


def in_own_names(text: str, names: Mapping[Sym, str]) -> str:
    """A text with the kernel's names for its sizes: ``R`` for ``x.shape[0]``."""
    for symbol, own in names.items():
        if symbol.name in text:
            text = re.sub(rf"(?<![\w.]){re.escape(symbol.name)}(?![\w.\[])", own, text)
    return text


def worded(condition: Bool, known: Sequence[Bool], names: Mapping[Sym, str]) -> str:
    """The condition as Python; ``known`` is what holds of the inputs beside it."""
    return python(divided(condition, known), names)


def divided(condition: Bool, known: Sequence[Bool]) -> Bool:
    """The same where ``known`` holds, with bounds of what is counted in units in these units.

    ``641*n + 64*n*m <= 6400`` is ``10*n + n*m + n // 64 <= 100`` where 64 divides ``n``.
    """
    return _divided(condition, steps_of(known))


def _divided(term: Bool, steps: Mapping[Atom, int]) -> Bool:
    if term.kind in E.JUNCTIONS:
        join = E.and_ if term.kind is E.BoolKind.AND else E.or_
        return join(*(_divided(part, steps) for part in term.args))
    if term.kind is not E.BoolKind.LE or term.expr is None:
        return term
    unit = _unit(term.expr)
    if unit <= 1:
        return term
    total = E.const(0)
    for mono, factor in term.expr.terms:
        whole = factor // unit  # towards less, so that what is left is added
        left = _part(mono, factor - whole * unit, unit, steps)
        if left is None:
            return term
        total = total + _product(mono) * whole + left
    return E.le(total, -term.expr.const // unit)


def _unit(e: Expr) -> int:
    """What divides all products of several sizes, where that is not so of each size alone."""
    unit = 0
    for mono, factor in e.terms:
        if len(mono) > 1:
            unit = gcd(unit, factor)
    return unit


def _part(mono: tuple[Atom, ...], rest: int, unit: int, steps: Mapping[Atom, int]) -> Expr | None:
    """``rest * mono / unit``, if it is an integer for what is known to divide the sizes."""
    if not rest:
        return E.const(0)
    for position, atom in enumerate(mono):
        step = unit // gcd(rest, unit)
        if steps.get(atom, 1) % step == 0:
            others = (*mono[:position], *mono[position + 1 :])
            return E.from_atom(atom) // step * _product(others) * (rest * step // unit)
    return None


def _product(mono: Sequence[Atom]) -> Expr:
    total = E.const(1)
    for atom in mono:
        total = total * E.from_atom(atom)
    return total
