"""The rank of a tensor parameter: an unknown that the kernel's own conditions settle."""

from __future__ import annotations

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.inputs import MAX_RANK, Parameter
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import View

#: the rank that is taken where neither a condition nor the text says one
USUAL = 2


def count(vm: VM, p: Parameter) -> Expr:
    """``len(p.shape)``."""
    p.kind = p.kind or "tensor"
    p.asked = p.asked or p.guessed
    return E.const(p.rank) if p.rank is not None else vm.inputs.rank_symbol(p)


def learn(vm: VM, p: Parameter, rank: int, span: Span) -> bool:
    """A use that fits one rank only: a demand on the input; False if it has another one."""
    fits = E.eq(count(vm, p), rank)
    known = vm.decide(fits)
    if known is None:
        _assume(vm, p, rank, span, "")
    return known is not False


def at_least(vm: VM, p: Parameter, least: int, span: Span) -> bool:
    """A use that needs so many dimensions; False if there are fewer."""
    enough = E.ge(count(vm, p), least)
    known = vm.decide(enough)
    if known is None:
        vm.assume(enough, "", span, "type")
    return known is not False


def settle(vm: VM, p: Parameter, span: Span, least: int = 1) -> int:
    """The rank on this path; where nothing settles it, the likeliest one is assumed."""
    if p.rank is not None:
        return p.rank
    symbol = vm.inputs.rank_symbol(p)
    if symbol.is_const:
        p.rank = symbol.const
        return symbol.const
    possible = [k for k in range(1, MAX_RANK + 1) if vm.decide(E.eq(symbol, k)) is not False]
    if len(possible) == 1:
        return possible[0]
    wanted = [k for k in (p.hint, max(least, USUAL)) if k in possible]
    rank = wanted[0] if wanted else min((k for k in possible if k >= least), default=USUAL)
    assert rank is not None
    p.guessed = True
    _assume(vm, p, rank, span)
    return rank


def tensor(vm: VM, p: Parameter, span: Span, least: int = 1) -> View:
    """The whole tensor that a parameter is on this path."""
    return vm.inputs.tensor(p, settle(vm, p, span, least))


def shape(vm: VM, p: Parameter, span: Span) -> tuple[Expr, ...]:
    """``p.shape`` on this path."""
    p.kind = p.kind or "tensor"
    return vm.inputs.shape(p, settle(vm, p, span))


def _assume(vm: VM, p: Parameter, rank: int, span: Span, text: str | None = None) -> None:
    """Assume a rank; it is listed as one (``text``) if no use of the kernel's has settled it."""
    symbol = vm.inputs.rank_symbol(p)
    said = f"{p.name} has rank {rank}" if text is None else text
    vm.assume(E.eq(symbol, rank), said, span, "type")
    if not vm.path and not vm.loops:
        p.rank = rank
