"""Which places along an axis a window takes that slides over it.

Windows of ``kernel`` places, ``hole`` apart, begin every ``step`` places: those that reach beyond
the end are left out, and what no window comes to is not read.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr

#: places of a window that are gone through one by one
_MOST: Final = 16


def _one() -> Expr:
    return E.const(1)


def _none() -> Expr:
    return E.const(0)


class Sliding(Struct, frozen=True):
    """``before`` and ``after``: places of padding; ``spread``: from one element to the next."""

    size: Expr
    kernel: Expr
    step: Expr = field(default_factory=_one)
    hole: Expr = field(default_factory=_one)
    before: Expr = field(default_factory=_none)
    after: Expr = field(default_factory=_none)
    spread: Expr = field(default_factory=_one)

    @property
    def total(self) -> Expr:
        """Places that windows slide over."""
        return self.before + (self.size - 1) * self.spread + 1 + self.after

    @property
    def windows(self) -> Expr:
        """How many there are."""
        return (self.total - (self.kernel - 1) * self.hole - 1) // self.step + 1

    def takes(self, index: Expr) -> Bool | None:
        """Whether an element lies in some window; None: it is not known."""
        total = self.total
        left = E.mod(total - (self.kernel - 1) * self.hole - 1, self.step)
        at = self.before + index * self.spread
        if E.ne(self.hole, 1) is not E.FALSE:
            return self._with_holes(at, total - (self.kernel - 1) * self.hole - left)
        reached = E.TRUE if E.le(left, self.after) is E.TRUE else E.lt(at, total - left)
        near = E.or_(E.le(self.step, self.kernel), E.lt(E.mod(at, self.step), self.kernel))
        return E.and_(reached, near)

    def joins(self, own: Expr, made: Expr) -> Bool:
        """Whether an element lies in the window that makes one of the result."""
        beyond = self.before + own * self.spread - made * self.step
        inside = E.and_(E.ge(beyond, 0), E.lt(beyond, (self.kernel - 1) * self.hole + 1))
        if E.eq(self.hole, 1) is E.TRUE:
            return inside
        return E.and_(inside, E.eq(E.mod(beyond, self.hole), 0))

    def _with_holes(self, at: Expr, behind: Expr) -> Bool | None:
        """``behind``: the first place at which no window begins."""
        if not self.kernel.is_const or self.kernel.const > _MOST:
            return None
        cases = []
        for k in range(self.kernel.const):
            begin = at - k * self.hole
            every = E.eq(E.mod(begin, self.step), 0)
            cases.append(E.and_(every, E.ge(begin, 0), E.lt(begin, behind)))
        return E.or_(*cases)
