"""What Z3 does not find by itself of sizes that are cut into parts."""

from __future__ import annotations

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr


def parts_of_equal_size(atom: E.Div) -> Bool | None:
    """How many whole parts there are where ``a`` is cut into ``n`` parts of ``ceil(a / n)`` each.

    ``atom`` is ``a // ceil(a / n)``: all ``n`` are whole, or all but the last one, unless there are
    more parts than elements in one. In between, products of three unknown numbers take part. None:
    the quotient is no such one.
    """
    count = _parts(atom.num, atom.den)
    if count is None:
        return None
    whole, last = E.from_atom(atom), count - 1
    return E.or_(
        E.lt(atom.num, 1),
        E.lt(count, 1),
        E.lt(atom.den, count),
        E.and_(E.eq(whole, count), E.eq(atom.num, atom.den * count)),
        E.and_(E.eq(whole, last), E.eq(atom.den * whole, atom.den * last)),
    )


def _parts(size: Expr, rounded: Expr) -> Expr | None:
    """The number by which ``size`` was divided, if the quotient, rounded up, is ``rounded``.

    That is ``-(-size // n)``, or ``(size - 1) // n + 1``, whatever the author wrote.
    """
    down, up = (-rounded).as_atom(), (rounded - 1).as_atom()
    if isinstance(down, E.Div) and down.num is -size:
        return down.den
    if isinstance(up, E.Div) and up.num is size - 1:
        return up.den
    return None
