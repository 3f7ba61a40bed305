"""How large integers are: CPython's floats hold those up to ``2**53`` exactly, and not all others.

Sizes of tensors have bounds that neither kernels nor contracts state: a device has less than
``2**40`` bytes of memory (NKI-H36). Integers that a kernel is called with are taken to fit 64 bits,
and where they become floats to be exact as such. What of this is needed is listed among the
assumptions.
"""

from __future__ import annotations

from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Atom, Bool, Expr, Sym
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import Assumption, AssumptionKind

#: integers up to this are floats exactly
EXACT: Final = 1 << 53
#: quotients from here on are too large for a float: CPython's own error
OVERFLOW: Final = (1 << 1024) - (1 << 970)
#: exponents of two below which extents of tensors and integer inputs are
_EXTENT: Final = 40
_INTEGER: Final = 63
#: those of integers that become floats
_FLOAT: Final = 52
#: terms that are looked at
_DEEP: Final = 40


def within(vm: VM, number: Expr, limit: int, span: Span) -> Bool:
    """When ``-limit <= number <= limit``; TRUE where that is certain on this path."""
    low, high = E.bounds(number)
    if low is not None and high is not None and -limit <= low and high <= limit:
        return E.TRUE
    wanted = E.and_(E.ge(number, -limit), E.le(number, limit))
    known = vm.decide(wanted)
    if known is not None:
        return E.truth(known)
    measure = _Measure(vm, limit)
    size = measure.largest(number)
    if size is not None and size <= limit:
        measure.assume(measure.used, span)
        return E.TRUE
    extents = {sym: _EXTENT for sym in vm.inputs.extents if sym in _connected(vm, number)}
    bounds = tuple(E.lt(E.from_atom(sym), 1 << bits) for sym, bits in extents.items())
    if bounds and vm.decided((*vm.facts(), *bounds), wanted) is True:
        measure.assume(extents, span)
        return E.TRUE
    return wanted


def _connected(vm: VM, number: Expr) -> set[Sym]:
    """The symbols that facts relate to those of a number."""
    found = set(number.free())
    for fact in vm.facts():
        symbols = set(fact.free())
        if not found.isdisjoint(symbols):
            found |= symbols
    return found


class _Measure:
    """The largest value that numbers may have, by what bounds the inputs."""

    def __init__(self, vm: VM, limit: int) -> None:
        self.vm = vm
        #: integer inputs are bounded where that may be of use
        self.integers = _INTEGER if limit >= 1 << _INTEGER else _FLOAT if limit >= EXACT else 0
        #: the symbols whose bounds are relied on, with the bits that they fit
        self.used: dict[Sym, int] = {}
        self.left = _DEEP

    def largest(self, number: Expr) -> int | None:
        """A bound of ``abs(number)``; None if there is none."""
        self.left -= 1
        low, high = E.bounds(number)
        if low is not None and high is not None:
            return max(abs(low), abs(high))
        if self.left < 0:
            return None
        total = abs(number.const)
        for mono, factor in number.terms:
            size = self._product(mono)
            if size is None:
                return None
            total += abs(factor) * size
        return total

    def _product(self, mono: tuple[Atom, ...]) -> int | None:
        """A product: of different extents of one tensor it is the tensor's size, at most."""
        total = 1
        seen: dict[str, set[Sym]] = {}
        for atom in mono:
            owner = self.vm.inputs.extents.get(atom) if isinstance(atom, Sym) else None
            if owner is not None and isinstance(atom, Sym):
                others = seen.setdefault(owner, set())
                if others and atom not in others:
                    others.add(atom)
                    self.used[atom] = _EXTENT
                    continue
                others.add(atom)
            size = self._atom(atom)
            if size is None:
                return None
            total *= size
        return total

    def _atom(self, atom: Atom) -> int | None:
        low, high = E.bounds(E.from_atom(atom))
        if low is not None and high is not None:
            return max(abs(low), abs(high))
        if isinstance(atom, Sym):
            return self._symbol(atom)
        if isinstance(atom, E.Div):
            size = self.largest(atom.num)
            return None if size is None else size + 1
        if isinstance(atom, E.Extremum):
            return self._most(atom.args)
        return self._most((atom.then, atom.other)) if isinstance(atom, E.Ite) else None

    def _most(self, numbers: tuple[Expr, ...]) -> int | None:
        sizes = [self.largest(number) for number in numbers]
        return None if None in sizes else max(size for size in sizes if size is not None)

    def _symbol(self, symbol: Sym) -> int | None:
        for loop in self.vm.loops:
            if loop.symbol is symbol:
                return self.largest(loop.trips)
        bits = _EXTENT if symbol in self.vm.inputs.extents else None
        if bits is None and self.integers and symbol.name in self.vm.inputs.integers:
            bits = self.integers
        if bits is None or symbol.lo is None:
            return None
        self.used[symbol] = bits
        return max(abs(symbol.lo), 1 << bits)

    def assume(self, used: dict[Sym, int], span: Span) -> None:
        """Say what is relied on."""
        assumptions = self.vm.trace.assumptions
        for symbol, bits in used.items():
            condition = E.lt(E.from_atom(symbol), 1 << bits)
            if not any(made.condition is condition for made in assumptions):
                text = f"{symbol.name} < 2**{bits}"
                order = self.vm.next_order()
                assumptions.append(
                    Assumption(condition, text, span, AssumptionKind.TYPE, order, True)
                )


__all__ = ["EXACT", "OVERFLOW", "within"]
