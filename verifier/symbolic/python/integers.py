"""Operators on symbolic integers: exact where the language of terms has them, else an unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.pretty import operand, pretty
from verifier.symbolic.python.concrete import MAX_BITS
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import LedgerKind

#: products of terms in one multiplication
MAX_TERMS = 4096
#: factors of one product
MAX_DEGREE = 16
#: longest shift that is told apart where nothing bounds it yet
_SHIFTS: Final = 20
#: runs of ones in a mask that is taken apart
MAX_RUNS = 16


#: comparisons of integers as formulas
COMPARE: Final[dict[str, Callable[[Expr, Expr], Bool]]] = {
    "==": E.eq,
    "!=": E.ne,
    "<": E.lt,
    "<=": E.le,
    ">": E.gt,
    ">=": E.ge,
}


#: operators that round
DIVISIONS: Final = ("//", "%")


def operator(vm: VM, op: str, a: Expr, b: Expr, span: Span) -> Expr:
    """``a op b`` for every operator whose result is an integer (``**``: of exponents >= 0)."""
    if op == "+":
        return _bounded(vm, a + b, span)
    if op == "-":
        return _bounded(vm, a - b, span)
    if op == "*":
        return product(vm, a, b, span)
    if op in DIVISIONS:
        return _division(vm, op, a, b, span)
    if op == "**":
        return power(vm, a, b, span)
    if op in ("<<", ">>"):
        return shift(vm, op, a, b, span)
    return bits(vm, op, a, b, span)


def order(op: str, a: Expr, b: Expr) -> Bool:
    """``a op b`` for a comparison."""
    return COMPARE[op](a, b)


def nonzero(vm: VM, divisor: Expr, span: Span) -> None:
    """A division must not be by zero.

    Raises:
        Ended: it certainly is.
    """
    if divisor.is_const and divisor.const != 0:
        return
    condition = f"{operand(divisor)} != 0"
    vm.fault(
        ZeroDivisionError,
        f"division by zero: `{pretty(divisor)}` can be 0",
        span,
        when=E.eq(divisor, 0),
        text=f"the divisor {condition}",
        values=((pretty(divisor), divisor),),
        assertion=condition if not divisor.is_const else "",
    )


def _bounded(vm: VM, value: Expr, span: Span) -> Expr:
    if value.is_const and value.const.bit_length() > MAX_BITS:
        return vm.unknown_int("an integer that is too large to follow", span)
    return value


def product(vm: VM, a: Expr, b: Expr, span: Span) -> Expr:
    """``a * b``."""
    if a.is_const and b.is_const:
        if a.const.bit_length() + b.const.bit_length() <= 2 * MAX_BITS:
            return _bounded(vm, a * b, span)
        return vm.unknown_int("an integer that is too large to follow", span)
    if len(a.terms) * len(b.terms) > MAX_TERMS or _degree(a) + _degree(b) > MAX_DEGREE:
        return vm.unknown_int("a product of too many factors", span)
    return a * b


def _degree(a: Expr) -> int:
    return max((len(factors) for factors, _ in a.terms), default=0)


def _division(vm: VM, op: str, a: Expr, b: Expr, span: Span) -> Expr:
    if a in vm.counters:
        count, quotient, remainder = vm.counters[a]
        if b is count:
            return quotient if op == "//" else remainder
    nonzero(vm, b, span)
    return a // b if op == "//" else a % b


# ------------------------------------------------------------------------ integers in a range


#: values that an integer may have to be told apart by them
MAX_CASES: Final = 64


def range_of(vm: VM, number: Expr, most: int = MAX_CASES) -> range | None:
    """The values that an integer may have on this path, if they are few."""
    lo, hi = E.bounds(number)
    if lo is None:
        lo = _nearest(vm, lambda k: E.ge(number, -k), most)
        lo = None if lo is None else -lo
    if lo is None:
        return None
    base = lo
    if hi is None or hi - lo >= most:
        found = _nearest(vm, lambda k: E.le(number, base + k), most)
        hi = None if found is None else base + found
    return range(lo, hi + 1) if hi is not None and lo <= hi < lo + most else None


def _nearest(vm: VM, bound: Callable[[int], Bool], most: int) -> int | None:
    """The least number for which the path settles a bound that is weaker for greater ones."""
    if vm.decide(bound(most - 1)) is not True:
        return None
    low, high = 0, most - 1
    while low < high:
        middle = (low + high) // 2
        if vm.decide(bound(middle)) is True:
            high = middle
        else:
            low = middle + 1
    return low


def by_value(number: Expr, values: range, result: Callable[[int], Expr]) -> Expr:
    """``result(number)`` for an integer with these values."""
    out = result(values[-1])
    for value in reversed(values[:-1]):
        out = E.ite(E.eq(number, value), result(value), out)
    return out


def bounded_unknown(
    vm: VM, reason: str, span: Span, lo: int | None = None, hi: int | None = None
) -> Expr:
    """An integer that is not followed, but for its bounds."""
    if lo is not None and lo == hi:
        return E.const(lo)
    symbol = E.fresh("unknown", lo, hi)
    vm.approximate(LedgerKind.OPAQUE, reason, span, [repr(symbol)])
    return symbol


def written(vm: VM, number: Expr, span: Span) -> None:
    """CPython writes no integers of more than some thousand digits.

    What a kernel is given has less; what is not followed may have any number of them.
    """
    for symbol in number.free():
        low, high = E.bounds(E.from_atom(symbol))
        if symbol.name.startswith("unknown#") and (low is None or high is None):
            many = vm.unknown_bool("how many digits an integer has is not followed", span)
            message = "an integer can have more digits than can be written"
            vm.fault(ValueError, message, span, when=many)
            return


# ------------------------------------------------------------------------ powers and shifts


def power(vm: VM, a: Expr, b: Expr, span: Span) -> Expr:
    """``a ** b`` where ``b >= 0``."""
    if b.is_const:
        return _constant_power(vm, a, max(b.const, 0), span)
    values = range_of(vm, b)
    if values is not None and values[-1] >= 0:
        values = range(max(values[0], 0), values[-1] + 1)
        limit = MAX_BITS if a.is_const else MAX_DEGREE
        size = (abs(a.const) - 1).bit_length() if a.is_const else max(_degree(a), 1)
        if size * values[-1] <= limit and (a.is_const or len(a.terms) == 1):
            return by_value(b, values, lambda k: _constant_power(vm, a, k, span))
    low, _ = E.bounds(a)
    lo = None if low is None or low < 0 else min(low, 1)
    return bounded_unknown(vm, "a power with a symbolic exponent", span, lo)


def _constant_power(vm: VM, a: Expr, exponent: int, span: Span) -> Expr:
    if a.is_const:
        if a.const in (0, 1, -1):  # an exponent as good as any of its kind
            exponent = exponent and 2 - exponent % 2
        if (abs(a.const) - 1).bit_length() * exponent <= MAX_BITS:
            return E.const(a.const**exponent)
        return vm.unknown_int("an integer that is too large to follow", span)
    out = E.const(1)
    if exponent * max(_degree(a), 1) > MAX_DEGREE:
        return bounded_unknown(
            vm, "a power that is too large", span, 0 if exponent % 2 == 0 else None
        )
    for _ in range(exponent):
        out = product(vm, out, a, span)
    return out


def shift(vm: VM, op: str, a: Expr, b: Expr, span: Span) -> Expr:
    """``a << b`` and ``a >> b``."""
    vm.fault(
        ValueError,
        f"negative shift count: `{pretty(b)}` can be less than 0",
        span,
        when=E.lt(b, 0),
        text=f"{operand(b)} >= 0",
        values=() if b.is_const else ((pretty(b), b),),
    )
    if b.is_const:
        return _constant_shift(vm, op, a, b.const, span)
    values = range_of(vm, b)
    if values is not None and values[-1] >= 0:
        values = range(max(values[0], 0), values[-1] + 1)
        return by_value(b, values, lambda k: _constant_shift(vm, op, a, k, span))
    lo, hi = E.bounds(a)
    if op == "<<":
        lo, hi = None if lo is None or lo < 0 else lo, None if hi is None or hi > 0 else hi
    else:
        lo, hi = None if lo is None else min(lo, 0), None if hi is None else max(hi, -1)
    rest = bounded_unknown(vm, "a shift by a symbolic amount", span, lo, hi)
    low = max(E.bounds(b)[0] or 0, 0)
    if low > _SHIFTS:
        return rest
    # what bounds it may come later
    short = by_value(b, range(low, _SHIFTS + 1), lambda k: _constant_shift(vm, op, a, k, span))
    return E.ite(E.le(b, _SHIFTS), short, rest)


def _constant_shift(vm: VM, op: str, a: Expr, amount: int, span: Span) -> Expr:
    if op == "<<":
        if a is E.const(0):
            return a
        if amount > MAX_BITS:
            return vm.unknown_int("an integer that is too large to follow", span)
        return _bounded(vm, a * (1 << amount), span)
    if amount > MAX_BITS and a.is_const:
        return E.const(-1 if a.const < 0 else 0)
    if amount > MAX_BITS:
        return vm.unknown_int("a shift by too large an amount", span)
    return a // (1 << amount)


# ------------------------------------------------------------------------ bits


def bits(vm: VM, op: str, a: Expr, b: Expr, span: Span) -> Expr:
    """``&``, ``|``, ``^`` of integers in two's complement."""
    if a.is_const and b.is_const:
        x, y = a.const, b.const
        return E.const(x & y if op == "&" else x | y if op == "|" else x ^ y)
    if a is b:
        return E.const(0) if op == "^" else a
    if a.is_const:
        a, b = b, a
    if b.is_const:
        common = _masked(a, b.const)
        if common is not None:
            if op == "&":
                return common
            # x | c == x + c - (x & c), and x ^ c is that without what both have
            return a + b.const - common * (1 if op == "|" else 2)
    known = _listed(vm, op, a, b, span)
    if known is not None:
        return known
    reason = f"`{op}` on symbolic integers"
    return bounded_unknown(vm, reason, span, *_bits_bounds(op, E.bounds(a), E.bounds(b)))


def _masked(a: Expr, mask: int) -> Expr | None:
    """``a & mask``; None if the mask has too many parts."""
    if mask < 0:  # x is what a mask leaves and what its complement leaves
        rest = _masked(a, ~mask)
        return None if rest is None else a - rest
    total = E.const(0)
    start = runs = 0
    while mask >> start:
        if not mask >> start & 1:
            start += 1
            continue
        width = 0
        while mask >> (start + width) & 1:
            width += 1
        # bits i to j of x are x // 2**i % 2**(j - i)
        total = total + (a // (1 << start)) % (1 << width) * (1 << start)
        start += width
        runs += 1
        if runs > MAX_RUNS:
            return None
    return total


def _listed(vm: VM, op: str, a: Expr, b: Expr, span: Span) -> Expr | None:
    """The operator by the values of the operands, if they have few."""

    def at(x: Expr, y: Expr) -> Expr:
        return bits(vm, op, x, y, span)

    difference, total = b - a, b + a
    if difference.is_const or total.is_const:  # x & -x, x & (x - 1)
        values = range_of(vm, a)
        if values is not None:
            if difference.is_const:
                return by_value(a, values, lambda k: at(E.const(k), difference + k))
            return by_value(a, values, lambda k: at(E.const(k), total - k))
    symbols = {*a.free(), *b.free()}
    if len(symbols) == 1:
        symbol = symbols.pop()
        values = range_of(vm, E.from_atom(symbol))
        if values is not None:
            return by_value(E.from_atom(symbol), values, lambda k: at(*_placed(symbol, k, a, b)))
    first = range_of(vm, a, 16)
    second = range_of(vm, b, 16) if first is not None else None
    if first is None or second is None or len(first) * len(second) > MAX_CASES:
        return None
    return by_value(a, first, lambda x: by_value(b, second, lambda y: at(E.const(x), E.const(y))))


def _placed(symbol: Sym, value: int, *terms: Expr) -> tuple[Expr, ...]:
    place = E.Substitution({symbol: E.const(value)})
    return tuple(place.expr(term) for term in terms)


_Bounds = tuple[int | None, int | None]


def _bits_bounds(op: str, x: _Bounds, y: _Bounds) -> _Bounds:
    if op == "&":
        tops = [hi for lo, hi in (x, y) if lo is not None and lo >= 0]
        if not tops:
            return None, None
        known = [hi for hi in tops if hi is not None]
        return 0, min(known) if known else None
    if x[0] is None or y[0] is None or x[0] < 0 or y[0] < 0:
        return None, None
    if x[1] is None or y[1] is None:
        top = None
    else:
        top = (1 << max(x[1].bit_length(), y[1].bit_length())) - 1
    return (max(x[0], y[0]) if op == "|" else 0), top


def bit_length(vm: VM, number: Expr, span: Span) -> Expr:
    """``number.bit_length()``."""
    if number.is_const:
        return E.const(number.const.bit_length())
    values = range_of(vm, number)
    if values is not None:
        return by_value(number, values, lambda k: E.const(k.bit_length()))
    lo, hi = E.bounds(number)
    least = lo.bit_length() if lo is not None and lo >= 0 else 0
    most = None
    if lo is not None and hi is not None:
        most = max(lo.bit_length(), hi.bit_length())
    if most is not None and most <= MAX_CASES:  # how many powers of two are at most |number|
        size = E.absolute(number)
        total = E.const(0)
        for k in range(most):
            total = total + E.ite(E.ge(size, 1 << k), 1, 0)
        return total
    return bounded_unknown(vm, "the bits of a symbolic integer", span, least, most)


def bit_count(vm: VM, number: Expr, span: Span) -> Expr:
    """``number.bit_count()``."""
    values = range_of(vm, number)
    if values is not None:
        return by_value(number, values, lambda k: E.const(abs(k).bit_count()))
    return bounded_unknown(vm, "the bits of a symbolic integer", span, 0)
